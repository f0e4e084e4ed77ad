"""Kernels and their registry: what a kernel is called with, and how one is declared and found."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import partial, wraps
from typing import Any, TypeAlias, TypedDict, TypeVar

import msgspec
import numpy as np
from numpy.typing import DTypeLike, NDArray
from typing_extensions import Unpack

from atc_py.device.sim.execution.parallel import ELEMENTS_AT_ONCE, Workers
from atc_py.device.sim.numerics.rounding import Kind, rounding
from atc_py.package.node_view import NodeView, TensorFacts
from atc_py.system.memory_limit import format_size
from atc_py.system.register import Register, place_of
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape, element_count
from atc_py.text import Text

Launch: TypeAlias = "Callable[[], object]"
"""A function that computes a call anew each time, from what the call's arrays hold then."""

TypeRule: TypeAlias = Callable[[NodeView], "tuple[TensorFacts, ...]"]
"""The output types that a node's inputs and attributes imply; raises NodeError."""

Made = TypeVar("Made")

Part: TypeAlias = "tuple[Shape, tuple[Any, ...]]"
"""The place of a part of a result: dims that the result is seen with, and an index into them."""


class Rounding(Enum):
    """The party that brings results of 16-bit float dtypes onto their grid.

    BOUNDARY: the executor, after the kernel.
    ON_GRID: nobody; operands on the grid give results on the grid.
    """

    BOUNDARY = "boundary"
    ON_GRID = "on_grid"


class Workspace(threading.local):
    """Scratch memory of a loaded model, kept between calls and grown when one needs more.

    Every thread has its own: what one core writes and another reads must travel between their
    caches, which costs more than the memory.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._buffers: dict[str, NDArray[np.uint8]] = {}
        self._pool = Pool()
        self._limit = limit

    def require(self, nbytes: int, what: Text) -> None:
        """Refuse `what`, of `nbytes`, before it is made."""
        if self._limit is not None and nbytes > self._limit:
            limit = format_size(self._limit)
            text = Text("{what} would take {size}; the limit leaves {limit}")
            raise MemoryError(text.with_values(what=what, size=format_size(nbytes), limit=limit))

    def take(self, name: str, shape: Shape, dtype: DTypeLike) -> NDArray[Any]:
        """An array with undefined contents, valid until this thread takes `name` again."""
        wanted = np.dtype(dtype)
        nbytes = element_count(shape) * wanted.itemsize
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < nbytes:
            held = sum(each.size for key, each in self._buffers.items() if key != name)
            self.require(held + nbytes, Text("scratch memory, with {name},", name=repr(name)))
            buffer = self._buffers[name] = self._pool.take(nbytes)
        return buffer[:nbytes].view(wanted).reshape(shape)

    def lines(self, name: str, shape: Shape, dtype: DTypeLike) -> NDArray[Any]:
        """Take lines along the last axis, apart from each other by what BLAS likes to write.

        Lines whose distance is a multiple of 4 KiB fall on the same places of a cache, and a
        product of few terms takes nearly twice as long.
        """
        gap = _GAP if falls_together(shape[-1], dtype) else 0
        return self.take(name, (*shape[:-1], shape[-1] + gap), dtype)[..., : shape[-1]]


class Call(msgspec.Struct, frozen=True):
    """One launch of a kernel."""

    node: NodeView
    # carriers by position, in C order and not to be written; None where absent
    inputs: tuple[NDArray[Any] | None, ...]
    # carriers to fill, in C order, of the shapes that the kernel's type rule gave. The first may be
    # the memory of an input when the kernel is declared `in_place`
    outputs: tuple[NDArray[Any], ...]
    workspace: Workspace = msgspec.field(default_factory=Workspace)
    # threads to share the work with
    workers: Workers = msgspec.field(default_factory=lambda: Workers(1))
    # what is left to do to a part of the result of a kernel that `finishes`: the part, a C-ordered
    # array that may be changed, and its place; None for nothing
    finishing: Callable[[NDArray[Any], Part], Launch] | None = None
    # positions of the inputs that hold the same data in every launch
    fixed: frozenset[int] = frozenset()

    def memoized(self, position: int, make: Callable[[], Made]) -> Callable[[], Made]:
        """A function that gives `make()` of input `position`, once if data are fixed."""
        if position not in self.fixed:
            return make
        value = make()
        return lambda: value

    def finish(self, values: NDArray[Any], part: Part) -> None:
        if self.finishing is not None:
            self.finishing(values, part)()

    def require_scratch(self, nbytes: int) -> None:
        self.workspace.require(nbytes, Text("scratch memory"))

    def rounding(
        self,
        values: NDArray[Any],
        dtype: DType,
        kind: Kind = Kind.ANY,
        source: NDArray[Any] | None = None,
    ) -> Launch:
        """A launch that rounds `values`, in C order, to its dtype: in place, or `source`."""
        scratch = self.workspace.take("rounding", (2 * ELEMENTS_AT_ONCE,), np.uint32)
        return rounding(values, dtype, scratch, kind, source)

    @property
    def x(self) -> NDArray[Any]:
        return self.input(0)

    @property
    def out(self) -> NDArray[Any]:
        return self.outputs[0]

    def input(self, position: int) -> NDArray[Any]:
        array = self.inputs[position]
        if array is None:
            raise ValueError(f"input {position} is absent")
        return array

    def optional(self, position: int) -> NDArray[Any] | None:
        return self.inputs[position] if position < len(self.inputs) else None

    @property
    def present(self) -> tuple[NDArray[Any], ...]:
        return tuple(array for array in self.inputs if array is not None)


class Kernel(msgspec.Struct, frozen=True):
    """A kernel as it is registered."""

    op: str  # target operator that it executes
    run: Callable[[Call], None]  # fills the outputs of a call
    types: TypeRule
    rounding: Rounding = Rounding.BOUNDARY  # who rounds 16-bit floats
    in_place: bool = False  # the output may reuse the memory of an input of its dtype and shape
    # the outputs are the first input's memory, maybe under another shape; `run` has no work
    alias: bool = False
    # makes the results anew where only the data tell their dims; the outputs of its call are empty.
    # None where the type rule tells them
    results: Callable[[Call], tuple[NDArray[Any], ...]] | None = None
    # which of the outputs live; None where all do. Whatever reads one that does not is left out of
    # the run, and so is what reads that in turn, up to a node that `joins`
    gate: Callable[[Call], tuple[bool, ...]] | None = None
    joins: bool = False  # runs though inputs are dead, as long as one of them lives
    # hands every part of its one result to `Call.finish` on the thread that made it
    finishes: bool = False
    keeps_shape: bool = False  # the dims that its parts are seen with are those of the result
    # works out beforehand, for launches of one call over and over, what does not depend on the
    # data: views, blocks, scratch memory. None where `run` is all there is
    bind: Callable[[Call], Launch] | None = None
    kind: Kind = Kind.ANY  # what is known of results that are rounded at the boundary

    def launch(self, call: Call) -> Launch:
        """A launch that runs the kernel on `call`; no two threads may launch it at once."""
        return partial(self.run, call) if self.bind is None else self.bind(call)


class Traits(TypedDict, total=False):
    """Optional declarations of a kernel besides function and type rule: fields of `Kernel`."""

    rounding: Rounding
    in_place: bool
    alias: bool
    results: Callable[[Call], tuple[NDArray[Any], ...]] | None
    gate: Callable[[Call], tuple[bool, ...]] | None
    joins: bool
    finishes: bool
    keeps_shape: bool
    kind: Kind


_PAGE = 4096
"""Bytes after which places of a cache begin anew."""

_GAP = 16
"""Elements between two lines: a line of the cache."""


def falls_together(length: int, dtype: DTypeLike) -> bool:
    """True if arrays of lines of `length` elements fall on the same places of a cache."""
    return length * np.dtype(dtype).itemsize % _PAGE == 0


KERNELS: Register[str, Kernel] = Register("kernel of", "atc_py.device.sim.kernels")
"""By target operator."""

find_kernel = KERNELS.get


def sequence(launches: Sequence[Launch]) -> Launch:
    if len(launches) == 1:
        return launches[0]

    def launch() -> None:
        for step in launches:
            step()

    return launch


def split_among_workers(
    workers: Workers, total: int, build: Callable[[int, int], Launch], least: int = 1
) -> Launch:
    """A launch that does items 0 to `total`, split among workers where that is worthwhile.

    Args:
        workers: the threads.
        total: how many items there are.
        build: gives what does the items from start to stop, in the scratch memory of the thread
            that asks. It is asked once for each range and thread.
        least: items below which a range is not worth sharing.
    """
    if not workers.shares(total, least):
        return build(0, total)
    built: dict[tuple[int, int, int], Launch] = {}

    def action(start: int, stop: int) -> None:
        key = threading.get_ident(), start, stop
        if key not in built:
            built[key] = build(start, stop)
        built[key]()

    return partial(workers.split, total, action, least)


def kernel(
    op: str, types: TypeRule, **traits: Unpack[Traits]
) -> Callable[[Callable[[Call], None]], Callable[[Call], None]]:
    """Register a function as the kernel of target operator `op`; `Kernel` explains the rest."""

    def register(run: Callable[[Call], None]) -> Callable[[Call], None]:
        KERNELS.add(op, Kernel(op, run, types, **traits), place_of(run))
        return run

    return register


def bound_kernel(
    op: str, types: TypeRule, **traits: Unpack[Traits]
) -> Callable[[Callable[[Call], Launch]], Callable[[Call], Launch]]:
    """Register as the kernel of `op` a function that works its launches out, see `Kernel.bind`."""

    def register(bind: Callable[[Call], Launch]) -> Callable[[Call], Launch]:
        @wraps(bind)
        def run(call: Call) -> None:
            bind(call)()

        KERNELS.add(op, Kernel(op, run, types, bind=bind, **traits), place_of(bind))
        return bind

    return register


_ALIGNMENT = 64
"""Bytes; a cache line and the widest vector register."""

_LARGE = 4 * 1024**2
"""Bytes from which on numpy asks for large pages."""

_SMALL = 256 * 1024
"""Bytes up to which all that is wanted at once is not worth a large page."""


class Pool:
    """A source of memory that lives as long as an array in it does."""

    def __init__(self, expected: Iterable[int] = ()) -> None:
        """Prepare a pool of which pieces of `expected` bytes, and maybe more, will be wanted."""
        self._expected = sum(nbytes + _ALIGNMENT for nbytes in expected)
        self._piece: NDArray[np.uint8] = np.empty(0, np.uint8)

    def take(self, nbytes: int) -> NDArray[Any]:
        """Bytes with undefined contents, aligned."""
        if nbytes + _ALIGNMENT > self._piece.size:
            wanted = max(nbytes + _ALIGNMENT, self._expected)
            self._expected = 0
            self._piece = np.empty(wanted if wanted <= _SMALL else max(wanted, _LARGE), np.uint8)
        skip = -self._piece.ctypes.data % _ALIGNMENT
        taken = self._piece[skip : skip + nbytes]
        self._piece = self._piece[skip + nbytes :]
        return taken

"""Nodes that a compiled model launches as one kernel, and results rounded where they are made.

The compiler gives nodes that are one kernel a common scope: the head, which computes, and functions
of each element after it. The head's kernel finishes every part of its result while that is in the
cache of the core that made it: it is rounded, each function is applied to it in turn, and what
comes out is rounded again where the function rounds. Every element goes through the same
operations in the same order as in launches of their own, so results are the same bit by bit.

Scopes are hints: what does not fit together here is launched node by node.

There are 65536 float16 numbers, so a function of one of them is worked out once for all and then
looked up, already rounded: two passes over memory in place of up to forty. Carriers are float32
whose last 13 bits are 0, and the 19 bits before them are the place in the table.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache, partial
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.execution.parallel import ELEMENTS_AT_ONCE, Workers
from atc_py.device.sim.execution.program import Step
from atc_py.device.sim.kernel import (
    Call,
    Kernel,
    Launch,
    Part,
    Rounding,
    Workspace,
    sequence,
    split_among_workers,
)
from atc_py.device.sim.numerics.rounding import Kind, is_rounded, round_to_grid
from atc_py.package.node_view import NodeView, TensorFacts
from atc_py.system.structs import replace
from atc_py.target import Unit, find_operator
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import element_count

_ELEMENTWISE = frozenset({"unary", "binary"})
"""Families of kernels that are functions of each element."""


_SUMS = frozenset({"Add", "Sub"})
"""Operators that add two numbers."""

_LARGEST = float(np.finfo(np.float16).max)

_BOUNDS = frozenset({"ClipByValue", "Relu"})
"""Operators that hold a number to bounds of its dtype."""


def chained(steps: Sequence[Step], scopes: Sequence[int], kept: Iterable[int]) -> list[Step]:
    """`steps` with each scope as one step, at the place of its last node.

    Where something else reads a result of a scope too, the scope is several steps.

    Args:
        steps: one for each node, in order.
        scopes: of each node; 0 for one that is launched alone.
        kept: tensors that are read after the last step.
    """
    readers = Counter(tensor for step in steps for tensor in dict.fromkeys(step.inputs))
    readers.update(kept)
    open_runs: dict[tuple[int, int], list[Step]] = {}
    runs = []
    for step, scope in zip(steps, scopes, strict=True):
        before = [(scope, t) for t in step.inputs if readers[t] == 1 and (scope, t) in open_runs]
        run = open_runs.pop(before[0]) if before else []
        run.append(step)
        runs.append(run)
        if scope:
            open_runs.update({(scope, tensor): run for tensor in step.outputs})
    merged = {id(run): _together(run) for run in runs}
    launched: list[Step] = []
    for step, run in zip(steps, runs, strict=True):
        whole = merged[id(run)]
        if whole is None:
            launched.append(_alone(step))
        elif step is run[-1]:
            launched.append(whole)
    return launched


def _alone(step: Step) -> Step:
    """A step whose kernel rounds the parts of its one result where it can."""
    if len(step.outputs) != 1:
        return step
    rounds = step.kernel.rounding is Rounding.BOUNDARY and is_rounded(step.node.outputs[0].dtype)
    return _chain([step], ()) if step.kernel.finishes and rounds and not step.is_late else step


def _together(steps: list[Step]) -> Step | None:
    """One step for all, or None where they do not fit together, or one stands alone."""
    if len(steps) == 1:
        return None
    links = tuple(_links(steps))
    return _chain(steps, links) if len(links) == len(steps) - 1 else None


class _Link(msgspec.Struct, frozen=True, dict=True):
    """A function of each element after a head; what it reads, None standing for the part itself."""

    node: NodeView
    kernel: Kernel
    # position of each input among the inputs of the whole chain, or None
    operands: tuple[int | None, ...]

    @cached_property
    def table(self) -> NDArray[Any] | None:
        """All its results, where it reads nothing but the part and looking them up is faster."""
        if self.operands != (None,) or self.kernel.rounding is not Rounding.BOUNDARY:
            return None
        return table_of(self.node, self.kernel, _one_worker())

    @property
    def is_bound(self) -> bool:
        first, *bounds = self.operands or (0,)
        return self.node.op in _BOUNDS and first is None and None not in bounds

    def launch(self, call: Call, values: NDArray[Any], part: Part) -> Launch:
        """A launch that applies it to a part of the chain's result, in place.

        A part of an operand that has to be copied, or that its kernel copies to have it in order,
        is taken by every launch anew: data change.
        """
        for whole in (call.input(at) for at in self.operands if at is not None):
            own = _operand(whole, values, part)
            if not (own.flags.c_contiguous and np.may_share_memory(own, whole)):
                return lambda: self._on_part(call, values, part)()  # noqa: PLW0108  (anew each time)
        return self._on_part(call, values, part)

    def _on_part(self, call: Call, values: NDArray[Any], part: Part) -> Launch:
        inputs = tuple(
            values if at is None else _operand(call.input(at), values, part) for at in self.operands
        )
        return self.kernel.launch(Call(self.node, inputs, (values,), call.workspace, _one_worker()))


class _Chain(msgspec.Struct, frozen=True):
    """A head and what follows it, as one kernel."""

    node: NodeView  # the head's facts
    kernel: Kernel  # the head's
    inputs: int  # how many of the chain's inputs are the head's
    links: tuple[_Link, ...]
    lead: _Link | None = None  # the head as a link where it is a function of one number, else None

    def run(self, call: Call) -> None:
        """Run the head on the memory of the last result; it finishes its parts."""
        self.bind(call)()

    def bind(self, call: Call) -> Launch:
        out = call.out.reshape(self.node.outputs[0].shape)
        finishing = partial(self._finishing, call)
        head = Call(
            self.node,
            call.inputs[: self.inputs],
            (out,),
            call.workspace,
            call.workers,
            finishing,
            call.fixed,
        )
        table = None if self.lead is None else self.lead.table
        if table is None:
            return self.kernel.launch(head)
        source, target = head.x.reshape(-1), out.reshape(-1)

        def part(start: int, stop: int) -> Launch:
            values, place = target[start:stop], ((target.size,), (slice(start, stop),))
            found = looking_up(table, source[start:stop], values, call.workspace)
            return sequence([found, finishing(values, place)])

        return split_among_workers(call.workers, target.size, part, least=ELEMENTS_AT_ONCE)

    def _finishing(self, call: Call, values: NDArray[Any], part: Part) -> Launch:
        """A launch that rounds a part of the head's result and applies the links in place.

        A bound, which is on the grid, may be applied before rounding as well as after it.
        """
        dtype = self.node.outputs[0].dtype
        looked_up = self.lead is not None and self.lead.table is not None
        launches: list[Launch] = []
        kind = None if looked_up else _kind_of_results(self.node, self.kernel)
        for link in self.links:
            if kind is not None and not link.is_bound:
                launches.append(call.rounding(values, dtype, kind))
                kind = None
            if link.table is not None:
                launches.append(looking_up(link.table, values, values, call.workspace))
                continue
            launches.append(link.launch(call, values, part))
            if kind is None:
                kind = _kind_of_results(link.node, link.kernel)
            elif link.node.op == "Relu":
                kind = Kind.POSITIVE
            else:
                launches.append(_rounding_clipped(call, values, dtype, link.operands[1:]))
                kind = None
        if kind is not None:
            launches.append(call.rounding(values, dtype, kind))
        return sequence(launches)


def _rounding_clipped(
    call: Call, values: NDArray[Any], dtype: DType, bounds: Sequence[int | None]
) -> Launch:
    """A launch that rounds values between two bounds, which only the launch may know."""
    low, high = (call.input(at or 0).reshape(-1) for at in bounds)
    if call.fixed.issuperset(bounds):
        kind = Kind.ANY
        if low[0] >= 0:
            kind = Kind.BOUNDED if high[0] <= _LARGEST else Kind.POSITIVE
        return call.rounding(values, dtype, kind)
    positive, other = (call.rounding(values, dtype, kind) for kind in (Kind.POSITIVE, Kind.ANY))
    return lambda: (positive if low[0] >= 0 else other)()  # noqa: PLW0108  (anew each time)


def _kind_of_results(node: NodeView, kernel: Kernel) -> Kind | None:
    """The facts of a kernel's results that are to be rounded; None if they are not."""
    if kernel.rounding is not Rounding.BOUNDARY or not is_rounded(node.outputs[0].dtype):
        return None
    return Kind.SUMS if node.op in _SUMS else Kind.ANY


@cache
def _one_worker() -> Workers:
    return Workers(1)


def _operand(array: NDArray[Any], values: NDArray[Any], part: Part) -> NDArray[Any]:
    shape, index = part
    if array.size == 1:
        return array.reshape(-1)
    if array.size == element_count(shape):
        return array.reshape(shape)[index].reshape(values.shape)
    return np.broadcast_to(array, shape)[index].reshape(values.shape)


def _links(steps: Sequence[Step]) -> Iterator[_Link]:
    """Yield the links after the first of `steps`, up to one that does not fit."""
    head = steps[0]
    if not head.kernel.finishes or head.is_late or len(head.outputs) != 1:
        return
    facts = head.node.outputs[0]
    position = len(head.inputs)
    for before, step in pairwise(steps):
        (value,) = before.outputs
        made = step.node.outputs[0]
        same = made.dtype is facts.dtype and not made.is_open and made.elements == facts.elements
        if step.is_late or len(step.outputs) != 1 or value not in step.inputs or not same:
            return
        if not step.kernel.alias and not _is_elementwise(step, head, value):
            return
        operands: list[int | None] = []
        for tensor in step.inputs:
            operands.append(None if tensor == value else position)
            position += tensor != value
        yield _Link(step.node, step.kernel, () if step.kernel.alias else tuple(operands))


def _is_elementwise(step: Step, head: Step, value: int) -> bool:
    """True if a step is elementwise and its operands can be cut as its result is."""
    row, out = find_operator(step.node.op), step.node.outputs[0]
    if row is None or row.family not in _ELEMENTWISE or row.unit is not Unit.VECTOR:
        return False
    for tensor, facts in zip(step.inputs, step.node.inputs, strict=True):
        if tensor == value:
            continue
        if facts is None or facts.is_open:
            return False
        repeats = head.kernel.keeps_shape and out.dims == head.node.outputs[0].dims
        if facts.elements not in {1, out.elements} and not repeats:
            return False
    return True


def _chain(steps: Sequence[Step], links: tuple[_Link, ...]) -> Step:
    """One step that does what `steps` do; profiles and findings name all their operators."""
    head = steps[0]
    inputs = [*head.inputs]
    for before, step in pairwise(steps):
        inputs += [tensor for tensor in step.inputs if tensor != before.outputs[0]]
    active = tuple(link for link in links if link.operands)
    row = find_operator(head.node.op)
    is_function = row is not None and row.family == "unary" and len(head.inputs) == 1
    lead = _Link(head.node, head.kernel, (None,)) if is_function else None
    chain = _Chain(head.node, head.kernel, len(head.inputs), active, lead)
    kernel = replace(
        head.kernel,
        run=chain.run,
        bind=chain.bind,
        rounding=Rounding.ON_GRID,
        in_place=head.kernel.in_place and len(inputs) == len(head.inputs),
    )
    names = [step.node.op for step in steps if not step.kernel.alias]
    node = replace(head.node, op="+".join(names), outputs=steps[-1].node.outputs)
    return Step(head.index, node, kernel, tuple(inputs), steps[-1].outputs)


_CUT = np.uint32(13)
_PLACES = 1 << (32 - 13)
_NUMBERS = 1 << 16

_LEAST = 16 * 1024
"""Elements of a result below which working a table out costs more than it saves for long."""

_KEPT = 64
"""Tables that are kept, a third of a megabyte each."""


def table_of(node: NodeView, kernel: Kernel, worker: Workers) -> NDArray[np.float32] | None:
    """The table of a node that is a function of one float16, or None if not worth it."""
    facts = node.outputs[0]
    if facts.dtype is not DType.FLOAT16 or facts.elements < _LEAST:
        return None
    attributes = repr(sorted(node.attributes.items(), key=lambda item: item[0]))
    return _table(node.op, attributes, _Maker(node, kernel, worker))


class _Maker:
    """Works a table out; equal to all others, so that operator and attributes are the key."""

    def __init__(self, node: NodeView, kernel: Kernel, worker: Workers) -> None:
        self._node, self._worker = node, worker
        self._run: Callable[[Call], None] = kernel.run

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Maker)

    def __hash__(self) -> int:
        return 0

    def table(self) -> NDArray[np.float32]:
        """The rounded result for every float16, at the place of its carrier."""
        numbers = np.arange(_NUMBERS, dtype=np.uint16).view(np.float16).astype(np.float32)
        results = np.empty_like(numbers)
        node = self._node
        facts = TensorFacts(DType.FLOAT16, numbers.shape)
        whole = NodeView(node.op, node.name, node.engine, (facts,), (facts,), node.attributes)
        with np.errstate(all="ignore"):
            self._run(Call(whole, (numbers,), (results,), Workspace(), self._worker))
            round_to_grid(results, DType.FLOAT16, results)
        table = np.zeros(_PLACES, np.float32)
        table[numbers.view(np.uint32) >> _CUT] = results
        table.flags.writeable = False
        return table


@lru_cache(maxsize=_KEPT)
def _table(_op: str, _attributes: str, maker: _Maker) -> NDArray[np.float32]:
    return maker.table()


def looking_up(
    table: NDArray[np.float32], values: NDArray[Any], out: NDArray[Any], workspace: Workspace
) -> Launch:
    """A launch that looks up C-ordered float16 in `table`; `out` may be `values`."""
    codes = workspace.take("codes", (ELEMENTS_AT_ONCE,), np.uint32)
    places = workspace.take("places", (ELEMENTS_AT_ONCE,), np.intp)
    bits, results = values.reshape(-1).view(np.uint32), out.reshape(-1)
    launches: list[Launch] = []
    for start in range(0, bits.size, ELEMENTS_AT_ONCE):
        block = results[start : start + ELEMENTS_AT_ONCE]
        code, place = codes[: block.size], places[: block.size]
        launches += (
            partial(np.right_shift, bits[start : start + ELEMENTS_AT_ONCE], _CUT, code),
            partial(np.copyto, place, code),
            partial(table.take, place, None, block, "wrap"),
        )
    return sequence(launches)

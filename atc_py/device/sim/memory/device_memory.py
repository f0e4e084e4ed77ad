"""Device memory as bytes: every tensor packed in its true dtype, where the memory plan puts it.

Nothing is kept beside the bytes, so that a plan or a storage that is wrong gives wrong numbers:
memory that nobody has written yet, or nobody needs any more, is full of bytes that are NaN or
numbers out of all proportion in every dtype.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from atc_py.device.sim.execution.program import Program
from atc_py.device.sim.numerics.rounding import from_carrier, to_carrier
from atc_py.package.node_view import TensorFacts
from atc_py.package.schema import OmMemory, OmModel, OmNode
from atc_py.package.stored_types import storage_of
from atc_py.target import JOINED_IN_PLACE, find_operator
from atc_py.tensor.dtypes import Format
from atc_py.tensor.packing import pack, unpack
from atc_py.tensor.shapes import Shape, closed_shape, element_count
from atc_py.tensor.storage import stored_shape

Bytes = NDArray[np.uint8]

CHIP = "chip"
"""The place, in a memory plan, of what never reaches memory."""


class Layouts:
    """The storage of the tensors of one model; methods take the position of a tensor.

    Attributes:
        roots: of each tensor the one whose bytes it shows; itself where it has bytes of its own.
    """

    def __init__(self, types: Sequence[TensorFacts], model: OmModel) -> None:
        self._types = types
        self._origins = [Format(tensor.format) for tensor in model.tensors]
        self._storages = [storage_of(tensor) for tensor in model.tensors]
        self.roots = _roots(model)
        self._wholes = _wholes(model)

    def images(self, tensor: int, shape: Shape) -> tuple[int, int]:
        """The pieces in which a tensor is stored, and the bytes from one to the next.

        What is computed inside another tensor has a piece in each image of that.
        """
        whole = self._wholes.get(tensor)
        if whole is None:
            return 1, 0
        count = shape[0]
        return count, self.nbytes(whole, self._types[whole].shape) // max(1, count)

    def nbytes(self, tensor: int, shape: Shape) -> int:
        dtype = self._types[tensor].dtype
        stored = stored_shape(shape, self._origins[tensor], self._storages[tensor], dtype)
        return element_count(closed_shape(stored)) * dtype.itemsize

    def total(self, memory: OmMemory | None) -> int:
        """Bytes of a plan's arena and of all tensors of known dims elsewhere.

        Without a plan every tensor is stored elsewhere.
        """
        places = memory.places if memory else [""] * len(self.roots)
        return (memory.arena if memory else 0) + sum(
            self.nbytes(tensor, facts.shape)
            for tensor, (facts, place) in enumerate(zip(self._types, places, strict=True))
            if isinstance(place, str)
            and place != CHIP
            and self.roots[tensor] == tensor
            and not facts.is_open
        )

    def packed(self, tensor: int, array: NDArray[Any]) -> Bytes:
        packed = pack(array, self._origins[tensor], self._storages[tensor])
        return packed.reshape(-1).view(np.uint8)

    def unpacked(self, tensor: int, stored: Bytes, shape: Shape) -> NDArray[Any]:
        elements = stored.view(self._types[tensor].dtype.numpy)
        return unpack(elements, shape, self._origins[tensor], self._storages[tensor])


def _roots(model: OmModel) -> list[int]:
    wholes = _wholes(model)
    roots = [wholes.get(tensor, tensor) for tensor in range(len(model.tensors))]
    for node in model.nodes:
        row = find_operator(node.op)
        if row is not None and not row.launches_kernel:
            for tensor in node.outputs:
                roots[tensor] = roots[node.inputs[0]]
    return roots


def _wholes(model: OmModel) -> dict[int, int]:
    """For each tensor that is computed inside another one, that one."""
    return {
        part: node.outputs[0]
        for node in model.nodes
        if node.op == JOINED_IN_PLACE
        for part in node.inputs
    }


_AI_CORE = "aicore"


class Takeovers:
    """Decides for each launch of a model whether its result may be written over an operand."""

    def __init__(self, model: OmModel, roots: Sequence[int]) -> None:
        self._roots = roots
        self._launch_of: dict[int, list[OmNode]] = {}
        scopes: dict[int, list[OmNode]] = defaultdict(list)
        for node in model.nodes:
            launch = scopes[node.scope] if node.scope else []
            launch.append(node)
            for tensor in node.outputs:
                self._launch_of[tensor] = launch

    def allow(self, operand: int, result: int) -> bool:
        """True if the launch that makes `result` may write it where `operand` is stored.

        It may where every node of the launch that touches the operand, or what follows from it,
        computes element by element: an element of the operand has been read when that of the
        result is written.
        """
        follows = {self._roots[operand]}
        for node in self._launch_of.get(result, ()):
            row = find_operator(node.op)
            read = {self._roots[tensor] for tensor in node.inputs if tensor >= 0}
            if row is None or not row.launches_kernel or follows.isdisjoint(read):
                continue
            if not row.in_place or node.engine != _AI_CORE:
                return False
            follows.update(node.outputs)
        return result in follows


_POISON = 0x7F
"""float16 0x7f7f is NaN, float32 3.4e38, int8 127, int32 2.1e9."""


class DeviceMemory:
    """The memory of one model: an arena, and pieces for what the plan puts elsewhere.

    A view has no bytes of its own: it is read from the tensor that it shows. Without a plan
    every tensor has a piece of its own.

    Attributes:
        arena: the bytes that the plan's offsets count.
    """

    def __init__(self, program: Program, model: OmModel, layouts: Layouts) -> None:
        self._types = program.tensors
        self._layouts = layouts
        self._roots = layouts.roots
        self._takeovers = Takeovers(model, layouts.roots)
        plan = model.memory
        self._places = plan.places if plan else [""] * len(model.tensors)
        self.arena: Bytes = np.empty(plan.arena if plan else 0, np.uint8)
        self._kept = {
            tensor: layouts.packed(
                tensor, array.astype(self._types[tensor].dtype.numpy, copy=False)
            )
            for tensor, array in program.constants.items()
        }
        self._pieces: dict[int, Bytes] = {}
        self._on_chip: dict[int, NDArray[Any]] = {}
        self._shapes: dict[int, Shape] = {}
        self._alive: dict[int, set[int]] = {}

    @property
    def nbytes(self) -> int:
        return self.arena.nbytes + sum(piece.nbytes for piece in self._kept.values())

    def begin(self) -> None:
        """Start a run: nothing but the constants has been written."""
        self.arena.fill(_POISON)
        for found in (self._pieces, self._on_chip, self._shapes, self._alive):
            found.clear()
        for tensor in self._kept:
            self._open(tensor, self._types[tensor].shape)

    def is_alive(self, tensor: int) -> bool:
        """True if a tensor was written in this run, or is a constant; others are dead."""
        return tensor in self._shapes

    def elements(self, tensor: int) -> int:
        return element_count(self._shapes[tensor]) if tensor in self._shapes else 0

    def read(self, tensor: int) -> NDArray[Any]:
        if self._places[tensor] == CHIP:
            return self._on_chip[self._roots[tensor]].reshape(self._shapes[tensor])
        return to_carrier(self._unpacked(tensor), self._types[tensor].dtype)

    def write(self, tensor: int, carrier: NDArray[Any]) -> None:
        self._open(tensor, carrier.shape)
        if self._places[tensor] == CHIP:
            self._on_chip[tensor] = carrier
        else:
            self._store(tensor, from_carrier(carrier, self._types[tensor].dtype))

    def piece(self, tensor: int) -> NDArray[np.uint8]:
        return self._region(tensor, self._shapes[tensor])

    def move(self, source: int, target: int) -> None:
        """Store `target`, which is `source` in another format, from the bytes of that."""
        if CHIP in {self._places[source], self._places[target]}:
            self.write(target, self.read(source))
            return
        self._open(target, self._shapes[source])
        self._store(target, self._unpacked(source))

    def show(self, tensor: int, shape: Shape) -> None:
        self._open(tensor, shape)

    def expect(self, results: Iterable[int], operands: Iterable[int]) -> None:
        """Poison the place of each result before its launch reads its operands.

        A plan that lays a result over an operand spoils the operand then, unless the launch may
        work in place; the operand lives on as the result.
        """
        held = {self._roots[tensor] for tensor in operands if tensor >= 0}
        for result in results:
            if not isinstance(self._places[result], int) or self._types[result].is_open:
                continue
            place = self._region(result, self._types[result].shape)
            below = next((each for each in held if self._is_taken(each, result)), None)
            if below is None:
                place.fill(_POISON)
            else:
                self._alive.pop(below, None)

    def release(self, tensor: int) -> None:
        """Free a tensor that is not read any more; its bytes go with the last view of them."""
        root = self._roots[tensor]
        users = self._alive.get(root)
        if users is None or tensor not in users:
            return
        users.remove(tensor)
        if users or root in self._kept:
            return
        del self._alive[root]
        self._on_chip.pop(root, None)
        self._pieces.pop(root, None)
        if isinstance(self._places[root], int):
            self.piece(root).fill(_POISON)

    def _open(self, tensor: int, shape: Shape) -> None:
        self._shapes[tensor] = shape
        self._alive.setdefault(self._roots[tensor], set()).add(tensor)

    def _is_taken(self, operand: int, result: int) -> bool:
        """True if the plan has `result` exactly on `operand`, and the launch allows it."""
        if self._places[operand] != self._places[result] or operand not in self._shapes:
            return False
        sizes = (
            self._layouts.nbytes(operand, self._shapes[operand]),
            self._layouts.nbytes(result, self._types[result].shape),
        )
        return sizes[0] == sizes[1] and self._takeovers.allow(operand, result)

    def _region(self, tensor: int, shape: Shape) -> Bytes:
        place, root = self._places[tensor], self._roots[tensor]
        if isinstance(place, int):
            count, stride = self._layouts.images(tensor, shape)
            nbytes = self._layouts.nbytes(tensor, shape) // max(1, count)
            if count <= 1:
                return self.arena[place : place + nbytes]
            return as_strided(self.arena[place:], (count, nbytes), (stride, 1))
        if root in self._kept:
            return self._kept[root]
        if root not in self._pieces:
            self._pieces[root] = np.full(self._layouts.nbytes(tensor, shape), _POISON, np.uint8)
        return self._pieces[root]

    def _store(self, tensor: int, array: NDArray[Any]) -> None:
        region = self._region(tensor, array.shape)
        region[...] = self._layouts.packed(tensor, array).reshape(region.shape)

    def _unpacked(self, tensor: int) -> NDArray[Any]:
        stored = np.ascontiguousarray(self.piece(tensor)).reshape(-1)
        return self._layouts.unpacked(tensor, stored, self._shapes[tensor])

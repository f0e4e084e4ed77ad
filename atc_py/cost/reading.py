"""From an offline model's description to its launches, as the cost model takes them."""

from collections.abc import Iterable, Sequence

import msgspec

from atc_py.cost.operation import KernelEngine, LaunchGroup, Operation, Source, Tensor, Transfer
from atc_py.cost.work import bytes_read
from atc_py.ir import launch_positions
from atc_py.package.schema import OmModel, OmNode, OmTensor
from atc_py.package.stored_types import stored_dims
from atc_py.target import JOINED_IN_PLACE, find_operator, is_view
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_ABSENT = -1


class PlacedLaunch(msgspec.Struct, frozen=True):
    """A launch of a model, and where it stands."""

    launch: LaunchGroup  # what the cost model takes
    nodes: tuple[int, ...]  # positions of its nodes, in order
    reads: tuple[int, ...]  # tensors that it reads from outside, views as what they show
    writes: tuple[int, ...]  # tensors that others read
    has_open: bool  # whether a dim is known to the run alone; it counts as 1 here


def roots_of(model: OmModel) -> list[int]:
    """For each tensor the one whose data it shows: itself, except for results of views."""
    wholes = {
        part: node.outputs[0]
        for node in model.nodes
        if node.op == JOINED_IN_PLACE
        for part in node.inputs
    }
    roots = [wholes.get(tensor, tensor) for tensor in range(len(model.tensors))]
    for node in model.nodes:
        inputs = _present(node)
        if is_view(node.op) and inputs:
            for output in node.outputs:
                roots[output] = roots[inputs[0]]
    return roots


def launches_of(model: OmModel) -> list[PlacedLaunch]:
    """The launches of a model in order; nodes of one scope are one, and views are none.

    What equal launches of the model do is one object, and so are equal operations and tensors.
    """
    reader = _Reader(model)
    groups = launch_positions(model.nodes).values()
    launched = [at for at in groups if not all(is_view(model.nodes[each].op) for each in at)]
    return [reader.launch(members) for members in launched]


def _present(node: OmNode) -> list[int]:
    return [position for position in node.inputs if position != _ABSENT]


class _Reader:
    """Look-ups in a model that each launch needs, and what was made for those before."""

    def __init__(self, model: OmModel) -> None:
        self._model = model
        self._roots = roots_of(model)
        self._returned = {port.tensor for port in model.outputs}
        self._fed = {port.tensor for port in model.inputs} | self._returned
        self._shown = {self._roots[tensor] for tensor in self._returned}
        self._users: dict[int, list[int]] = {}
        for position, node in enumerate(model.nodes):
            for tensor in _present(node):
                self._users.setdefault(tensor, []).append(position)
        self._tensors = _types(model.tensors)
        self._operations: dict[tuple[object, ...], Operation] = {}
        self._transfers: dict[tuple[int, Source], Transfer] = {}
        self._launches: dict[tuple[object, ...], LaunchGroup] = {}

    def launch(self, members: Sequence[int]) -> PlacedLaunch:
        nodes = [self._model.nodes[position] for position in members]
        inside = set(members)
        made = {tensor for node in nodes for tensor in node.outputs}
        operations, reads = [], {}
        touched: list[int] = []
        for node in nodes:
            touched += [*_present(node), *node.outputs]
            if is_view(node.op):
                continue
            operation = self._operation(node)
            operations.append(operation)
            for place, tensor in enumerate(node.inputs):
                if tensor == _ABSENT or tensor in made or tensor in reads:
                    continue
                read = bytes_read(operation, place, self._tensors[tensor])
                reads[tensor] = self._transfer(read, tensor)
        writes = [tensor for tensor in dict.fromkeys(made) if self._leaves(tensor, inside)]
        written = [self._transfer(self._tensors[tensor].nbytes, tensor) for tensor in writes]
        return PlacedLaunch(
            self._group(nodes[0].engine, operations, list(reads.values()), written),
            tuple(members),
            tuple(dict.fromkeys([self._roots[tensor] for tensor in reads])),
            tuple(dict.fromkeys([self._roots[tensor] for tensor in writes])),
            any(None in self._model.tensors[tensor].shape for tensor in touched),
        )

    def _group(
        self, engine: str, operations: list[Operation], *moved: list[Transfer]
    ) -> LaunchGroup:
        """A launch of operations and transfers, each of which is one object if equal."""
        sides: tuple[Sequence[object], ...] = operations, *moved
        key = engine, *(tuple(map(id, side)) for side in sides)
        known = self._launches.get(key)
        if known is None:
            on_aicpu = engine == KernelEngine.AICPU.value
            unit = KernelEngine.AICPU if on_aicpu else KernelEngine.AICORE
            known = LaunchGroup(tuple(operations), unit, *map(tuple, moved))
            self._launches[key] = known
        return known

    def _leaves(self, tensor: int, inside: set[int]) -> bool:
        """True if others than the nodes `inside` read a tensor, or the caller takes it."""
        if tensor in self._returned:
            return True
        users = self._users.get(tensor, [])
        return any(position not in inside for position in users) or not users

    def _source(self, tensor: int) -> Source:
        root = self._roots[tensor]
        if self._model.tensors[root].member is not None:
            return Source.WEIGHTS
        is_fed = tensor in self._fed or root in self._fed or root in self._shown
        return Source.FED if is_fed else Source.RESULT

    def _transfer(self, nbytes: int, tensor: int) -> Transfer:
        key = nbytes, self._source(tensor)
        return self._transfers.get(key) or self._transfers.setdefault(key, Transfer(*key))

    def _operation(self, node: OmNode) -> Operation:
        inputs = [None if tensor == _ABSENT else self._tensors[tensor] for tensor in node.inputs]
        outputs = [self._tensors[tensor] for tensor in node.outputs]
        attributes = tuple(
            (name, tuple(value) if isinstance(value, list) else value)
            for name, value in sorted(node.attributes.items())
        )
        key = node.op, attributes, tuple(map(id, inputs)), tuple(map(id, outputs))
        known = self._operations.get(key)
        if known is None:
            row = find_operator(node.op)
            if row is None:
                raise ValueError(Text("no target operator is called {op}", op=repr(node.op)))
            known = Operation(row, tuple(inputs), tuple(outputs), attributes)
            self._operations[key] = known
        return known


def _types(tensors: Iterable[OmTensor]) -> list[Tensor]:
    """The type of each tensor; a dim that only the run knows counts as 1."""
    known: dict[tuple[object, ...], Tensor] = {}
    found = []
    for tensor in tensors:
        key = tensor.dtype, tensor.format, tuple(tensor.shape), tensor.storage
        kind = known.get(key)
        if kind is None:
            stored = None if tensor.storage is None else _closed(stored_dims(tensor))
            kind = known[key] = Tensor(_closed(tensor.shape), DType(tensor.dtype), stored)
        found.append(kind)
    return found


def _closed(dims: Iterable[int | None]) -> tuple[int, ...]:
    return tuple(1 if dim is None else dim for dim in dims)

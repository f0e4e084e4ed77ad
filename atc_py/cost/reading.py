"""From an offline model's description to its launches, as the cost model takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from atc_py.cost.operation import KernelEngine, LaunchGroup, Operation, Source, Tensor, Transfer
from atc_py.cost.work import bytes_read
from atc_py.ir.launches import launch_positions
from atc_py.package.stored import stored_dims
from atc_py.target import find_operator, is_view
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from atc_py.package.schema import OmAttribute, OmModel, OmNode

__all__ = ["PlacedLaunch", "launches_of", "roots_of"]

_ABSENT = -1


class PlacedLaunch(msgspec.Struct, frozen=True):
    """A launch of a model, and where it stands.

    Attributes:
        launch: what the cost model takes.
        nodes: positions of its nodes, in order.
        reads: tensors that it reads from outside, views as what they show.
        writes: tensors that others read.
        has_open: whether a dim is known to the run alone; it counts as 1 here.
    """

    launch: LaunchGroup
    nodes: tuple[int, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    has_open: bool


def roots_of(model: OmModel) -> list[int]:
    """Return for each tensor the one whose data it shows: itself, except for results of views."""
    roots = list(range(len(model.tensors)))
    for node in model.nodes:
        inputs = _present(node)
        if is_view(node.op) and inputs:
            for output in node.outputs:
                roots[output] = roots[inputs[0]]
    return roots


def launches_of(model: OmModel) -> list[PlacedLaunch]:
    """Return the launches of a model in order; nodes of one scope are one, and views are none."""
    reader = _Reader(model)
    groups = launch_positions(model.nodes).values()
    launched = [at for at in groups if not all(is_view(model.nodes[each].op) for each in at)]
    return [reader.launch(members) for members in launched]


def _present(node: OmNode) -> list[int]:
    """Return the inputs that are there."""
    return [position for position in node.inputs if position != _ABSENT]


class _Reader:
    """Look-ups in a model that each launch needs."""

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

    def launch(self, members: Sequence[int]) -> PlacedLaunch:
        """Return the launch of some nodes."""
        nodes = [self._model.nodes[position] for position in members]
        inside = set(members)
        made = {tensor for node in nodes for tensor in node.outputs}
        operations, reads, seen = [], [], set()
        touched: list[int] = []
        for node in nodes:
            touched += [*_present(node), *node.outputs]
            if is_view(node.op):
                continue
            operation = self._operation(node)
            operations.append(operation)
            for place, tensor in enumerate(node.inputs):
                if tensor == _ABSENT or tensor in made or tensor in seen:
                    continue
                seen.add(tensor)
                read = bytes_read(operation, place, self._tensor(tensor))
                reads.append((tensor, Transfer(read, self._source(tensor))))
        writes = [tensor for tensor in dict.fromkeys(made) if self._leaves(tensor, inside)]
        return PlacedLaunch(
            LaunchGroup(
                tuple(operations),
                KernelEngine.AICPU
                if nodes[0].engine == KernelEngine.AICPU.value
                else KernelEngine.AICORE,
                tuple(transfer for _, transfer in reads),
                tuple(Transfer(self._tensor(t).nbytes, self._source(t)) for t in writes),
            ),
            tuple(members),
            tuple(dict.fromkeys(self._roots[tensor] for tensor, _ in reads)),
            tuple(dict.fromkeys(self._roots[tensor] for tensor in writes)),
            any(None in self._model.tensors[tensor].shape for tensor in touched),
        )

    def _leaves(self, tensor: int, inside: set[int]) -> bool:
        """Return True if others than the nodes `inside` read a tensor, or the caller takes it."""
        if tensor in self._returned:
            return True
        users = self._users.get(tensor, [])
        return any(position not in inside for position in users) or not users

    def _source(self, tensor: int) -> Source:
        """Return where a tensor's data come from."""
        root = self._roots[tensor]
        if self._model.tensors[root].member is not None:
            return Source.WEIGHTS
        is_fed = tensor in self._fed or root in self._fed or root in self._shown
        return Source.FED if is_fed else Source.RESULT

    def _tensor(self, position: int) -> Tensor:
        """Return a tensor's type; a dim that only the run knows counts as 1."""
        tensor = self._model.tensors[position]
        stored = None if tensor.storage is None else _closed(stored_dims(tensor))
        return Tensor(_closed(tensor.shape), DType(tensor.dtype), stored)

    def _operation(self, node: OmNode) -> Operation:
        """Return a node as the cost model takes it."""
        row = find_operator(node.op)
        if row is None:
            raise ValueError(f"no target operator is called {node.op!r}")
        return Operation(
            row,
            tuple(None if tensor == _ABSENT else self._tensor(tensor) for tensor in node.inputs),
            tuple(self._tensor(tensor) for tensor in node.outputs),
            _attributes(node.attributes),
        )


def _closed(dims: Iterable[int | None]) -> tuple[int, ...]:
    """Return dims with 1 for those that only the run knows."""
    return tuple(1 if dim is None else dim for dim in dims)


def _attributes(given: Mapping[str, OmAttribute]) -> tuple[tuple[str, object], ...]:
    """Return attributes that can be hashed, by name."""
    return tuple(
        (name, tuple(value) if isinstance(value, list) else value)
        for name, value in sorted(given.items())
    )

"""Chooses the storage of every value: blocks around cube operators, rows elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from atc_py.ir import Engine, Graph, Node, Value
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.fusion.merge_kernels import BY_CHANNEL, ELEMENTWISE
from atc_py.passes.layout.cut import SINK, SOURCE, Edge, cheapest_side
from atc_py.target import VIEWS, Layout, Soc, TargetOp, Unit, find_operator
from atc_py.target.storage_choices import ROWS, StorageChoice, storage_choices
from atc_py.target.stored_nodes import IMAGES, MATRICES, VOLUMES
from atc_py.tensor.storage import Storage, is_stored_like_rows

LAUNCH_SECONDS = 2.5e-6
"""Cost of a launch, the same as the cost model expects."""

_SEEDS = frozenset({Layout.CONV, Layout.CONV_3D, Layout.IMAGE, Layout.MATRIX, Layout.QUANT})
"""Operators that ask for blocks; without one of them a graph stays as it is."""

_HEADS = frozenset({"conv", "matmul", *ELEMENTWISE})
"""Families whose results functions of each element can read inside a launch."""

_DEQUANT, _QUANT = "AscendDequant", "AscendQuant"
"""What converts sums in the launch of the cube, and what may end that launch."""


class AssignStoragePass(Pass):
    """Convolutions and products take blocks; nodes with a choice take what moves fewest bytes.

    Cost of a choice = sum over the values that must be converted of (bytes before + bytes after +
    a launch's worth of bytes), and over the values in blocks of their padding times the kernels
    that move it. For one storage against rows that is a cut of the hypergraph whose edges are
    values, and the cheapest one is found; of equal ones, the one with fewest blocks.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        if not any(_asks_for_blocks(node) for node in graph.nodes):
            return 0
        assignment = StorageAssignment(graph, context.soc)
        assignment.settle(IMAGES)
        assignment.settle(VOLUMES)
        assignment.settle(MATRICES)
        count = 0
        for node in graph.nodes:
            choice = assignment.choice(node)
            for position, value in enumerate(node.outputs):
                storage = choice.output(position)
                if storage is not None:
                    value.type = value.type.with_storage(storage)
                    count += 1
        return count + sum(_store(graph, value, assignment) for value in graph.constants())


def _asks_for_blocks(node: Node) -> bool:
    row = find_operator(node.op)
    return row is not None and row.layout in _SEEDS and node.engine is Engine.AICORE


def _store(graph: Graph, value: Value, assignment: StorageAssignment) -> int:
    """Store a constant as its readers want it, once for each storage; how many are in blocks."""
    requests: dict[Storage | None, list[tuple[Node, int]]] = {}
    for node, position in value.uses:
        requests.setdefault(assignment.choice(node).input(position), []).append((node, position))
    if value.is_output:
        requests = {None: requests.pop(None), **requests}
    for at, (storage, uses) in enumerate(requests.items()):
        if at == 0:
            value.type = value.type.with_storage(storage)
            continue
        name = graph.fresh_name(f"{value.name}.{storage or 'rows'}")
        copy = Value(name, value.type.with_storage(storage), value.const)
        for node, position in uses:
            node.set_input(position, copy)
    return sum(storage is not None for storage in requests)


class StorageAssignment:
    """The storage choices of all nodes, and which of them are made."""

    def __init__(self, graph: Graph, soc: Soc) -> None:
        self._choices = {node: storage_choices(node, soc) for node in graph.nodes}
        self._chosen = {
            node: choices[0] for node, choices in self._choices.items() if len(choices) == 1
        }
        self._soc = soc
        rate = soc.gm_read * soc.aicores * soc.mhz * 1e6
        self._launch = int(LAUNCH_SECONDS * rate)

    def choice(self, node: Node) -> StorageChoice:
        """Storages chosen for a node; rows while nothing is, and for the graph's result."""
        return self._chosen.get(node, ROWS)

    def settle(self, storage: Storage) -> None:
        """Choose between `storage` and anything else for all nodes that may have it."""
        free = {
            node: choice
            for node, choices in self._choices.items()
            if node not in self._chosen
            for choice in choices
            if choice.storage == storage
        }
        for members in self._regions(free):
            edges = list(self._edges(members, free, storage))
            if any(SOURCE in points for _, points in edges):
                for point in cheapest_side(len(members), edges):
                    node = members[point]
                    self._chosen[node] = free[node]

    def _regions(self, free: Collection[Node]) -> Iterator[list[Node]]:
        """Yield nodes of `free` that values join, directly or through others of them."""
        seen: set[Node] = set()
        for first in free:
            if first in seen:
                continue
            seen.add(first)
            region = [first]
            for node in region:
                for value in (*node.present_inputs, *node.outputs):
                    if value.const is None:
                        fresh = [n for n in _ends(value) if n in free and n not in seen]
                        seen.update(fresh)
                        region += dict.fromkeys(fresh)
            yield region

    def _edges(
        self, members: list[Node], free: dict[Node, StorageChoice], storage: Storage
    ) -> Iterator[Edge]:
        """Yield the values around `members`, each with its cost if they are not all alike."""
        points = {node: point for point, node in enumerate(members)}
        values = (v for node in members for v in (*node.present_inputs, *node.outputs))
        for value in dict.fromkeys(values):
            if value.const is None and not is_stored_like_rows(
                value.type.dims, storage, value.type.dtype
            ):
                yield from self._edges_of(value, points, free, storage)

    def _edges_of(
        self,
        value: Value,
        points: dict[Node, int],
        free: dict[Node, StorageChoice],
        storage: Storage,
    ) -> Iterator[Edge]:
        maker = value.producer
        source = SINK
        if maker is not None:
            choice = free.get(maker) if maker in points else self.choice(maker)
            if choice is not None and choice.output(maker.outputs.index(value)) == storage:
                source = points.get(maker, SOURCE)
        ends = {source}
        alike = 0
        for node, position in value.uses:
            choice = free.get(node) if node in points else self.choice(node)
            follows = choice is not None and choice.input(position) == storage
            alike += follows
            ends.add(points.get(node, SOURCE) if follows else SINK)
        if len(ends) == 1:
            return
        kind = value.type
        rows, blocks = kind.nbytes, kind.with_storage(storage).stored_nbytes
        weight = rows + blocks + self._launch
        inside = _in_one_launch(value, self._soc)
        yield weight * (2 if inside else 1), frozenset(ends)
        if source >= 0 and not inside:
            yield (blocks - rows) * (1 + alike), frozenset({source, SINK})


def _ends(value: Value) -> Iterator[Node]:
    if value.producer is not None:
        yield value.producer
    yield from value.consumers


def _in_one_launch(value: Value, soc: Soc) -> bool:
    """True if a value may stay inside a launch, so that converting it makes two of one."""
    users = value.consumers
    if len(users) != 1 or value.producer is None:
        return False
    maker, user = find_operator(value.producer.op), find_operator(users[0].op)
    if maker is None or user is None or users[0].engine is not Engine.AICORE:
        return False
    converts = maker.name == _DEQUANT and soc.conversion_fusion
    if user.name == _QUANT:
        return converts and soc.ub_fusion
    by_channel = soc.channel_fusion and maker.name in BY_CHANNEL
    heads = converts or by_channel or maker.family in _HEADS or maker.name in VIEWS
    return heads and (user.family in ELEMENTWISE or _joins_by_channel(maker, user, soc))


def _joins_by_channel(maker: TargetOp, user: TargetOp, soc: Soc) -> bool:
    """True if a function with a number for each channel may share the launch of its operand."""
    if user.name not in BY_CHANNEL:
        return False
    piped = maker.unit is Unit.CUBE or maker.name == _DEQUANT
    return user.name in soc.fix_pipe_functions if piped else soc.channel_fusion

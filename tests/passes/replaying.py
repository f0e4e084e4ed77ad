"""A second opinion on memory plans: what is in each byte, launch by launch.

The arena is an array whose elements say which value wrote them last. A launch finds in it what it
reads, or another value was written over it too early. Nothing here knows live ranges.
"""

import numpy as np

from atc_py.ir import Graph, Node, Value
from atc_py.ir.memory_plan import Home
from atc_py.target import find_operator


def replay(graph: Graph) -> list[str]:
    """Return reads of `graph` that do not find their value, and writes beside the arena."""
    run = _Replay(graph)
    for launch in _launches(graph):
        run.read(launch)
        run.write(launch)
    return run.faults


class _Replay:
    """The arena's bytes, each with the number of the value that was written to it last."""

    def __init__(self, graph: Graph) -> None:
        assert graph.memory is not None
        self.faults: list[str] = []
        self._spots = graph.memory.spots
        self._memory = np.full(graph.memory.arena, -1, dtype=np.int64)
        self._shown: dict[Value, Value] = {}
        self._number = {value: position for position, value in enumerate(graph.values())}

    def read(self, launch: list[Node]) -> None:
        """Hold what a launch reads from outside against what is there."""
        inside = {value for node in launch for value in node.outputs}
        for value in dict.fromkeys(v for node in launch for v in node.present_inputs):
            extent = self._extent(value)
            if extent is None or value in inside:
                continue
            wanted = self._number[self._shown.get(value, value)]
            if set(self._memory[extent].tolist()) - {wanted}:
                self.faults.append(f"%{value.name} is gone when {launch[-1].name} reads it")

    def write(self, launch: list[Node]) -> None:
        """Write what a launch makes."""
        for node in launch:
            if _is_view(node):
                first = node.present_inputs[0]
                self._shown.update(dict.fromkeys(node.outputs, self._shown.get(first, first)))
                continue
            for value in node.outputs:
                self._write(value, launch)

    def _write(self, value: Value, launch: list[Node]) -> None:
        """Write one value."""
        if self._spots[value] is Home.CHIP and not _stays_inside(value, launch):
            self.faults.append(f"%{value.name} leaves the launch")
        extent = self._extent(value)
        if extent is not None:
            if extent.stop > len(self._memory):
                self.faults.append(f"%{value.name} reaches beyond the arena")
            self._memory[extent] = self._number[value]

    def _extent(self, value: Value) -> slice | None:
        """Return the bytes of a value in the arena, or None where it is elsewhere."""
        spot = self._spots[value]
        return slice(spot, spot + value.type.nbytes) if isinstance(spot, int) else None


def _launches(graph: Graph) -> list[list[Node]]:
    """Return the nodes of each launch, at the place of its last node."""
    last = {node.scope: node for node in graph.nodes if node.scope}
    found = []
    for node in graph.nodes:
        if not node.scope:
            found.append([node])
        elif last[node.scope] is node:
            found.append([each for each in graph.nodes if each.scope == node.scope])
    return found


def _is_view(node: Node) -> bool:
    row = find_operator(node.op)
    return row is not None and not row.launches_kernel


def _stays_inside(value: Value, launch: list[Node]) -> bool:
    """Return True if a value and its views are read by nodes of one launch alone."""
    return all(
        node in launch
        and (not _is_view(node) or all(_stays_inside(v, launch) for v in node.outputs))
        for node in value.consumers
    )


def first_fit(graph: Graph, alignment: int) -> int:
    """Return bytes of the arena by first-fit in the order of nodes.

    Every value gets the lowest free address when it is made, which is free again after the last
    launch that reads it or a view of it.
    """
    plan = graph.memory
    assert plan is not None
    readers: dict[Value, int] = {}
    shown: dict[Value, Value] = {}
    launches = _launches(graph)
    for moment, launch in enumerate(launches):
        for node in launch:
            for value in node.present_inputs:
                readers[shown.get(value, value)] = moment
            if _is_view(node):
                first = node.present_inputs[0]
                shown.update(dict.fromkeys(node.outputs, shown.get(first, first)))
    alive: list[tuple[int, int, Value]] = []
    top = 0
    for moment, launch in enumerate(launches):
        for value in (v for node in launch if not _is_view(node) for v in node.outputs):
            if not isinstance(plan.spots[value], int):
                continue
            size = -(-value.type.nbytes // alignment) * alignment
            offset = 0
            for start, end, _ in sorted(alive, key=lambda each: each[:2]):
                if start - offset >= size:
                    break
                offset = max(offset, end)
            alive.append((offset, offset + size, value))
            top = max(top, offset + size)
        alive = [each for each in alive if readers.get(each[2], -1) > moment]
    return top

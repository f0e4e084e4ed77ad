"""A cheapest cut of a hypergraph in two, by maximum flow.

An edge joins any number of points and costs its weight once if they are not all on one side.
An edge of two points is an arc of that capacity in both directions; a larger one is the arc between
two points of its own, with arcs without limit from its points to the first and from the second to
its points (Lawler, Cutsets and partitions of hypergraphs, 1973). Flow grows along shortest paths
(Dinic, 1970).
"""

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias

SOURCE, SINK = -1, -2
"""The two points whose sides are given."""

Edge: TypeAlias = "tuple[int, frozenset[int]]"
"""Weight and points, the given ones among them."""

_STEPS_PER_ARC = 400
"""Arcs looked at for each that there is, after which the flow is left as it is."""


def cut_cost(edges: Iterable[Edge], side: Collection[int]) -> int:
    total = 0
    for weight, points in edges:
        inside = sum(point == SOURCE or point in side for point in points)
        total += weight if 0 < inside < len(points) else 0
    return total


def cheapest_side(count: int, edges: Sequence[Edge]) -> set[int]:
    """The points on the side of SOURCE in a cheapest cut, as few as possible.

    Where the flow is not found within a number of steps linear in the size, all points are on the
    side where that is cheaper.
    """
    flow = _Flow(count)
    for weight, points in edges:
        if weight > 0 and len(points) > 1:
            flow.join(weight, points)
    if flow.grow():
        return {point for point in flow.reached() if point < count}
    everything = set(range(count))
    return everything if cut_cost(edges, everything) < cut_cost(edges, ()) else set()


class _Flow:
    """A network with what is left of its capacities."""

    def __init__(self, count: int) -> None:
        self._arcs: list[list[int]] = [[] for _ in range(count + 2)]
        self._heads: list[int] = []
        self._room: list[float] = []
        self._source, self._sink = count, count + 1
        self._levels: list[int] = []

    def join(self, weight: int, points: Collection[int]) -> None:
        ends = [{SOURCE: self._source, SINK: self._sink}.get(point, point) for point in points]
        if len(ends) == 2:  # noqa: PLR2004  (an arc needs no points of its own)
            self._add(ends[0], ends[1], weight, weight)
            return
        entry = self._source if SOURCE in points else self._fresh()
        leave = self._sink if SINK in points else self._fresh()
        self._add(entry, leave, weight, 0)
        for end in ends:
            if end not in {self._source, self._sink}:
                self._add(end, entry, float("inf"), 0)
                self._add(leave, end, float("inf"), 0)

    def _fresh(self) -> int:
        self._arcs.append([])
        return len(self._arcs) - 1

    def _add(self, start: int, end: int, there: float, back: float) -> None:
        self._arcs[start].append(len(self._heads))
        self._arcs[end].append(len(self._heads) + 1)
        self._heads += [end, start]
        self._room += [there, back]

    def grow(self) -> bool:
        """Push all flow that fits; False when it took too long."""
        left = _STEPS_PER_ARC * (len(self._heads) + 1)
        while self._measure():
            left -= len(self._heads)
            at = [0] * len(self._arcs)
            while left > 0 and (path := self._path(at)):
                left -= len(path)
                pushed = min(self._room[arc] for arc in path)
                for arc in path:
                    self._room[arc] -= pushed
                    self._room[arc ^ 1] += pushed
            if left <= 0:
                return False
        return True

    def _measure(self) -> bool:
        """Distances from the source over arcs with room; whether the sink can be reached."""
        self._levels = [-1] * len(self._arcs)
        self._levels[self._source] = 0
        pending = deque([self._source])
        while pending:
            point = pending.popleft()
            for arc in self._arcs[point]:
                head = self._heads[arc]
                if self._room[arc] > 0 and self._levels[head] < 0:
                    self._levels[head] = self._levels[point] + 1
                    pending.append(head)
        return self._levels[self._sink] >= 0

    def _path(self, at: list[int]) -> list[int]:
        """The arcs of a shortest augmenting path; `at` remembers dead ends."""
        path: list[int] = []
        point = self._source
        while point != self._sink:
            arc = self._next_arc(point, at)
            if arc is not None:
                path.append(arc)
                point = self._heads[arc]
            elif path:
                arc = path.pop()
                point = self._heads[arc ^ 1]
                at[point] += 1
            else:
                return []
        return path

    def _next_arc(self, point: int, at: list[int]) -> int | None:
        arcs = self._arcs[point]
        while at[point] < len(arcs):
            arc = arcs[at[point]]
            if self._room[arc] > 0 and self._levels[self._heads[arc]] == self._levels[point] + 1:
                return arc
            at[point] += 1
        return None

    def reached(self) -> list[int]:
        """The points that the source still reaches, once all flow is pushed."""
        return [
            point
            for point, level in enumerate(self._levels)
            if level >= 0 and point not in {self._source, self._sink}
        ]

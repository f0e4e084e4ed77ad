"""The cheapest labels of nodes with a price for each node and for each pair that differs.

With two labels a minimal cut gives the optimum; with more, each label in turn takes all nodes
that are cheaper with it (alpha-expansion), until none gains any more.
"""

from collections import deque
from collections.abc import Hashable, Mapping, Sequence

_TINY = 1e-12


def cheapest_labels(
    prices: Mapping[str, Mapping[str, float]],
    pairs: Mapping[tuple[str, str], float],
    labels: Sequence[str],
) -> dict[str, str]:
    """A label for each node.

    `prices` has the price of each label that a node can have, `pairs` that of different labels on
    two nodes.
    """
    results = {node: next(iter(own)) for node, own in prices.items()}
    best = price_of(results, prices, pairs)
    gained = True
    while gained:
        gained = False
        for label in labels:
            trial = _expand(results, label, prices, pairs)
            price = price_of(trial, prices, pairs)
            if price < best - _TINY * abs(best):
                results, best, gained = trial, price, True
    return results


def price_of(
    labels: Mapping[str, str],
    prices: Mapping[str, Mapping[str, float]],
    pairs: Mapping[tuple[str, str], float],
) -> float:
    own = sum(prices[node][label] for node, label in labels.items())
    apart = (price for (a, b), price in pairs.items() if labels[a] != labels[b])
    return own + sum(apart)


def _expand(
    labels: Mapping[str, str],
    label: str,
    prices: Mapping[str, Mapping[str, float]],
    pairs: Mapping[tuple[str, str], float],
) -> dict[str, str]:
    """The cheapest labels in which any nodes took `label` and all others kept their own.

    A node on the side of the sink took it. The price of a pair is a sum of terms of one node and of
    an edge that only costs where the first one kept its own and the second one took the label;
    that it is not negative is the triangle of prices that are 0 or one number.
    """
    kept = {node: prices[node][own] for node, own in labels.items()}
    taken = {node: prices[node].get(label) for node in labels}
    flow = _Flow()
    for (a, b), price in pairs.items():
        neither = price if labels[a] != labels[b] else 0.0
        b_alone = price if labels[a] != label else 0.0
        a_alone = price if labels[b] != label else 0.0
        # With a and b 1 where they took it, and E(1, 1) = 0:
        # E(0,0) + (E(1,0) - E(0,0)) a - E(1,0) b + (E(0,1) + E(1,0) - E(0,0)) (1 - a) b
        kept[a] += neither
        taken[a] = None if taken[a] is None else (taken[a] or 0.0) + a_alone
        taken[b] = None if taken[b] is None else (taken[b] or 0.0) - a_alone
        flow.add(a, b, b_alone + a_alone - neither)
    for node, own in kept.items():
        other = taken[node]
        if other is None:
            flow.add(_SOURCE, node, _FOREVER)
            continue
        low = min(own, other)
        # Cut from the sink it kept its own; cut from the source it took the label.
        flow.add(node, _SINK, own - low)
        flow.add(_SOURCE, node, other - low)
    kept_side = flow.source_side()
    return {node: own if node in kept_side else label for node, own in labels.items()}


_SOURCE, _SINK = ("source",), ("sink",)
_FOREVER = 1e30


class _Flow:
    """The largest flow through a network, by shortest paths."""

    def __init__(self) -> None:
        self._room: dict[Hashable, dict[Hashable, float]] = {_SOURCE: {}, _SINK: {}}

    def add(self, start: Hashable, end: Hashable, room: float) -> None:
        ahead, back = self._room.setdefault(start, {}), self._room.setdefault(end, {})
        if room > 0:
            ahead[end] = ahead.get(end, 0.0) + room
            back.setdefault(start, 0.0)

    def source_side(self) -> set[Hashable]:
        """The nodes that the source still reaches when the flow is largest."""
        total = sum(self._room[_SOURCE].values()) or 1.0
        least = _TINY * min(total, 1.0)
        while True:
            before = self._reached(least)
            if _SINK not in before:
                return set(before)
            path: list[Hashable] = [_SINK]
            while path[-1] != _SOURCE:
                path.append(before[path[-1]])
            steps = [*zip(path[1:], path[:-1], strict=True)]
            pushed = min(self._room[a][b] for a, b in steps)
            for a, b in steps:
                self._room[a][b] -= pushed
                self._room[b][a] = self._room[b].get(a, 0.0) + pushed

    def _reached(self, least: float) -> dict[Hashable, Hashable]:
        before: dict[Hashable, Hashable] = {_SOURCE: _SOURCE}
        waiting: deque[Hashable] = deque([_SOURCE])
        while waiting:
            start = waiting.popleft()
            for end, room in self._room[start].items():
                if room > least and end not in before:
                    before[end] = start
                    waiting.append(end)
        return before

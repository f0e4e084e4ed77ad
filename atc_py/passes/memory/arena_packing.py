"""Packing blocks with sizes and times into an arena: several heuristics, of which the best counts.

The problem is NP-hard, and no heuristic wins everywhere. Those that walk through time cost
n log n; those that place the weightiest blocks first look at all blocks that are alive at the same
time and are left out where these are too many, so that the whole stays near linear. The first one
that reaches the lower bound ends the search.
"""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import msgspec
import numpy as np

_FEW = 32
"""Gaps up to which a plain loop is faster than numpy."""


class Gaps:
    """The gaps of an arena, and its top, above which all is free."""

    def __init__(self) -> None:
        self.top = 0
        self._starts = array("q")
        self._sizes = array("q")

    def take_first(self, size: int) -> int:
        """The lowest address where `size` units are free; they are then taken."""
        return self._take(self._first(size), size)

    def take_best(self, size: int) -> int:
        """The address of the smallest gap of at least `size` units; they are then taken."""
        return self._take(self._smallest(size), size)

    def give(self, start: int, size: int) -> None:
        """Free `size` units at `start`, joined with the gaps that they touch."""
        starts, sizes = self._starts, self._sizes
        at, end = bisect_left(starts, start), start + size
        if at < len(starts) and starts[at] == end:
            end += sizes[at]
            del starts[at], sizes[at]
        if at and starts[at - 1] + sizes[at - 1] == start:
            at -= 1
            start = starts[at]
            del starts[at], sizes[at]
        starts.insert(at, start)
        sizes.insert(at, end - start)

    def _take(self, at: int, size: int) -> int:
        """Take units from the front of gap `at`; where that is none, from the end of the arena."""
        starts, sizes = self._starts, self._sizes
        if at < 0:
            start = self.top
            if starts and starts[-1] + sizes[-1] == self.top:
                start = starts.pop()
                sizes.pop()
            self.top = start + size
            return start
        start = starts[at]
        if sizes[at] == size:
            del starts[at], sizes[at]
        else:
            starts[at] += size
            sizes[at] -= size
        return start

    def _first(self, size: int) -> int:
        sizes = self._sizes
        if len(sizes) <= _FEW:
            return next((at for at, room in enumerate(sizes) if room >= size), -1)
        fits = np.frombuffer(sizes, dtype=np.int64) >= size
        at = int(fits.argmax())
        return at if fits[at] else -1

    def _smallest(self, size: int) -> int:
        sizes = self._sizes
        if len(sizes) <= _FEW:
            fitting = [(room, at) for at, room in enumerate(sizes) if room >= size]
            return min(fitting)[1] if fitting else -1
        rooms = np.frombuffer(sizes, dtype=np.int64)
        rooms = np.where(rooms >= size, rooms, np.iinfo(np.int64).max)
        at = int(rooms.argmin())
        return at if sizes[at] >= size else -1


class Conflicts(msgspec.Struct, frozen=True):
    """The blocks that are alive at the same time."""

    of_block: tuple[tuple[int, ...], ...]  # for each block the others that share a moment with it
    count: int  # pairs, each counted once

    @classmethod
    def of(cls, lives: Sequence[tuple[int, int]], most: int) -> Conflicts | None:
        """The pairs of blocks whose lives overlap; None for over `most`."""
        others: list[list[int]] = [[] for _ in lives]
        alive: dict[int, None] = {}
        ending: list[tuple[int, int]] = []
        count = 0
        for block in sorted(range(len(lives)), key=lambda at: lives[at][0]):
            first, last = lives[block]
            while ending and ending[0][0] < first:
                del alive[heapq.heappop(ending)[1]]
            count += len(alive)
            if count > most:
                return None
            for other in alive:
                others[other].append(block)
            others[block].extend(alive)
            alive[block] = None
            heapq.heappush(ending, (last, block))
        return cls(tuple(map(tuple, others)), count)


def place(sizes: Sequence[int], order: Sequence[int], conflicts: Conflicts) -> list[int]:
    """Offsets by block; those of no size are at 0."""
    offsets = [-1] * len(sizes)
    for block in order:
        size = sizes[block]
        if not size:
            offsets[block] = 0
            continue
        placed = sorted(
            (offsets[other], sizes[other])
            for other in conflicts.of_block[block]
            if offsets[other] >= 0
        )
        lowest = 0
        for start, length in placed:
            if start - lowest >= size:
                break
            lowest = max(lowest, start + length)
        offsets[block] = lowest
    return offsets


_PAIRS_PER_BLOCK = 32
"""Neighbors in time that a block may have on the average for all to be looked at."""

_WORK, _ROUNDS = 100_000, 64
"""Pairs of blocks that the repairs of an order may look at in all, and repairs of an order."""


class Span(msgspec.Struct, frozen=True):
    """A block: units of memory from its first to its last moment, both included."""

    size: int
    first: int
    last: int


class Packing(msgspec.Struct, frozen=True):
    """The offset of each block and the end of the highest one, in units."""

    offsets: tuple[int, ...]
    peak: int


_Order: TypeAlias = "Callable[[Span], tuple[int, ...]]"

_BY_WEIGHT: tuple[_Order, ...] = (
    lambda span: (-span.size, -_length(span), span.first),
    lambda span: (-_length(span), -span.size, span.first),
    lambda span: (-span.size * _length(span), span.first),
)
"""The order of placing blocks: the largest first, the longest-lived first, or by both."""


def widest(spans: Sequence[Span]) -> int:
    """Units that are alive at the widest moment; no packing can do with less."""
    alive = most = 0
    changes = [(span.first, span.size) for span in spans]
    changes += [(span.last + 1, -span.size) for span in spans]
    for _, change in sorted(changes):
        alive += change
        most = max(most, alive)
    return most


def pack(spans: Sequence[Span], bound: int) -> Packing:
    """The best packing that was found; never a worse one than first-fit in order of time.

    `bound` is the widest moment; a packing that needs no more ends the search.
    """
    best: Packing | None = None
    for offsets in _attempts(spans, bound):
        peak = max((at + span.size for at, span in zip(offsets, spans, strict=True)), default=0)
        if best is None or peak < best.peak:
            best = Packing(tuple(offsets), peak)
        if best.peak == bound:
            break
    return best or Packing((), 0)


def _attempts(spans: Sequence[Span], bound: int) -> Iterator[Sequence[int]]:
    flipped: list[Span] = []
    for take in (Gaps.take_best, Gaps.take_first):
        yield _sweep(spans, take)
        flipped = flipped or [Span(span.size, -span.last, -span.first) for span in spans]
        yield _sweep(flipped, take)
    conflicts = Conflicts.of(
        [(span.first, span.last) for span in spans], _PAIRS_PER_BLOCK * len(spans)
    )
    if conflicts is None:
        return
    sizes = [span.size for span in spans]
    found: list[list[int]] = []
    for key in _BY_WEIGHT:
        order = sorted(range(len(spans)), key=lambda at, key=key: key(spans[at]))  # type: ignore[misc]
        found.append(order)
        yield place(sizes, order, conflicts)
    for order in found:
        yield from _repaired(sizes, order, conflicts, bound)


def _repaired(
    sizes: Sequence[int], order: list[int], conflicts: Conflicts, bound: int
) -> Iterator[Sequence[int]]:
    """Yield packings in which the blocks that stuck out before are placed earlier."""
    urgency = dict.fromkeys(order, 0)
    ranks = {block: rank for rank, block in enumerate(order)}
    rounds = _WORK // max(1, conflicts.count + len(sizes))
    for _ in range(min(rounds, _ROUNDS)):
        offsets = place(sizes, order, conflicts)
        yield offsets
        high = [block for block in order if offsets[block] + sizes[block] > bound]
        for block in high:
            urgency[block] += 1
        order = sorted(order, key=lambda block: (-urgency[block], ranks[block]))


def _length(span: Span) -> int:
    return span.last - span.first + 1


def _sweep(spans: Sequence[Span], take: Callable[[Gaps, int], int]) -> list[int]:
    """Place blocks as they begin and free them when they end."""
    gaps, offsets = Gaps(), [0] * len(spans)
    ending: list[tuple[int, int]] = []
    for block in sorted(range(len(spans)), key=lambda at: spans[at].first):
        span = spans[block]
        while ending and ending[0][0] < span.first:
            gone = heapq.heappop(ending)[1]
            gaps.give(offsets[gone], spans[gone].size)
        if span.size:
            offsets[block] = take(gaps, span.size)
            heapq.heappush(ending, (span.last, block))
    return offsets

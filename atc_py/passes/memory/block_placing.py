"""Placing blocks one by one in any order, each at the lowest address that is free all its life."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import msgspec


class Conflicts(msgspec.Struct, frozen=True):
    """The blocks that are alive at the same time.

    Attributes:
        of_block: for each block the others that share a moment with it.
        count: pairs, each counted once.
    """

    of_block: tuple[tuple[int, ...], ...]
    count: int

    @classmethod
    def of(cls, lives: Sequence[tuple[int, int]], most: int) -> Conflicts | None:
        """Return the pairs of blocks whose lives overlap; None for over `most`."""
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
    """Return offsets by block; those of no size are at 0."""
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

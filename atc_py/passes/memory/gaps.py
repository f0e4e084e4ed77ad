"""Free pieces of an arena that grows at its end, sorted by address."""

from array import array
from bisect import bisect_left

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
        """Return the lowest address where `size` units are free; they are then taken."""
        return self._take(self._first(size), size)

    def take_best(self, size: int) -> int:
        """Return the address of the smallest gap of at least `size` units; they are then taken."""
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
        """Return the first gap that is large enough, or -1."""
        sizes = self._sizes
        if len(sizes) <= _FEW:
            return next((at for at, room in enumerate(sizes) if room >= size), -1)
        fits = np.frombuffer(sizes, dtype=np.int64) >= size
        at = int(fits.argmax())
        return at if fits[at] else -1

    def _smallest(self, size: int) -> int:
        """Return the first of the smallest gaps that are large enough, or -1."""
        sizes = self._sizes
        if len(sizes) <= _FEW:
            fitting = [(room, at) for at, room in enumerate(sizes) if room >= size]
            return min(fitting)[1] if fitting else -1
        rooms = np.frombuffer(sizes, dtype=np.int64)
        rooms = np.where(rooms >= size, rooms, np.iinfo(np.int64).max)
        at = int(rooms.argmin())
        return at if sizes[at] >= size else -1

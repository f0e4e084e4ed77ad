"""Memory for arrays, cut from large pieces.

numpy asks the system to back arrays of 4 MiB and more with large pages. In many smaller arrays a
kernel that goes through several at once, or takes long steps, waits for the table of pages instead.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ALIGNMENT = 64
"""Bytes; a cache line and the widest vector register."""

_LARGE = 4 * 1024**2
"""Bytes from which on numpy asks for large pages."""

_SMALL = 256 * 1024
"""Bytes up to which all that is wanted at once is not worth a large page."""


class Pool:
    """A source of memory that lives as long as an array in it does."""

    def __init__(self, expected: Iterable[int] = ()) -> None:
        """Prepare a pool of which pieces of `expected` bytes, and maybe more, will be wanted."""
        self._expected = sum(nbytes + _ALIGNMENT for nbytes in expected)
        self._piece: NDArray[np.uint8] = np.empty(0, np.uint8)

    def take(self, nbytes: int) -> NDArray[Any]:
        """Bytes with undefined contents, aligned.

        Raises:
            MemoryError: the system has no more.
        """
        if nbytes + _ALIGNMENT > self._piece.size:
            self._piece = np.empty(self._size(nbytes + _ALIGNMENT), np.uint8)
        skip = -self._piece.ctypes.data % _ALIGNMENT
        taken = self._piece[skip : skip + nbytes]
        self._piece = self._piece[skip + nbytes :]
        return taken

    def _size(self, nbytes: int) -> int:
        wanted = max(nbytes, self._expected)
        self._expected = 0
        return wanted if wanted <= _SMALL else max(wanted, _LARGE)

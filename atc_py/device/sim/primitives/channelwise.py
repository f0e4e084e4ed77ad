"""Convolutions of which each result reads one channel, without a column for every tap of a window.

The taps of all windows in one column of the filter are the map itself, moved sideways: kw copies of
the map hold all that any row of the filter is multiplied by. One product of the filter [kh, kw] with
them gives for each row of the filter its sums over the width, and kh of these, each so many rows
further down, add up to the result. Where windows are s rows apart, rows r, r + s, r + 2 s ... of
the map are a map of their own, a phase, in which they are one row apart again.
"""

from collections.abc import Callable, Iterator
from functools import partial
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, Launch, sequence, split_among_workers
from atc_py.device.sim.primitives.window import Tap, Window, folding

Finish = Callable[[NDArray[Any], slice], Launch]


_AT_ONCE = 1024 * 1024
"""Elements of copies, sums and results at a time: few calls of numpy, and the last cache holds them."""

_WORTH_SHARING = 1024 * 1024
"""Elements of copies, sums and results below which a part is not worth a worker of its own."""


_LARGEST = 4 * 1024 * 1024
"""Elements of a map above which scratch memory, which holds one map several times, is not taken."""


def is_worthwhile(window: Window, pixels: int, multiplier: int) -> bool:
    """True if copies and sums for `multiplier` filters a channel beat a column a tap."""
    rows, columns = window.height.size, window.width.size
    return columns + rows * multiplier <= rows * columns and pixels <= _LARGEST


def channelwise(call: Call, window: Window, image: int, finish: Finish) -> Launch:
    """A launch that convolves each channel of one image with filters of its own, in floats.

    x is [N, C, H, W], the filter [C * m, 1, kh, kw]; result o reads channel o // m. `finish` is what
    is left to do to the results of some filters, [filters, oh * ow].
    """
    maps = _Maps(call, window, image, finish)
    least = -(-_WORTH_SHARING // maps.elements)
    return split_among_workers(call.workers, len(call.x[image]), maps.launch, least)


class _Maps:
    """One image, some channels at a time."""

    def __init__(self, call: Call, window: Window, image: int, finish: Finish) -> None:
        self.call, self.finish = call, finish
        self.image, self.results = call.x[image], call.out[image]
        channels, height, width = self.image.shape
        filters, self.rows, self.columns = self.results.shape
        self.down = window.height.taps(height, self.rows)
        self.across = window.width.taps(width, self.columns)
        self.strides = window.height.stride, window.width.stride
        self.multiplier = filters // channels
        self.filters = call.input(1).reshape(channels, self.multiplier, len(self.down), -1)
        # Taps in one phase are a fixed number of taps apart.
        self.apart = self.strides[0] // gcd(self.strides[0], window.height.dilation)

    @property
    def elements(self) -> int:
        copies = len(self.across) * self.image.shape[1]
        sums = self.multiplier * (len(self.down) + 1) * self.rows
        elements: int = (copies + sums) * self.columns
        return elements

    def launch(self, start: int, stop: int) -> Launch:
        some = max(1, _AT_ONCE // self.elements)
        return sequence(
            [
                self._channels(slice(first, min(first + some, stop)))
                for first in range(start, stop, some)
            ]
        )

    def _channels(self, channels: slice) -> Launch:
        m = self.multiplier
        filters = slice(channels.start * m, channels.stop * m)
        results = self.results[filters].reshape(-1, m, self.rows * self.columns)
        sums: dict[int, NDArray[Any]] = {}
        launches: list[Launch] = []
        for first in range(min(self.apart, len(self.down))):
            found, launch = self._sums(channels, first)
            sums |= zip(range(first, len(self.down), self.apart), found, strict=True)
            launches += launch
        parts = (self._part(tap, sums[index]) for index, tap in enumerate(self.down))
        launches += folding(np.add, parts, 2, results, 0)
        launches.append(self.finish(results.reshape(-1, results.shape[2]), filters))
        return sequence(launches)

    def _sums(self, channels: slice, first: int) -> tuple[list[NDArray[Any]], list[Launch]]:
        """Sums over the width for rows first, first + apart ..., and what fills them.

        Each is [channels, m, rows of the phase * columns].
        """
        workspace, dtype = self.call.workspace, self.results.dtype
        rows = self.image[channels, self.down[first].phase :: self.strides[0]]
        shape = (len(rows), len(self.across), rows.shape[1], self.columns)
        copies = workspace.take(f"moved {first}", shape, dtype)
        launches = [
            launch
            for index, tap in enumerate(self.across)
            for launch in self._moved(rows, tap, copies[:, index])
        ]
        filters = self.filters[channels, :, first :: self.apart]
        sums = workspace.take(
            f"sums {first}", (*filters.shape[:3], rows.shape[1] * self.columns), dtype
        )
        columns = copies.reshape(len(rows), 1, len(self.across), sums.shape[3])
        launches.append(partial(np.matmul, filters, columns, sums))
        return [sums[:, :, index] for index in range(sums.shape[2])], launches

    def _moved(self, rows: NDArray[Any], tap: Tap, copy: NDArray[Any]) -> Iterator[Launch]:
        """Yield launches that fill the copy of a map for one tap along the width, padded."""
        start, stop = tap.windows.start, tap.windows.stop
        count = rows.shape[1] * rows.shape[2]
        is_line = self.strides[1] == 1 and rows.shape == copy.shape and rows.flags.c_contiguous
        if stop > start and is_line:
            # A map is one line: what comes in from the row before or after is padding.
            lines, copies = (each.reshape(len(rows), count) for each in (rows, copy))
            by = tap.skipped
            inside = slice(max(0, -by), count - max(0, by))
            source = slice(max(0, by), count + min(0, by))
            yield partial(np.copyto, copies[:, inside], lines[:, source])
        elif stop > start:
            yield partial(np.copyto, copy[:, :, start:stop], rows[:, :, tap.places])
        for padding in (copy[:, :, :start], copy[:, :, stop:]):
            if padding.size:
                yield partial(np.copyto, padding, 0)

    def _part(self, tap: Tap, sums: NDArray[Any]) -> tuple[slice, NDArray[Any]]:
        """Places in the results of the sums of a row of the filters, and which are inside."""
        there, source = (
            slice(rows.start * self.columns, rows.stop * self.columns)
            for rows in (tap.windows, tap.elements)
        )
        return there, sums[:, :, source] if there.stop > there.start else sums[:, :, :0]

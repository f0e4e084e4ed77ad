"""Strides and pads that the op of a fused launch no longer has, solved from its shapes."""

from collections.abc import Sequence
from typing import NamedTuple

_MOST_STRIDE = 63
"""The largest stride that kernels take."""


class SolvedAxis(NamedTuple):
    """An axis of a window: its stride, the pads at both ends, and whether others fit as well."""

    stride: int
    before: int
    after: int
    assumed: bool


class WindowAxis(NamedTuple):
    """An axis of a convolution."""

    length: int  # of the longer side: what a convolution reads, or a transposed one writes
    windows: int  # of the other side
    taps: int  # of the filter
    dilation: int  # between taps
    extra: int | None = None  # output_padding of a transposed convolution; None of others
    strides: Sequence[int] = range(1, _MOST_STRIDE + 1)  # those that may be; one where it is known

    @property
    def reach(self) -> int:
        return self.dilation * (self.taps - 1) + 1

    def pads(self, stride: int) -> range:
        """Sums of both pads with which as many windows fit, each pad shorter than a window.

        windows = (length + pads - reach) // stride + 1, and of a transposed convolution
        length = (windows - 1) * stride + reach - pads + extra.
        """
        least = (self.windows - 1) * stride + self.reach - self.length
        slack = range(stride) if self.extra is None else range(self.extra, self.extra + 1)
        most = 2 * (self.reach - 1)
        return range(max(least + slack.start, 0), min(least + slack.stop, most + 1))


def solve(axes: Sequence[WindowAxis]) -> tuple[SolvedAxis, ...] | None:
    """Stride and pads of each axis; None where none fit.

    The smallest stride that all axes can have is taken, or else the smallest of each; then equal
    pads, as few as fit, or one more at the end.
    """
    strides = [[step for step in axis.strides if axis.pads(step)] for axis in axes]
    if not all(strides):
        return None
    common = [step for step in strides[0] if all(step in others for others in strides)]
    return tuple(
        _chosen(axis, common[0] if common else steps[0], len(steps) > 1)
        for axis, steps in zip(axes, strides, strict=True)
    )


def _chosen(axis: WindowAxis, stride: int, others: bool) -> SolvedAxis:
    """The pads for a stride; `others` says that other strides fit as well."""
    sums = axis.pads(stride)
    pads = min(sums, key=lambda both: (both % 2, both))
    splits = min(pads, 2 * (axis.reach - 1) - pads) + 1
    assumed = others or len(sums) > 1 or splits > 1
    return SolvedAxis(stride, pads // 2, pads - pads // 2, assumed)

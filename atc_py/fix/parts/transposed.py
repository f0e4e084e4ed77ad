"""The geometry of a transposed convolution, as its rules read it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from atc_py.fix.parts.pools import SAME
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from atc_py.fix.site import Site

__all__ = ["TransposedAxis", "transposed_axes"]


@dataclass(frozen=True, slots=True)
class TransposedAxis:
    """One axis.

    Attributes:
        size: elements of X.
        taps: elements of the filter.
        stride: elements of Y from one window to the next.
        dilation: elements of Y from one tap to the next.
        begin: elements cut off before Y.
        end: elements cut off after Y.
        extra: zeros after the last window, of output_padding.
    """

    size: int
    taps: int
    stride: int
    dilation: int
    begin: int
    end: int
    extra: int

    @property
    def full(self) -> int:
        """Elements that the windows cover, and `extra`."""
        return (self.size - 1) * self.stride + (self.taps - 1) * self.dilation + 1 + self.extra

    @property
    def count(self) -> int:
        """Elements of Y."""
        return self.full - self.begin - self.end


def transposed_axes(site: Site) -> tuple[TransposedAxis, ...]:
    """Return the axes of a ConvTranspose with explicit, stated or automatic dims.

    Raises:
        UnfitError: the dims of X or W are not known, or Y is empty.
    """
    sizes, taps = site.shape(0)[2:], site.shape(1)[2:]
    rank = len(sizes)
    strides, dilations = (site.integers(each) or (1,) * rank for each in ("strides", "dilations"))
    extra = site.integers("output_padding") or (0,) * rank
    pads = site.integers("pads") or (0,) * (2 * rank)
    mode = site.text("auto_pad", "NOTSET")
    wanted = site.integers("output_shape")[-rank:]
    if mode in SAME and not wanted:
        wanted = tuple(size * step for size, step in zip(sizes, strides, strict=True))
    found = []
    for at in range(rank):
        begin, end = (pads[at], pads[rank + at]) if mode == "NOTSET" else (0, 0)
        axis = TransposedAxis(
            sizes[at], taps[at], strides[at], dilations[at], begin, end, extra[at]
        )
        if wanted:
            full = replace(axis, begin=0, end=0).full
            require(wanted[at] <= full, "windows cover Y", "窗口覆盖 Y")
            less, rest = (full - wanted[at]) // 2, (full - wanted[at] + 1) // 2
            begin, end = (less, rest) if mode == "SAME_UPPER" else (rest, less)
            axis = replace(axis, begin=begin, end=end)
        require(axis.count > 0, "Y has elements", "Y 非空")
        found.append(axis)
    return tuple(found)

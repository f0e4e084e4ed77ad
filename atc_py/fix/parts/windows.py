"""The geometry of a convolution of images, as its rules read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from atc_py.fix.site import Site

__all__ = [
    "LONGEST_ROW",
    "LONGEST_STRIDE",
    "MOST_PIECES",
    "MOST_TAPS",
    "H",
    "ImageAxis",
    "Images",
    "W",
    "images_of",
]

H, W = 0, 1
"""The axes of an image in lists of two."""

LONGEST_ROW, LONGEST_STRIDE, MOST_TAPS = 4096, 63, 255
"""Limits that the list `base` sets to Conv: W of X, each stride, H and W of the filter."""

MOST_PIECES = 1024
"""Pieces of a row at most: each is a node or two."""

_IMAGES = 4


@dataclass(frozen=True, slots=True)
class ImageAxis:
    """One axis of a convolution.

    Attributes:
        size: elements of X.
        taps: elements of the filter.
        stride: elements from one window to the next.
        dilation: elements from one tap to the next.
        begin: zeros before X.
        end: zeros after X.
    """

    size: int
    taps: int
    stride: int
    dilation: int
    begin: int
    end: int

    @property
    def span(self) -> int:
        """Elements from the first tap to the last, both included."""
        return (self.taps - 1) * self.dilation + 1

    @property
    def count(self) -> int:
        """Number of windows."""
        return (self.size + self.begin + self.end - self.span) // self.stride + 1


@dataclass(frozen=True, slots=True)
class Images:
    """A convolution of images with known dims.

    Attributes:
        batch: N.
        channels: C of X.
        filters: O of W.
        group: number of groups.
        axes: H and W.
    """

    batch: int
    channels: int
    filters: int
    group: int
    axes: tuple[ImageAxis, ImageAxis]

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of a Conv node of this geometry."""
        return {
            "auto_pad": None,
            "dilations": [each.dilation for each in self.axes],
            "group": self.group,
            "kernel_shape": [each.taps for each in self.axes],
            "pads": [*(each.begin for each in self.axes), *(each.end for each in self.axes)],
            "strides": [each.stride for each in self.axes],
        }


def images_of(site: Site) -> Images:
    """Return the geometry of a Conv node with explicit or automatic pads.

    Raises:
        UnfitError: X or W is not an image of known dims.
    """
    x, w = site.shape(0), site.shape(1)
    require(len(x) == _IMAGES and len(w) == _IMAGES, "X and W have rank 4", "X、W 的秩为 4")
    strides, dilations = site.integers("strides", (1, 1)), site.integers("dilations", (1, 1))
    pads = list(site.integers("pads", (0, 0, 0, 0)))
    mode = site.text("auto_pad", "NOTSET")
    if mode in {"SAME_UPPER", "SAME_LOWER"}:
        for axis in (H, W):
            count = -(-x[2 + axis] // strides[axis])
            span = (w[2 + axis] - 1) * dilations[axis] + 1
            total = max((count - 1) * strides[axis] + span - x[2 + axis], 0)
            less, more = total // 2, total - total // 2
            pads[axis], pads[2 + axis] = (less, more) if mode == "SAME_UPPER" else (more, less)
    elif mode == "VALID":
        pads = [0, 0, 0, 0]
    axes = tuple(
        ImageAxis(
            x[2 + axis], w[2 + axis], strides[axis], dilations[axis], pads[axis], pads[2 + axis]
        )
        for axis in (H, W)
    )
    require(min(each.count for each in axes) > 0, "Y has elements", "Y 非空")
    return Images(x[0], x[1], w[0], site.integer("group", 1), (axes[H], axes[W]))

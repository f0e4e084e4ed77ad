"""The geometry of convolutions and pools, as their rules read it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.fix import tables
from atc_py.fix.context import RuleContext
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType
from atc_py.tensor.resampling import MOST_PLACES
from atc_py.tensor.shapes import window_count

H, W = 0, 1
"""The axes of an image in lists of two."""

LONGEST_ROW, LONGEST_STRIDE, MOST_TAPS = 4096, 63, 255
"""Limits that the list `base` sets to Conv: W of X, each stride, H and W of the filter."""

MOST_PIECES = 1024
"""Pieces of a row at most: each is a node or two."""

IMAGES, VOLUMES = 4, 5
"""Ranks of tensors with a batch, channels, and two or three axes that windows move along."""


@dataclass(frozen=True, slots=True)
class ImageAxis:
    """One axis of a convolution."""

    size: int  # elements of X
    taps: int  # elements of the filter
    stride: int  # elements from one window to the next
    dilation: int  # elements from one tap to the next
    begin: int  # zeros before X
    end: int  # zeros after X

    @property
    def span(self) -> int:
        """Elements from the first tap to the last, both included."""
        return (self.taps - 1) * self.dilation + 1

    @property
    def count(self) -> int:
        return (self.size + self.begin + self.end - self.span) // self.stride + 1


@dataclass(frozen=True, slots=True)
class Images:
    """A convolution of images with known dims."""

    batch: int  # N
    channels: int  # C of X
    filters: int  # O of W
    group: int
    axes: tuple[ImageAxis, ImageAxis]  # H and W

    @property
    def attributes(self) -> dict[str, Any]:
        return {**window_attributes(self.axes), "auto_pad": None, "group": self.group}


def window_attributes(axes: Sequence[ImageAxis]) -> dict[str, Any]:
    return {
        "dilations": [axis.dilation for axis in axes],
        "kernel_shape": [axis.taps for axis in axes],
        "pads": [*(axis.begin for axis in axes), *(axis.end for axis in axes)],
        "strides": [axis.stride for axis in axes],
    }


def window_numbers(
    ctx: RuleContext, rank: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The strides, dilations and pads of a node whose windows move along `rank` axes."""
    ones = (1,) * rank
    strides, dilations = (ctx.integers(name) or ones for name in ("strides", "dilations"))
    return strides, dilations, ctx.integers("pads") or (0,) * (2 * rank)


def conv_axes(ctx: RuleContext, *, cut: bool = False) -> tuple[ImageAxis, ...]:
    """The axes of a Conv; those with SAME pads, with which windows end before X does, if `cut`."""
    sizes, taps = ctx.shape(0)[_FIRST:], ctx.shape(1)[_FIRST:]
    rank = len(taps)
    strides, dilations, pads = window_numbers(ctx, rank)
    mode = ctx.text("auto_pad", "NOTSET")
    axes = []
    for at, (size, tap) in enumerate(zip(sizes, taps, strict=True)):
        pair = (0, 0) if mode == "VALID" else (pads[at], pads[rank + at])
        if mode in SAME:
            span = (tap - 1) * dilations[at] + 1
            pair = same_pads(size, span, strides[at], mode, cut=cut)
        axes.append(ImageAxis(size, tap, strides[at], dilations[at], *pair))
    return tuple(axes)


def images_of(ctx: RuleContext) -> Images:
    x, w = ctx.shape(0), ctx.shape(1)
    require(len(x) == IMAGES and len(w) == IMAGES, "X and W have rank 4")
    height, width = conv_axes(ctx, cut=True)
    require(min(height.count, width.count) > 0, "Y has elements")
    return Images(x[0], x[1], w[0], ctx.integer("group", 1), (height, width))


SAME = frozenset({"SAME_UPPER", "SAME_LOWER"})
"""Values of auto_pad that pad up to length / stride windows, rounded up."""

# Axes before those that a window moves along: batch and channels.
_FIRST = 2

# Taps of all windows of an axis whose positions are worked out.
_MOST_POSITIONS = 2**24

_MEETS_X = "each window meets X"

# Elements after the last window of SAME pads at most: onnxruntime cuts X at its begin for more.
_MOST_LEFT_OUT = 2

# Dtypes that Slice has on both lists.
_SLICED = frozenset({DType.FLOAT16, DType.FLOAT32, DType.INT32, DType.UINT8, DType.INT8})


@dataclass(frozen=True, slots=True)
class PoolAxis:
    """One axis of a pool."""

    axis: ImageAxis  # the window, and the pads that the node states
    count: int  # number of windows; with ceil_mode the last one may reach beyond the pads

    @property
    def meets_x(self) -> bool:
        """True if each window has a tap in X."""
        axis = self.axis
        last = (self.count - 1) * axis.stride - axis.begin
        if axis.begin >= axis.span or last >= axis.size:
            return False
        return axis.size >= axis.dilation or bool(self.inside.any(axis=1).all())

    @property
    def positions(self) -> NDArray[np.int64]:
        """Position in X of each tap of each window; some are before or after X."""
        axis = self.axis
        most = self.count * axis.taps <= _MOST_POSITIONS
        require(most, "the windows of an axis have at most 2^24 taps")
        starts = tables.arange(self.count) * axis.stride - axis.begin
        return np.asarray(starts[:, None] + tables.arange(axis.taps) * axis.dilation)

    @property
    def inside(self) -> NDArray[np.bool_]:
        result = self.positions
        return (result >= 0) & (result < self.axis.size)

    @property
    def clamped(self) -> NDArray[np.int64]:
        """Positions in which taps outside X are replaced by the nearest tap of the window inside."""
        inside = self.inside
        require(self.meets_x, _MEETS_X)
        taps = tables.arange(self.axis.taps)
        first = inside.argmax(axis=1)[:, None]
        last = self.axis.taps - 1 - inside[:, ::-1].argmax(axis=1)[:, None]
        return np.take_along_axis(self.positions, np.clip(taps, first, last), axis=1)

    @property
    def reach(self) -> int:
        """Zeros after X that the last window needs."""
        axis = self.axis
        return max((self.count - 1) * axis.stride + axis.span - axis.begin - axis.size, 0)

    def counted(self, *, pads: bool) -> NDArray[np.int64]:
        """The number of taps of each window that count for its mean."""
        if not pads:
            return np.asarray(self.inside.sum(axis=1))
        result = self.positions
        return np.asarray((result < self.axis.size + self.axis.end).sum(axis=1))


def pool_axes(ctx: RuleContext) -> tuple[PoolAxis, ...]:
    size = ctx.shape(0)[_FIRST:]
    rank = len(size)
    taps = ctx.integers("kernel_shape")
    strides, dilations, pads = window_numbers(ctx, rank)
    mode = ctx.text("auto_pad", "NOTSET")
    # onnxruntime's kernels and ONNX disagree on other SAME pads: no form suits all.
    near = all(step <= tap for step, tap in zip(strides, taps, strict=True))
    plain = mode not in SAME or (set(dilations) == {1} and near)
    require(plain, "windows with SAME pads are not dilated, and no stride is above the window")
    ceil = ctx.flag("ceil_mode", default=False)
    results = []
    for at, (dim, tap) in enumerate(zip(size, taps, strict=True)):
        pair = (pads[at], pads[rank + at]) if mode == "NOTSET" else (0, 0)
        span = (tap - 1) * dilations[at] + 1
        if mode in SAME:
            pair = same_pads(dim, span, strides[at], mode)
        count = window_count(dim, pair, span, strides[at], ceil=ceil and mode not in SAME)
        require(count > 0, "Y has elements")
        results.append(PoolAxis(ImageAxis(dim, tap, strides[at], dilations[at], *pair), count))
    # ONNX leaves open what a window without an element of X gives, but where pads count.
    open_ = ctx.node.op_type == "MaxPool" or not ctx.integer("count_include_pad", 0)
    require(not open_ or all(axis.meets_x for axis in results), _MEETS_X)
    return tuple(results)


def require_room(ctx: RuleContext) -> None:
    """Refuse powers of narrow constants: folding rounds them where onnxruntime computes float32."""
    x = ctx.input(0)
    require(x.dtype is DType.FLOAT32 or x.const is None, "X is float32 or computed")


def require_known_windows(ctx: RuleContext) -> None:
    """Refuse a pool with a window in the padding alone, whose dims may be open."""
    if not ctx.input(0).is_open:
        pool_axes(ctx)
        return
    taps = ctx.integers("kernel_shape")
    _, dilations, pads = window_numbers(ctx, len(taps))
    spans = [(tap - 1) * step + 1 for tap, step in zip(taps, dilations, strict=True)]
    require(all(pad < span for pad, span in zip(pads, spans * 2, strict=True)), _MEETS_X)


def same_pads(
    size: int, span: int, stride: int, mode: str, *, cut: bool = False
) -> tuple[int, int]:
    """The pads before and after an axis that auto_pad adds; `cut`: windows may end before X does."""
    missing = (-(-size // stride) - 1) * stride + span - size
    require(cut or missing >= -_MOST_LEFT_OUT, "with SAME pads the windows reach the end of X")
    total = max(missing, 0)
    less, more = total // 2, total - total // 2
    return (less, more) if mode == "SAME_UPPER" else (more, less)


def take(
    ctx: RuleContext, x: str, axis: int, positions: Sequence[int] | NDArray[Any], size: int
) -> str:
    """Write the elements of `x` at constant positions along an axis of `size` elements."""
    if isinstance(positions, range) and positions.step == 1 and ctx.element in _SLICED:
        return (
            x if positions == range(size) else ctx.slice(x, axis, positions[0], positions[-1] + 1)
        )
    places = tables.of(positions)
    first, last = int(places[0]), int(places[-1])
    step = int(places[1]) - first if len(places) > 1 else 1
    even = step > 0 and bool((np.diff(places) == step).all())
    if even and (first, last, step) == (0, size - 1, 1):
        return x
    if even and ctx.element in _SLICED:
        return ctx.slice(x, axis, first, last + 1, step)
    return ctx.op("Gather", x, ctx.const(places, label="positions"), axis=axis)


def require_places(counts: Iterable[int]) -> None:
    """Refuse axes of results that are too long for their places to be worked out."""
    few = max(counts, default=0) <= MOST_PLACES
    require(few, "no axis that changes gets more than 2^20 elements")


def share_of_counted(axes: Sequence[PoolAxis], *, pads: bool) -> NDArray[np.float64]:
    """The taps of each window divided by those that count for its mean, stated pads if `pads`."""
    values = tables.ones((1,) * len(axes))
    for at, axis in enumerate(axes):
        counted = axis.axis.taps / axis.counted(pads=pads)
        values = values * counted.reshape([-1 if other == at else 1 for other in range(len(axes))])
    return values


def mean_of_windows(ctx: RuleContext, x: str, axes: Sequence[PoolAxis], channels: int) -> str:
    """Write the sum over each window of images, divided by its taps, with zeros for pads.

    It is a convolution of each channel by itself, whose filter has one number.
    """
    taps = [axis.axis.taps for axis in axes]
    weight = tables.full((channels, 1, *taps), 1 / float(np.prod(taps)))
    own = window_attributes([replace(axis.axis, end=axis.reach) for axis in axes])
    return ctx.op("Conv", x, ctx.const(weight, ctx.element, "weight"), **own, group=channels)

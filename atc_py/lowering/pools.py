"""Pools of signals, images and volumes as pools of images, which are what the device has.

A signal is an image of one row. A volume is pooled over height and width, then over depth: the
largest of the largest is the largest of all, and as windows are boxes, every mean over height and
width counts alike in the mean over depth.
"""

from collections.abc import Mapping, Sequence

import msgspec

from atc_py.ir import AttrValue, TensorType, Value
from atc_py.lowering.builder import Builder
from atc_py.lowering.windows import AxisWindow, cann_pads
from atc_py.spec.rewrites import performs
from atc_py.tensor.shapes import Shape, closed_shape, window_count

POOLED_RANKS = (3, 4, 5)
"""Ranks of signals, images and volumes."""

_SIGNAL, _IMAGE, _ = POOLED_RANKS
_ALONE = AxisWindow(1, 1, 1), (0, 0)
"""A window of one element, without padding."""


class PoolForm(msgspec.Struct, frozen=True):
    """A pool: the target operator, the window and padding of each spatial axis, and the rest."""

    op: str  # MaxPoolV3 or AvgPoolV2
    axes: Sequence[tuple[AxisWindow, tuple[int, int]]]  # by spatial axis, outermost first
    ceil: bool  # whether a last window may overhang
    attributes: Mapping[str, AttrValue]  # further ones of the target operator
    dilated: bool = False  # whether the target operator has dilations

    def over(self, axes: Sequence[tuple[AxisWindow, tuple[int, int]]]) -> dict[str, AttrValue]:
        """The target operator's attributes for a pool over two axes."""
        windows = [window for window, _ in axes]
        found: dict[str, AttrValue] = {
            "ksize": (1, 1, *(window.kernel for window in windows)),
            "strides": (1, 1, *(window.stride for window in windows)),
            "pads": cann_pads([pads for _, pads in axes]),
            "ceil_mode": self.ceil,
        }
        if self.dilated:
            found["dilations"] = (1, 1, *(window.dilation for window in windows))
        return {**found, **self.attributes}

    def outputs(self, dims: Shape) -> Shape:
        """The spatial dims of the result."""
        return tuple(
            window_count(dim, pads, window.reach, window.stride, ceil=self.ceil)
            for dim, (window, pads) in zip(dims, self.axes, strict=True)
        )


def pooled(b: Builder, pool: PoolForm, x: Value | None = None, label: str | None = None) -> Value:
    """Pools of images: of the node's first input, or of `x`, which has its shape.

    They have the node's dims, and the name `label` or that of the node's result.
    """
    x = b.input(0) if x is None else x
    if b.source(0).rank == _IMAGE:
        return b.op(pool.op, [x], b.output_type(), pool.over(pool.axes), label)
    return _as_images(b, x, pool, label)


@performs("pool-as-images")
def _as_images(b: Builder, x: Value, pool: PoolForm, label: str | None) -> Value:
    shape = closed_shape(b.source(0).required_dims)
    batch, channels, *dims = shape
    sizes = pool.outputs(tuple(dims))
    if len(shape) == _SIGNAL:
        row = b.reshape(x, (batch, channels, 1, dims[0]), "row")
        kind = TensorType(x.type.dtype, (batch, channels, 1, *sizes))
        y = b.op(pool.op, [row], kind, pool.over([_ALONE, *pool.axes]), "pooled")
        return b.reshape(y, (batch, channels, *sizes), label)
    depth, height, width = dims
    slices = b.reshape(x, (batch, channels * depth, height, width), "slices")
    kind = TensorType(x.type.dtype, (batch, channels * depth, *sizes[1:]))
    flat = b.op(pool.op, [slices], kind, pool.over(pool.axes[1:]), "flat")
    columns = b.reshape(flat, (batch, channels, depth, sizes[1] * sizes[2]), "columns")
    kind = TensorType(x.type.dtype, (batch, channels, sizes[0], sizes[1] * sizes[2]))
    y = b.op(pool.op, [columns], kind, pool.over([pool.axes[0], _ALONE]), "deep")
    return b.reshape(y, (batch, channels, *sizes), label)

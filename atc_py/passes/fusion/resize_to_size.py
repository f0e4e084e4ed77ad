"""Resize of rows and columns becomes the operator that takes their number instead of scales."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from atc_py.ir import AttrValue, DenseConst, Node
from atc_py.passes.fusion.matching import Match, MissError, RewritePass
from atc_py.system.structs import replace
from atc_py.tensor.resampling import MOST_PLACES, ResizedAxis, resize_modes

_IMAGE = 4
_FLAGS: tuple[dict[str, AttrValue], ...] = (
    {"align_corners": False, "half_pixel_centers": False},
    {"align_corners": False, "half_pixel_centers": True},
    {"align_corners": True, "half_pixel_centers": False},
)


class LinearToSizePass(RewritePass):
    """Resize(x, sizes; modes) = ResizeBilinearV2(x, size; flags) where the flags give the same places.

    CANN's pass sets half_pixel_centers for pytorch_half_pixel alone, so that half_pixel is computed
    as asymmetric (a real file of CANN 8.0 shows it). This one takes the flags that keep each place
    that a result is taken from, and none where none do.
    """

    mode: ClassVar[str] = "linear"
    op: ClassVar[str] = "ResizeBilinearV2"

    def rewrite(self, match: Match) -> None:
        node, op = match.anchor, self.op
        if node.attributes["mode"] != self.mode:
            raise MissError("mode must be {mode}", node, mode=self.mode)
        crops = node.attributes["coordinate_transformation_mode"] == "tf_crop_and_resize"
        match.require(not crops, "the whole image must be resized", node)
        x, y = node.present_inputs[0].type, node.output.type
        image = x.rank == _IMAGE and x.dims[:2] == y.dims[:2]
        match.require(image, "only rows and columns of images may change, found {x}", node, x=x)
        match.require(x.dtype.is_float, "floats must be resized, found {x}", node, x=x)
        open_axes = None in {*x.dims[2:], *y.dims[2:]}
        match.require(not open_axes, "rows and columns must be known, found {x}", node, x=x)
        axes = _axes(node)
        small = all(axis.size > 0 and 0 < axis.count <= MOST_PLACES for axis in axes)
        match.require(small, "rows and columns must be 1 to {most}", node, most=MOST_PLACES)
        flags = next((each for each in _FLAGS if _same_places(node, op, axes, each)), None)
        match.require(flags is not None, "{op} takes other places than Resize", node, op=op)
        sizes = np.array([axis.count for axis in axes], np.int32)
        size = match.graph.constant(f"{node.output.name}.size", DenseConst(sizes))
        match.become(node, op, [node.present_inputs[0], size], flags)


class NearestToSizePass(LinearToSizePass):
    """The same of Resize to the nearest element, which CANN's parser writes as that operator."""

    mode = "nearest"
    op = "ResizeNearestNeighborV2"


def _axes(node: Node) -> list[ResizedAxis]:
    """Rows and columns; the ratio is the stated one, or that of the dims."""
    x, y, scales = node.present_inputs[0].type.dims, node.output.type.dims, node.input(2)
    found = []
    for axis in (2, 3):
        by_dims = _by_dims(axis, x[axis] or 0, y[axis] or 0)
        if scales is not None and scales.const is not None:
            by_dims = replace(by_dims, scale=np.float32(scales.const.numpy()[axis]))
        found.append(by_dims)
    return found


def _by_dims(axis: int, size: int, count: int) -> ResizedAxis:
    return ResizedAxis(axis, size, count, np.float32(count) / np.float32(max(size, 1)))


def _same_places(
    node: Node, op: str, axes: Sequence[ResizedAxis], flags: Mapping[str, AttrValue]
) -> bool:
    modes = resize_modes(op, flags)
    return all(
        np.array_equal(
            _places(axis, node.attributes),
            _places(_by_dims(axis.axis, axis.size, axis.count), modes),
        )
        for axis in axes
    )


def _places(axis: ResizedAxis, modes: Mapping[str, Any]) -> np.ndarray:
    """The elements that results take, or the places between which they are interpolated."""
    mode = str(modes["coordinate_transformation_mode"])
    if axis.is_kept:
        return np.arange(axis.count)
    if modes["mode"] == "linear":
        return axis.coordinates(mode).clip(0, axis.size - 1)
    return axis.nearest(mode, str(modes["nearest_mode"]))

"""Object detection: pooling in regions of interest, and choosing boxes."""

import numpy as np

from atc_py.device.ort.body import Body
from atc_py.device.ort.node import NoFormError
from atc_py.device.ort.regions import align_regions, elsewhere, images_of, real_of
from atc_py.device.ort.registry import emulates
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_HALF_PIXEL = 2
"""The value of roi_end_mode that moves regions by half a pixel."""

_FIRST, _LAST = float(-(2**30)), float(2**30 - 256)
"""Bounds of pixels: the size of a region from one to the other is a float32 and fits in 32 bits."""

_NONE, _SOME, _NAN = 1.0, 2.0, 3.0
"""What a pixel is: minus infinity, another number, none at all."""


@emulates("ROIAlign")
def roi_align(body: Body) -> str:
    """Write the mean or largest of bilinear samples of each cell; 0 of a region that is not finite."""
    node = body.node
    images, corners = images_of(body, body.x(1))
    return align_regions(
        body,
        body.x(),
        corners,
        images,
        moved=node.integer("roi_end_mode") == _HALF_PIXEL,
        samples=node.integer("sample_num"),
        mode=node.text("pool_mode"),
        output_height=node.integer("pooled_height"),
        output_width=node.integer("pooled_width"),
        spatial_scale=node.number("spatial_scale"),
    )


@emulates("ROIPooling")
def roi_pooling(body: Body) -> str:
    """Write the largest element of each cell, 0 of an empty one; NaN where there is one.

    The runtime's pooling passes over NaN and minus infinity, so that a second one says what kinds
    of pixels there are.
    """
    if real_of(body) is DType.FLOAT64:
        raise NoFormError(Text("MaxRoiPool computes float32, found float64"))
    x, rois = body.x(), _pixels(body)
    least = float(np.finfo(np.float32).min)
    nothing = body.add("IsNaN", x)
    lowest = body.add("Equal", x, body.const(-np.inf))
    odd = body.add("Or", nothing, lowest)
    clean = body.add("Where", odd, body.const(least), x)
    kinds = body.add("Where", lowest, body.const(_NONE), body.const(_SOME))
    kinds = body.add("Where", nothing, body.const(_NAN), kinds)
    largest, kind = _largest(body, clean, rois), _largest(body, kinds, rois)
    absent = body.add("Equal", kind, body.const(_NONE))
    y = body.add("Where", absent, body.const(-np.inf), largest)
    return body.add("Where", body.add("Equal", kind, body.const(_NAN)), body.const(np.nan), y)


def _pixels(body: Body) -> str:
    """Regions with corners scaled and rounded to pixels, half away from 0."""
    node, rois = body.node, body.x(1)
    across, down = (node.number(f"spatial_scale_{side}") for side in ("w", "h"))
    image, corners = body.several("Split", 2, rois, body.ints(1, 4), axis=1)
    scaled = body.add("Mul", corners, body.const([[across, down, across, down]]))
    scaled = elsewhere(body, scaled, DType.FLOAT32, infinite=True)
    scaled = body.add("Clip", scaled, body.const(_FIRST), body.const(_LAST))
    size = body.add("Floor", body.add("Add", body.add("Abs", scaled), body.const(0.5)))
    return body.add("Concat", image, body.add("Mul", size, body.add("Sign", scaled)), axis=1)


def _largest(body: Body, x: str, rois: str) -> str:
    node = body.node
    size = [node.integer("pooled_h"), node.integer("pooled_w")]
    return body.add("MaxRoiPool", x, rois, pooled_shape=size, spatial_scale=1.0)


@emulates("NonMaxSuppressionV7")
def non_max_suppression(body: Body) -> str:
    """Write image, class and box of the boxes that are kept, then rows of -1; NaN scores are last.

    More boxes than the result has rows make the run fail, as on the device.
    """
    node = body.node
    if real_of(body) is DType.FLOAT64:
        raise NoFormError(Text("NonMaxSuppression computes float32, found float64"))
    scores = body.x(1)
    scores = body.add("Where", body.add("IsNaN", scores), body.const(-np.inf), scores)
    limits = [_one(body, at, kind) for at, kind in enumerate(_LIMITS, start=2)]
    found = body.add(
        "NonMaxSuppression",
        body.x(),
        scores,
        *limits,
        center_point_box=node.integer("center_point_box"),
    )
    rows = node.outputs[0].dims[0]
    if rows is None:
        return body.cast(found, DType.INT32)
    count = body.add("Shape", found, end=1)
    number = body.add("Squeeze", count, body.ints(0))
    zero, one = body.const(0, DType.INT64), body.const(1, DType.INT64)
    places = body.add("Unsqueeze", body.add("Range", zero, number, one), body.ints(1))
    empty = body.const(np.full((rows, 3), -1), DType.INT64)
    return body.cast(body.add("ScatterND", empty, places, found), DType.INT32)


_LIMITS = (DType.INT64, DType.FLOAT32, DType.FLOAT32)
"""Dtypes of the most boxes, and the thresholds of overlap and score."""


def _one(body: Body, position: int, dtype: DType) -> str:
    """An operand of one element as [1], or an empty name."""
    if not body.node.has(position):
        return ""
    return body.cast(body.add("Reshape", body.own(position), body.ints(1)), dtype)

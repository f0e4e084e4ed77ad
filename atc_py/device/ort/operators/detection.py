"""Object detection: regions of interest in one map or several, boxes of one class or many."""

from collections.abc import Sequence

import numpy as np

from atc_py.device.ort.body import Body, emulates
from atc_py.device.ort.node import NoFormError
from atc_py.device.ort.regions import align_regions, elsewhere, images_of, largest_samples, real_of
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
    places = body.add("Unsqueeze", body.range(number), body.ints(1))
    empty = body.const(np.full((rows, 3), -1), DType.INT64)
    return body.cast(body.add("ScatterND", empty, places, found), DType.INT32)


_LIMITS = (DType.INT64, DType.FLOAT32, DType.FLOAT32)
"""Dtypes of the most boxes, and the thresholds of overlap and score."""


def _one(body: Body, position: int, dtype: DType) -> str:
    """An operand of one element as [1], or an empty name."""
    if not body.node.has(position):
        return ""
    return body.cast(body.add("Reshape", body.own(position), body.ints(1)), dtype)


# Several maps -----------------------------------------------------------------------------------


@emulates("RoiExtractor")
def roi_extractor(body: Body) -> str:
    """Write ROIAlign of each region on map `floor(log2(sqrt(w * h) / finest_scale + 1e-6))`."""
    node, dtype = body.node, real_of(body)
    images, corners = images_of(body, body.x())
    low, high = body.several("Split", 2, corners, axis=1, num_outputs=2)
    given = sizes = body.add("Sub", high, low)
    factor = node.number("roi_scale_factor")
    if factor > 0:
        shift = body.add("Mul", sizes, body.const(1 - np.float32(factor), dtype))
        low = body.add("Add", low, body.add("Div", shift, body.const(2, dtype)))
        sizes = body.add("Mul", sizes, body.const(factor, dtype))
        corners = body.add("Concat", low, body.add("Add", low, sizes), axis=1)
    scales = node.floats("spatial_scale")
    if len(scales) == 1:
        return _pooled(body, 1, corners, images, scales[0])
    levels = _levels(body, given, len(scales))
    return _by_level(body, levels, corners, images, scales)


def _levels(body: Body, sizes: str, count: int) -> str:
    """The map of each region, int64: how many powers of 2 its size reaches."""
    dtype = real_of(body)
    width, height = body.several("Split", 2, sizes, axis=1, num_outputs=2)
    side = body.add("Sqrt", body.add("Mul", width, height))
    share = body.add("Div", side, body.const(body.node.integer("finest_scale"), dtype))
    share = body.add("Add", share, body.const(1e-6, dtype))
    steps = body.const([2.0**level for level in range(1, count)], dtype)
    reached = body.cast(body.add("GreaterOrEqual", share, steps), DType.INT64)
    return body.add("ReduceSum", reached, body.ints(1), keepdims=0)


def _by_level(body: Body, levels: str, corners: str, images: str, scales: Sequence[float]) -> str:
    node, dtype = body.node, real_of(body)
    pooled = body.ints(node.integer("pooled_height"), node.integer("pooled_width"))
    regions = body.add("Shape", images)
    channels = body.add("Shape", body.x(1), start=1, end=2)
    shape = body.add("Concat", regions, channels, pooled, axis=0)
    y = body.add("Expand", body.const(0, dtype), shape)
    for level, scale in enumerate(scales):
        chosen = body.add("Equal", levels, body.const(level, DType.INT64))
        places = body.add("Transpose", body.add("NonZero", chosen), perm=(1, 0))
        row = body.add("Squeeze", places, body.ints(1))
        some, their = (body.add("Gather", each, row) for each in (corners, images))
        found = _pooled(body, level + 1, some, their, scale)
        y = body.add("ScatterND", y, places, found)
    return y


def _pooled(body: Body, position: int, corners: str, images: str, scale: float) -> str:
    """Cells of regions of one map; the largest of samples by way of cells of one sample."""
    node = body.node
    samples, largest = node.integer("sample_num"), node.text("pool_mode") == "max"
    pooled = node.integer("pooled_height"), node.integer("pooled_width")
    if largest and samples <= 0:
        corners = body.add("Mul", corners, body.const(scale, real_of(body)))
        return largest_samples(
            body, body.x(position), corners, images, pooled, moved=node.flag("aligned")
        )
    times = samples if largest else 1
    found = align_regions(
        body,
        body.x(position),
        corners,
        images,
        moved=node.flag("aligned"),
        samples=1 if largest else samples,
        mode="avg",
        output_height=pooled[0] * times,
        output_width=pooled[1] * times,
        spatial_scale=scale,
    )
    if times == 1:
        return found
    return body.add("MaxPool", found, kernel_shape=[times] * 2, strides=[times] * 2)


# Several classes --------------------------------------------------------------------------------


@emulates("BatchMultiClassNonMaxSuppression")
def batch_multi_class_nms(body: Body) -> Sequence[str]:
    """Write the best boxes over all classes of those that suppression leaves of each class.

    Boxes of each image and class are suppressed apart, as images of one class. A box that may not
    be kept has the score -infinity, which is below any threshold.
    """
    node, dtype = body.node, real_of(body)
    if dtype is DType.FLOAT64:
        raise NoFormError(Text("NonMaxSuppression computes float32, found float64"))
    images, count, classes = node.shape(1)
    boxes, framed = _framed(body)
    if node.shape(0)[1 if node.flag("transpose_box") else 2] != classes:
        boxes = body.add("Expand", boxes, body.ints(images, classes, count, 4))
    scores = body.add("Transpose", body.x(1), perm=(0, 2, 1))
    scores = _eligible(body, boxes, scores, framed)
    kept = _kept(body, boxes, scores)
    every = body.ints(images, classes * count)
    kept = body.add("Reshape", kept, every)
    scores = body.add("Where", kept, body.add("Reshape", scores, every), body.const(-np.inf))
    return _best(body, boxes, scores, kept)


def _framed(body: Body) -> tuple[str, str]:
    """Boxes [images, classes or 1, boxes, 4] cut to the window and in its frame.

    The second value is which images have a window with an area [images, 1, 1], where that matters.
    """
    node = body.node
    perm = (0, 1, 3, 2) if node.flag("transpose_box") else (0, 2, 1, 3)
    boxes = body.add("Transpose", body.x(), perm=perm)
    if not node.has(2):
        return boxes, ""
    window = body.add("Unsqueeze", body.x(2), body.ints(1, 2))
    low, high = body.several("Split", 2, window, axis=3, num_outputs=2)
    first, last = body.several("Split", 2, boxes, axis=3, num_outputs=2)
    first, last = body.add("Max", first, low), body.add("Min", last, high)
    if not node.flag("change_coordinate_frame"):
        return body.add("Concat", first, last, axis=3), ""
    sides = body.add("Sub", high, low)
    ends = [body.add("Div", body.add("Sub", each, low), sides) for each in (first, last)]
    return body.add("Concat", *ends, axis=3), _ordered(body, low, high)


def _ordered(body: Body, low: str, high: str) -> str:
    """Mask [...] of boxes [..., 2] that have an area."""
    larger = body.cast(body.add("Greater", high, low), DType.INT32)
    return body.cast(body.add("ReduceMin", larger, body.ints(-1), keepdims=0), DType.BOOL)


def _eligible(body: Body, boxes: str, scores: str, framed: str) -> str:
    """Scores [images, classes, boxes], -infinity of boxes that may not be kept."""
    node = body.node
    low, high = body.several("Split", 2, boxes, axis=3, num_outputs=2)
    fit = _ordered(body, low, high)
    if framed:
        fit = body.add("And", fit, framed)
    fit = body.add(
        "And", fit, body.add("Greater", scores, body.const(node.number("score_threshold")))
    )
    if node.has(3):
        count = body.add("Unsqueeze", body.own(3), body.ints(1, 2))
        numbers = body.const(np.arange(node.shape(1)[1]), DType.INT32)
        fit = body.add("And", fit, body.add("Less", numbers, count))
    return body.add("Where", fit, scores, body.const(-np.inf))


def _kept(body: Body, boxes: str, scores: str) -> str:
    """Mask of the boxes that suppression leaves [images * classes, 1, boxes]."""
    node = body.node
    images, count, classes = node.shape(1)
    apart = body.add("Reshape", scores, body.ints(images * classes, 1, count))
    most = body.const([node.integer("max_size_per_class")], DType.INT64)
    overlap = body.const([node.number("iou_threshold")])
    found = body.add(
        "NonMaxSuppression",
        body.add("Reshape", boxes, body.ints(images * classes, count, 4)),
        apart,
        most,
        overlap,
        body.const([node.number("score_threshold")]),
    )
    none = body.const(np.zeros((images * classes, 1, count)), DType.INT32)
    ones = body.add("Expand", body.const([1], DType.INT32), body.add("Shape", found, end=1))
    return body.cast(body.add("ScatterND", none, found, ones), DType.BOOL)


def _best(body: Body, boxes: str, scores: str, kept: str) -> Sequence[str]:
    """Boxes, scores and classes of the best, and their count; 0 where there is none."""
    node = body.node
    images, count, classes = node.shape(1)
    most = node.integer("max_total_size")
    taken = min(most, classes * count)
    values, places = body.several("TopK", 2, scores, body.ints(taken), axis=1)
    total = body.add("ReduceSum", body.cast(kept, DType.INT32), body.ints(1))
    total = body.add("Min", total, body.const(most, DType.INT32))
    there = body.add("Less", body.const(np.arange(taken), DType.INT32), total)
    flat = body.add("Reshape", boxes, body.ints(images, classes * count, 4))
    found = body.add("GatherND", flat, body.add("Unsqueeze", places, body.ints(2)), batch_dims=1)
    kinds = body.add("Div", places, body.const(max(count, 1), DType.INT64))
    zero = body.const(0)
    results = [
        body.add("Where", body.add("Unsqueeze", there, body.ints(2)), found, zero),
        body.add("Where", there, values, zero),
        body.add("Where", there, body.cast(kinds, DType.FLOAT32), zero),
    ]
    if taken < most:
        results = [
            body.add("Pad", each, body.ints(0, 0, *rest, 0, most - taken, *rest))
            for each, rest in zip(results, ([0], [], []), strict=True)
        ]
    return [*results, body.add("Squeeze", total, body.ints(1))]

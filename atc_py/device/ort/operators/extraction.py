"""Detection that ONNX does not define: features from several maps, boxes of several classes."""

from collections.abc import Sequence

import numpy as np

from atc_py.device.ort.body import Body
from atc_py.device.ort.node import NoFormError
from atc_py.device.ort.region_maxima import largest_samples
from atc_py.device.ort.regions import align_regions, images_of, real_of
from atc_py.device.ort.registry import emulates
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

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
    fit = body.add("And", fit, body.add("Greater", scores, body.const(_threshold(body))))
    if node.has(3):
        count = body.add("Unsqueeze", body.own(3), body.ints(1, 2))
        numbers = body.const(np.arange(node.shape(1)[1]), DType.INT32)
        fit = body.add("And", fit, body.add("Less", numbers, count))
    return body.add("Where", fit, scores, body.const(-np.inf))


def _threshold(body: Body) -> float:
    return body.node.number("score_threshold")


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
        body.const([_threshold(body)]),
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

"""Object detection: regions of interest in one map or several, boxes of one class or many."""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, Rounding, kernel
from atc_py.device.sim.primitives.regions import (
    Boxes,
    Cells,
    Regions,
    best_first,
    keep_best,
    pool_regions,
)
from atc_py.device.sim.typing_rules import one_dtype, require_float, require_rank, require_shapes
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

Array = NDArray[Any]


_ROI_COLUMNS = 5
"""Image, x1, y1, x2, y2."""

_AS_GIVEN, _HALF_PIXEL = 0, 2
"""Values of roi_end_mode that ONNX has a counterpart of."""


def _region_types(node: NodeView, pooled: tuple[int, int]) -> tuple[TensorFacts, ...]:
    x, rois = node.x, node.required(1)
    require_float(x)
    one_dtype((x, rois))
    require_rank(x, 4, "x")
    require_rank(rois, 2, "rois")
    if rois.shape[1] != _ROI_COLUMNS:
        text = Text("rois must have {columns} columns, found {found}")
        raise NodeError(text.with_values(columns=_ROI_COLUMNS, found=rois))
    if node.input(2) is not None:
        raise NodeError(Text("this device does not read the number of rois; all rows count"))
    if min(pooled) < 1:
        text = Text("regions must be pooled to at least 1 x 1, found {found}")
        raise NodeError(text.with_values(found=list(pooled)))
    return (TensorFacts(x.dtype, (rois.shape[0], x.shape[1], *pooled)),)


def _align_types(node: NodeView) -> tuple[TensorFacts, ...]:
    if node.integer("roi_end_mode") not in {_AS_GIVEN, _HALF_PIXEL}:
        found = node.integer("roi_end_mode")
        text = Text("roi_end_mode must be {one} or {other}, found {found}")
        raise NodeError(text.with_values(one=_AS_GIVEN, other=_HALF_PIXEL, found=found))
    if node.text("pool_mode") not in {"avg", "max"}:
        text = Text("pool_mode must be avg or max, found {found}")
        raise NodeError(text.with_values(found=repr(node.text("pool_mode"))))
    return _region_types(node, _pooled_size(node))


def _pooled_size(node: NodeView) -> tuple[int, int]:
    return node.integer("pooled_height"), node.integer("pooled_width")


@kernel("ROIAlign", _align_types)
def roi_align(call: Call) -> None:
    """Apply `pool_regions` to regions scaled to the map.

    As given they are at least one pixel high and wide; moved by half a pixel, of any size.
    """
    node, rois = call.node, call.input(1)
    real = rois.dtype.type
    scale, half_pixel = (
        real(node.number("spatial_scale")),
        node.integer("roi_end_mode") != _AS_GIVEN,
    )
    starts, ends = (rois[:, 2:0:-1] * scale, rois[:, 4:2:-1] * scale)
    if half_pixel:
        starts, ends = starts - real(0.5), ends - real(0.5)
    sizes = ends - starts if half_pixel else np.maximum(ends - starts, real(1))
    mode = "avg" if node.text("pool_mode") == "avg" else "max_pixel"
    regions = Regions(rois[:, 0].astype(np.int64), starts, sizes)
    cells = Cells(_pooled_size(node), node.integer("sample_num"), mode)
    pool_regions(call.x, regions, cells, call.out, call)


def _roi_pooling_types(node: NodeView) -> tuple[TensorFacts, ...]:
    return _region_types(node, (node.integer("pooled_h"), node.integer("pooled_w")))


@kernel("ROIPooling", _roi_pooling_types, rounding=Rounding.ON_GRID)
def roi_pooling(call: Call) -> None:
    """Find the largest element of each cell, 0 of an empty one.

    Corners are rounded to pixels, half away from 0, and both belong to the region; cell i of n
    has the rows floor(i * height / n) to ceil((i + 1) * height / n), cut off at the map's edge.
    """
    rois, node = call.input(1), call.node
    images = rois[:, 0].astype(np.int64)
    if np.any((images < 0) | (images >= len(call.x))):
        text = Text("regions must be in images 0 to {last}, found {found}")
        raise ValueError(text.with_values(last=len(call.x) - 1, found=images))
    rows = _cell_bounds(
        rois[:, 2::2], node.number("spatial_scale_h"), call.out.shape[2], call.x.shape[2]
    )
    columns = _cell_bounds(
        rois[:, 1::2], node.number("spatial_scale_w"), call.out.shape[3], call.x.shape[3]
    )
    pixels = np.ascontiguousarray(call.x.transpose(0, 2, 3, 1))

    def part(start: int, stop: int) -> None:
        for region in range(start, stop):
            lines = _largest(pixels[images[region]], rows[region], columns[region])
            call.out[region] = lines.transpose(2, 0, 1)

    call.workers.split(len(rois), part)


def _cell_bounds(ends: Array, scale: float, cells: int, length: int) -> NDArray[np.int64]:
    """First pixel and end of each cell [regions, cells, 2], from region ends."""
    real = ends.dtype.type
    scaled = ends * real(scale)
    limit = float(np.iinfo(np.int32).max)
    pixels = np.clip(np.trunc(scaled + np.copysign(real(0.5), scaled)), -limit, limit)
    first, last = (pixels[:, None, side] for side in range(2))
    size = np.maximum(last - first + 1, real(1)) / real(cells)
    cell = np.arange(cells, dtype=ends.dtype)
    bounds = np.stack([np.floor(cell * size) + first, np.ceil((cell + 1) * size) + first], axis=-1)
    held: NDArray[np.int64] = np.clip(bounds, 0, length).astype(np.int64)
    return held


def _largest(pixels: Array, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Array:
    """The largest of each cell's pixels [rows, columns, channels], 0 of an empty cell."""
    found = np.zeros((len(rows), len(columns), pixels.shape[2]), pixels.dtype)
    left, right = columns.min(), columns.max()
    for at, (top, bottom) in enumerate(rows):
        if bottom <= top or right <= left:
            continue
        line = pixels[top:bottom, left:right].max(axis=0)
        for cell, (first, end) in enumerate(columns - left):
            if end > first:
                found[at, cell] = line[first:end].max(axis=0)
    return found


def _suppression_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """Rows of three; as many as the model declares, because the data alone say how many."""
    boxes, scores = node.x, node.required(1)
    require_float(boxes)
    require_rank(boxes, 3, "boxes")
    require_rank(scores, 3, "scores")
    one_dtype((boxes, scores))
    if boxes.shape[2] != 4 or (boxes.shape[0], boxes.shape[1]) != scores.shape[::2]:  # noqa: PLR2004  (corners)
        text = Text("boxes {boxes} and scores {scores} do not match")
        raise NodeError(text.with_values(boxes=boxes, scores=scores))
    for position in (2, 3, 4):
        facts = node.input(position)
        if facts is not None and facts.elements != 1:
            text = Text("input {position} must be one number, found {found}")
            raise NodeError(text.with_values(position=position, found=facts))
    if node.integer("center_point_box") not in {0, 1}:
        text = Text("center_point_box must be 0 or 1, found {found}")
        raise NodeError(text.with_values(found=node.integer("center_point_box")))
    declared = node.outputs[0]
    if declared.rank != 2 or declared.dims[1] not in {3, None}:  # noqa: PLR2004  (image, class, box)
        raise NodeError(Text("the result must have rows of 3, found {found}", found=declared))
    return (TensorFacts(DType.INT32, (declared.dims[0], 3)),)


def _all_chosen(call: Call) -> tuple[Array, ...]:
    _suppression_types(call.node)
    return (np.array(_chosen(call), np.int32).reshape(-1, 3),)


@kernel("NonMaxSuppressionV7", _suppression_types, results=_all_chosen)
def non_max_suppression(call: Call) -> None:
    """Compute `_chosen`; rows after those that were found are -1."""
    found = _chosen(call)
    if len(found) > len(call.out):
        text = Text("{found} boxes were found, but the model declares room for {declared}")
        raise ValueError(text.with_values(found=len(found), declared=len(call.out)))
    call.out.fill(-1)
    if found:
        call.out[: len(found)] = found


def _chosen(call: Call) -> list[tuple[int, int, int]]:
    """Image, class and box by `keep_best` for each image and class."""
    boxes, scores = call.x, call.input(1)
    most, threshold, least = int(_number(call, 2) or 0), _number(call, 3) or 0.0, _number(call, 4)
    if not 0 <= threshold <= 1:
        raise ValueError(Text("iou_threshold must be in [0, 1], found {found}", found=threshold))
    found: list[tuple[int, int, int]] = []
    for image in range(len(boxes)):
        corners = _corners(boxes[image], centered=call.node.integer("center_point_box") == 1)
        for kind, each in enumerate(scores[image]):
            kept = keep_best(corners, best_first(each, least), threshold, most)
            found += [(image, kind, box) for box in kept]
    return found


def _number(call: Call, position: int) -> Any:
    """The one element of an input in its own type, or None when it is absent."""
    array = call.optional(position)
    return None if array is None else array.reshape(-1)[0]


def _corners(boxes: Array, *, centered: bool) -> Boxes:
    """Corners of boxes that are given by x, y, width and height, or by any two corners."""
    if centered:
        half = boxes[:, 3:1:-1] / boxes.dtype.type(2)
        middle = boxes[:, 1::-1]
        return Boxes.between(middle - half, middle + half)
    one, other = boxes[:, :2], boxes[:, 2:]
    return Boxes.between(np.minimum(one, other), np.maximum(one, other))


# Several maps -----------------------------------------------------------------------------------


def _extractor_types(node: NodeView) -> tuple[TensorFacts, ...]:
    rois, *maps = node.present
    require_float(rois)
    one_dtype(node.present)
    require_rank(rois, 2, "rois")
    if rois.shape[1] != 5:  # noqa: PLR2004  (image, x1, y1, x2, y2)
        raise NodeError(Text("rois must have 5 columns, found {found}", found=rois))
    for facts in maps:
        require_rank(facts, 4, Text("a map"))
    if len({facts.shape[:2] for facts in maps}) != 1:
        raise NodeError(Text("all maps must have the same number of images and channels"))
    if len(_scales(node)) != len(maps):
        text = Text("{n} maps need as many scales, found {found}")
        raise NodeError(text.with_values(n=len(maps), found=len(_scales(node))))
    if node.text("pool_mode") not in {"avg", "max"}:
        text = Text("pool_mode must be avg or max, found {found}")
        raise NodeError(text.with_values(found=repr(node.text("pool_mode"))))
    pooled = node.integer("pooled_height"), node.integer("pooled_width")
    if min(pooled) < 1 or node.integer("finest_scale") < 1:
        raise NodeError(Text("pooled sizes and finest_scale must be at least 1"))
    return (TensorFacts(rois.dtype, (rois.shape[0], maps[0].shape[1], *pooled)),)


def _scales(node: NodeView) -> tuple[float, ...]:
    return cast("tuple[float, ...]", node.attributes["spatial_scale"])


@kernel("RoiExtractor", _extractor_types)
def roi_extractor(call: Call) -> None:
    """Apply `pool_regions` on map `floor(log2(sqrt(w * h) / finest_scale + 1e-6))` per region.

    The map's number is held to those that there are; regions are then scaled by
    `roi_scale_factor` around their middle. `aligned` puts pixels in the middle of their squares;
    without it a region has at least one pixel. mmdetection's SingleRoIExtractor.
    """
    rois, *maps = call.present
    node, real = call.node, rois.dtype.type
    starts, sizes = rois[:, 2:0:-1], rois[:, 4:2:-1] - rois[:, 2:0:-1]
    levels = _levels(sizes, node.integer("finest_scale"), len(maps))
    factor = real(node.number("roi_scale_factor"))
    if factor > 0:
        starts = starts + (1 - factor) * sizes / 2
        sizes = sizes * factor
    images = rois[:, 0].astype(np.int64)
    pooled = node.integer("pooled_height"), node.integer("pooled_width")
    cells = Cells(pooled, node.integer("sample_num"), node.text("pool_mode"))
    for level, scale in enumerate(_scales(node)):
        chosen = np.flatnonzero(levels == level)
        on_map = starts[chosen] * real(scale), sizes[chosen] * real(scale)
        found = np.empty((len(chosen), *call.out.shape[1:]), call.out.dtype)
        regions = _placed(images[chosen], *on_map, aligned=node.flag("aligned"))
        pool_regions(maps[level], regions, cells, found, call)
        call.out[chosen] = found


def _levels(sizes: Array, finest: int, count: int) -> Array:
    side = np.sqrt(sizes[:, 0] * sizes[:, 1])
    level = np.floor(np.log2(side / sizes.dtype.type(finest) + sizes.dtype.type(1e-6)))
    held: Array = np.clip(np.where(np.isnan(level), 0, level), 0, count - 1)
    return held


def _placed(images: Array, starts: Array, sizes: Array, *, aligned: bool) -> Regions:
    real = starts.dtype.type
    if aligned:
        return Regions(images, starts - real(0.5), sizes)
    return Regions(images, starts, np.maximum(sizes, real(1)))


# Several classes --------------------------------------------------------------------------------


def _classes_types(node: NodeView) -> tuple[TensorFacts, ...]:
    boxes, scores = node.x, node.required(1)
    require_float(boxes)
    require_rank(boxes, 4, "boxes")
    require_rank(scores, 3, "scores")
    images, count, classes = scores.shape
    turned = node.flag("transpose_box")
    each = boxes.shape[1] if turned else boxes.shape[2]
    wanted = (images, each, 4, count) if turned else (images, count, each, 4)
    if boxes.shape != wanted or each not in {1, classes}:
        text = Text("boxes {boxes} and scores {scores} do not match")
        raise NodeError(text.with_values(boxes=boxes, scores=scores))
    one_dtype(facts for facts in (boxes, scores, node.input(2)) if facts is not None)
    require_shapes(node, {2: (images, 4), 3: (images,)})
    node.require_integers(3)
    if node.flag("change_coordinate_frame") and node.input(2) is None:
        raise NodeError(Text("change_coordinate_frame needs a clip_window"))
    most = node.integer("max_total_size")
    if most < 0 or node.integer("max_size_per_class") < 0:
        raise NodeError(Text("sizes must be at least 0"))
    shapes = (images, most, 4), (images, most), (images, most)
    found = [TensorFacts(boxes.dtype, shape) for shape in shapes]
    return (*found, TensorFacts(DType.INT32, (images,)))


@kernel("BatchMultiClassNonMaxSuppression", _classes_types)
def batch_multi_class_nms(call: Call) -> None:
    """Apply `keep_best` to each class of each image, then take the best over all classes.

    Boxes are cut to the window first, and counted from its corner in its sizes where
    `change_coordinate_frame` says so; then they must have an area, and a score above the
    threshold. Rows after those that were found are 0.
    """
    boxes, node = call.x, call.node
    if node.flag("transpose_box"):
        boxes = boxes.transpose(0, 3, 1, 2)
    for output in call.outputs:
        output.fill(0)
    for image in range(len(boxes)):
        found, scores, classes = _best_of_image(call, image, boxes[image])
        order = np.argsort(-scores, kind="stable")[: node.integer("max_total_size")]
        for output, kept in zip(call.outputs, (found, scores, classes), strict=False):
            output[image, : len(order)] = kept[order]
        call.outputs[3][image] = len(order)


def _best_of_image(call: Call, image: int, boxes: Array) -> tuple[Array, Array, Array]:
    node, scores = call.node, call.input(1)[image]
    count = len(boxes)
    valid = call.optional(3)
    if valid is not None:
        count = min(max(int(valid[image]), 0), count)
    boxes = _framed(call, image, boxes[:count])
    scores = scores[: len(boxes)]
    limits = node.number("score_threshold"), node.number("iou_threshold")
    kept: list[tuple[Array, Array, Array]] = []
    for kind in range(scores.shape[1]):
        each = boxes[:, kind if boxes.shape[1] > 1 else 0]
        low, high = each[:, :2], each[:, 2:]
        order = best_first(scores[:, kind], limits[0])
        order = order[np.all(high[order] > low[order], axis=1)]
        corners = Boxes.between(low, high)
        chosen = keep_best(corners, order, limits[1], node.integer("max_size_per_class"))
        kinds = np.full(len(chosen), kind, scores.dtype)
        kept.append((each[chosen], scores[chosen, kind], kinds))
    found, values, classes = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    return found, values, classes


def _framed(call: Call, image: int, boxes: Array) -> Array:
    """`boxes` [boxes, classes, 4] cut to the image's window, in its frame if asked."""
    windows = call.optional(2)
    if windows is None:
        return boxes
    low, high = windows[image, :2], windows[image, 2:]
    cut = np.concatenate(
        [np.maximum(boxes[..., :2], low), np.minimum(boxes[..., 2:], high)], axis=-1
    )
    if not call.node.flag("change_coordinate_frame"):
        return cut
    if not np.all(high > low):
        return cut[:0]
    framed: Array = (cut - np.tile(low, 2)) / np.tile(high - low, 2)
    return framed

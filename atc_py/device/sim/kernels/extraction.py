"""Detection that ONNX does not define: features from several maps, boxes of several classes."""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, kernel
from atc_py.device.sim.primitives.regions import Cells, Regions, pool_regions
from atc_py.device.sim.primitives.suppression import Boxes, best_first, keep_best
from atc_py.device.sim.typing_rules import one_dtype, require_float, require_rank, require_shapes
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

Array = NDArray[Any]


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

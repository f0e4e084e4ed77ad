"""Lowering of operators that ONNX does not define; their result types are worked out here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.ir import DenseConst, TensorType, Value
from atc_py.lowering.attributes import get_float, get_int, get_ints, get_string
from atc_py.lowering.registry import lowering
from atc_py.lowering.results import said, stated
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import broadcast_shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.ir import AttrValue
    from atc_py.lowering.builder import Builder
    from atc_py.tensor.shapes import Shape

__all__: list[str] = []


@lowering("AdaptiveMaxPool2D")
def lower_adaptive_max_pool(b: Builder) -> Sequence[Value]:
    """AdaptiveMaxPool2D -> AdaptiveMaxPool2d."""
    x = b.input(0)
    size = get_ints(b, "output_size", (), 2)
    if x.type.rank != 4 or min(size, default=0) < 1:  # noqa: PLR2004  (N, C, H, W)
        raise b.bad(f"pools images to two positive extents, found {list(size)}", "output_size")
    shape = (*x.type.shape[:2], *size)
    types = [TensorType(x.type.dtype, shape), TensorType(DType.INT32, shape)]
    outputs = [("y", stated(b, 0, types[0])), ("argmax", stated(b, 1, types[1]))]
    return b.ops("AdaptiveMaxPool2d", [x], outputs, {"output_size": size})


@lowering("Addcmul")
def lower_addcmul(b: Builder) -> Sequence[Value]:
    """Addcmul -> Addcmul."""
    inputs = [b.input(position) for position in range(4)]
    shape = _broadcast(b, *(value.type.shape for value in inputs))
    result = stated(b, 0, TensorType(inputs[0].type.dtype, shape))
    return [b.op("Addcmul", inputs, result)]


@lowering("BatchMatMul")
def lower_batch_mat_mul(b: Builder) -> Sequence[Value]:
    """BatchMatMul -> BatchMatMul, its attributes obeyed."""
    turned = [get_int(b, name, 0) != 0 for name in ("adj_x1", "adj_x2")]
    shapes = [b.source(position).shape for position in range(2)]
    if min(len(shape) for shape in shapes) < 2:  # noqa: PLR2004  (matrices)
        raise b.bad(f"needs matrices, found {[list(shape) for shape in shapes]}")
    left, right = (
        (*shape[:-2], *shape[:-3:-1]) if turn else shape
        for shape, turn in zip(shapes, turned, strict=True)
    )
    if left[-1] != right[-2]:
        raise b.bad(f"needs equal inner extents, found {left[-1]} and {right[-2]}")
    shape = (*_broadcast(b, left[:-2], right[:-2]), left[-2], right[-1])
    result = stated(b, 0, TensorType(b.source(0).dtype, shape))
    return [_product(b, (b.input(0), b.input(1)), result, (turned[0], turned[1]))]


@lowering("AffineGrid")
def lower_affine_grid(b: Builder) -> Sequence[Value]:
    """AffineGrid -> a constant grid times theta turned, as CANN's own pass does.

    The grid has the positions (x, y, 1) or (x, y, z, 1) of all pixels, x fastest; each row of
    theta gives one coordinate.
    """
    theta, sizes = b.input(0), _grid_extents(b)
    rank = len(sizes)
    if theta.type.rank != 3 or theta.type.shape[1:] != (rank, rank + 1):  # noqa: PLR2004
        raise b.bad(
            f"needs theta of N x {rank} x {rank + 1}, found {said(theta.type)}", "input theta"
        )
    batch, dtype = theta.type.shape[0], theta.type.dtype
    result = stated(b, 0, TensorType(dtype, (batch, *sizes, rank)))
    grid = b.const("grid", _grid(sizes, dtype, aligned=get_int(b, "align_corners", 0) != 0))
    flat = TensorType(dtype, (batch, grid.type.shape[1], rank))
    product = _product(b, (grid, theta), flat, (False, True), "positions")
    return [b.reshape(product, result.shape)]


@lowering("BatchMultiClassNMS")
def lower_batch_multi_class_nms(b: Builder) -> Sequence[Value]:
    """BatchMultiClassNMS -> BatchMultiClassNonMaxSuppression, its count cast as the list has it."""
    boxes, scores = b.input(0), b.input(1)
    flags = {n: get_int(b, n, 0) != 0 for n in ("change_coordinate_frame", "transpose_box")}
    if flags["change_coordinate_frame"] and b.optional_source(2) is None:
        raise b.bad("needs clip_window with change_coordinate_frame", "input clip_window")
    if scores.type.rank != 3:  # noqa: PLR2004  (image, box, class)
        raise b.bad(f"needs scores of rank 3, found {said(scores.type)}", "input scores")
    _check_boxes(b, boxes.type.shape, scores.type.shape, turned=flags["transpose_box"])
    images, most = scores.type.shape[0], get_int(b, "max_total_size", 0)
    attributes: dict[str, AttrValue] = {
        "score_threshold": get_float(b, "score_threshold", 0.0),
        "iou_threshold": get_float(b, "iou_threshold", 0.0),
        "max_size_per_class": get_int(b, "max_size_per_class", 0),
        "max_total_size": most,
        **flags,
    }
    if min(most, get_int(b, "max_size_per_class", 0)) < 0:
        raise b.bad("needs sizes of at least 0", "attribute max_total_size")
    dtype = boxes.type.dtype
    shapes: list[Shape] = [(images, most, 4), (images, most), (images, most)]
    names = ("nmsed_boxes", "nmsed_scores", "nmsed_classes")
    outputs = [
        (name, stated(b, at, TensorType(dtype, shape)))
        for at, (name, shape) in enumerate(zip(names, shapes, strict=True))
    ]
    outputs.append(("nmsed_num", TensorType(DType.INT32, (images,))))
    inputs = [boxes, scores, b.optional_input(2), b.optional_input(3)]
    *found, count = b.ops("BatchMultiClassNonMaxSuppression", inputs, outputs, attributes)
    listed = b.output_type(3).dtype if b.wants_output(3) else dtype
    stated(b, 3, TensorType(listed, (images,)))
    return [*found, b.cast(count, listed)]


@lowering("EmbeddingBag")
def lower_embedding_bag(b: Builder) -> Sequence[Value]:
    """EmbeddingBag -> EmbeddingBag; a matrix of indices has a bag in each row, a list offsets."""
    weight, indices = b.input(0), b.input(1)
    offsets = b.optional_source(2)
    mode = get_string(b, "mode", "mean")
    last = get_int(b, "include_last_offset", 0) != 0
    if indices.type.rank != (2 if offsets is None else 1):
        raise b.bad("needs a matrix of indices, or a list of them and offsets", "input indices")
    if b.optional_source(3) is not None and mode != "sum":
        raise b.bad(f"takes per_sample_weights in mode sum only, found mode {mode}", "mode")
    bags = indices.type.shape[0] if offsets is None else offsets.shape[0] - last
    if bags < 0 or weight.type.rank != 2:  # noqa: PLR2004  (a table)
        raise b.bad("needs a table and the last offset that include_last_offset speaks of")
    result = stated(b, 0, TensorType(weight.type.dtype, (bags, weight.type.shape[1])))
    inputs = [weight, indices, b.optional_input(2), b.optional_input(3)]
    attributes: dict[str, AttrValue] = {"mode": mode, "include_last_offset": last}
    return [b.op("EmbeddingBag", inputs, result, attributes)]


@lowering("RoiExtractor")
def lower_roi_extractor(b: Builder) -> Sequence[Value]:
    """RoiExtractor -> RoiExtractor, the regions in front of the maps."""
    *maps, rois = (b.input(position) for position in range(len(b.node.inputs)))
    scales = b.node.attributes.get("spatial_scale", (0.25, 0.125, 0.0625, 0.03125))
    if not isinstance(scales, tuple) or len(scales) != len(maps):
        raise b.bad(f"needs a spatial_scale for each of {len(maps)} maps", "spatial_scale")
    if not maps or rois.type.rank != 2 or rois.type.shape[1] != 5:  # noqa: PLR2004
        raise b.bad(f"needs maps, and rois of 5 columns, found {said(rois.type)}", "input rois")
    if len({value.type.shape[:2] for value in maps}) != 1:
        raise b.bad("needs maps of as many images and channels as each other", "input features")
    height, width = (get_int(b, f"pooled_{side}", 7) for side in ("height", "width"))
    attributes: dict[str, AttrValue] = {
        "finest_scale": get_int(b, "finest_scale", 56),
        "roi_scale_factor": get_float(b, "roi_scale_factor", 0.0),
        "spatial_scale": tuple(float(scale) for scale in scales),
        "pooled_height": height,
        "pooled_width": width,
        "sample_num": get_int(b, "sample_num", 0),
        "pool_mode": get_string(b, "pool_mode", "avg"),
        "aligned": get_int(b, "aligned", 1) != 0,
    }
    shape = (rois.type.shape[0], maps[0].type.shape[1], height, width)
    result = stated(b, 0, TensorType(rois.type.dtype, shape))
    return [b.op("RoiExtractor", [rois, *maps], result, attributes)]


# Parts ------------------------------------------------------------------------------------------


def _broadcast(b: Builder, *shapes: Shape) -> Shape:
    """The shape that `shapes` broadcast to."""
    try:
        return broadcast_shapes(*shapes)
    except ValueError as error:
        raise b.bad(f"needs shapes that broadcast: {error}") from None


def _product(
    b: Builder,
    operands: tuple[Value, Value],
    result: TensorType,
    turned: tuple[bool, bool],
    label: str | None = None,
) -> Value:
    """BatchMatMul of two operands, each turned or not."""
    attributes: dict[str, AttrValue] = {"adj_x1": turned[0], "adj_x2": turned[1]}
    return b.op("BatchMatMul", list(operands), result, attributes, label)


def _grid_extents(b: Builder) -> Shape:
    """(H, W) or (D, H, W) of an affine grid: constant, or as the file states the result."""
    sizes = b.optional_source(1)
    if sizes is None or sizes.const is None:
        return b.output_type().shape[1:-1]
    given = tuple(int(extent) for extent in sizes.const.numpy().reshape(-1))
    if len(given) not in {4, 5} or min(given) < 0:
        raise b.bad(f"needs four or five extents, found {list(given)}", "input output_size")
    if given[0] != b.source(0).shape[0]:
        raise b.bad(f"needs a theta for each of {given[0]} images", "input output_size")
    return given[2:]


def _grid(sizes: Shape, dtype: DType, *, aligned: bool) -> DenseConst:
    """Positions of pixels [1, pixels, rank + 1] in [-1, 1]; the last coordinate is 1."""
    import numpy as np

    axes = []
    for extent in reversed(sizes):
        steps = (extent - 1) if aligned else extent
        first = 0 if steps == 0 else -(extent - 1) / steps
        axes.append(first + np.arange(extent) * (2 / max(steps, 1)))
    places = np.meshgrid(*reversed(axes), indexing="ij")
    columns = [place.reshape(-1) for place in reversed(places)]
    grid = np.stack([*columns, np.ones_like(columns[0])], axis=-1)
    return DenseConst(grid[None].astype(dtype.numpy))


def _check_boxes(b: Builder, boxes: Shape, scores: Shape, *, turned: bool) -> None:
    """Refuse boxes that scores do not go with."""
    images, count, classes = scores
    allowed: list[Shape] = [
        (images, each, 4, count) if turned else (images, count, each, 4) for each in (1, classes)
    ]
    if boxes not in allowed:
        raise b.bad(f"needs boxes of {list(allowed[1])}, found {list(boxes)}", "input boxes")

"""Lowering of operators that ONNX does not define; `source.custom_results` has their types."""

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from atc_py.ir import AttrValue, DeferredConst, DenseConst, TensorType, Value
from atc_py.lowering.builder import Builder, lowering
from atc_py.onnx_graph.source import SourceTensor
from atc_py.onnx_graph.source.custom_results import (
    ROI_SCALES,
    ContradictionError,
    Given,
    custom_results,
    deformable_window,
)
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape, closed_shape, format_shape

_MOST_NUMBERS = 4096
"""Numbers that are read as dims or lengths of sequences; a longer list is data."""

_COUNT = 3
"""Position of the number of boxes among the results of BatchMultiClassNMS."""


@lowering("AdaptiveAvgPool2D")
@lowering("AdaptiveAvgPool2d")
def lower_adaptive_avg_pool(b: Builder) -> Sequence[Value]:
    """Lower AdaptiveAvgPool2D to two products, which add up windows, and 1 / their area.

    CANN's own pass makes BatchMatMul, BatchMatMul and Mul of it with the same constants: ones where
    a row of the image is in a row of windows, ones where a column is, and a factor for each window.
    A number that is not finite makes its whole row and column NaN, as 0 times it is.
    """
    x, (result,) = b.input(0), _results(b)
    height, width = closed_shape(x.type.dims[2:])
    rows, columns = b.integers("output_size", (), 2)
    left, right, factors = _pool_matrices((height, width), (rows, columns), result.dtype)
    plain = (False, False)
    added = TensorType(result.dtype, (*result.dims[:2], rows, width))
    sums = _product(b, (b.const("rows", left), x), added, plain, "rows.added")
    sums = _product(b, (sums, b.const("columns", right)), result, plain, "added")
    return [b.op("Mul", [sums, b.const("factors", factors)], result)]


@lowering("AdaptiveMaxPool2D")
@lowering("AdaptiveMaxPool2d")
def lower_adaptive_max_pool(b: Builder) -> Sequence[Value]:
    outputs = list(zip(("y", "argmax"), _results(b), strict=True))
    size = b.integers("output_size", (), 2)
    return b.ops("AdaptiveMaxPool2d", [b.input(0)], outputs, {"output_size": size})


@lowering("Addcmul")
@lowering("DynSeqOuter")
def lower_four_inputs(b: Builder) -> Sequence[Value]:
    (result,) = _results(b)
    return [b.op(b.node.op_type, [b.input(position) for position in range(4)], result)]


@lowering("BatchMatMul")
def lower_batch_mat_mul(b: Builder) -> Sequence[Value]:
    (result,) = _results(b)
    turned = b.flag("adj_x1"), b.flag("adj_x2")
    return [_product(b, (b.input(0), b.input(1)), result, turned)]


@lowering("AffineGrid")
def lower_affine_grid(b: Builder) -> Sequence[Value]:
    """Lower AffineGrid to a constant grid times theta turned, as CANN's own pass does.

    The grid has the positions (x, y, 1) or (x, y, z, 1) of all pixels, x fastest; each row of
    theta gives one coordinate.
    """
    theta, (result,) = b.input(0), _results(b)
    batch, *sizes, rank = result.shape
    dtype = theta.type.dtype
    aligned = b.flag("align_corners")
    grid = b.const("grid", _grid(tuple(sizes), dtype, aligned=aligned))
    flat = TensorType(dtype, (batch, grid.type.shape[1], rank))
    product = _product(b, (grid, theta), flat, (False, True), "positions")
    return [b.reshape(product, result.shape)]


@lowering("BatchMultiClassNMS")
def lower_batch_multi_class_nms(b: Builder) -> Sequence[Value]:
    """Lower BatchMultiClassNMS to BatchMultiClassNonMaxSuppression, its count cast."""
    *results, count_type = _results(b)
    attributes: dict[str, AttrValue] = {
        "score_threshold": b.number("score_threshold", 0.0),
        "iou_threshold": b.number("iou_threshold", 0.0),
        "max_size_per_class": b.integer("max_size_per_class", 0),
        "max_total_size": b.integer("max_total_size", 0),
        "change_coordinate_frame": b.flag("change_coordinate_frame"),
        "transpose_box": b.flag("transpose_box"),
    }
    names = ("nmsed_boxes", "nmsed_scores", "nmsed_classes")
    outputs = list(zip(names, results, strict=True))
    outputs.append(("nmsed_num", count_type.with_dtype(DType.INT32)))
    inputs = [b.input(0), b.input(1), b.optional_input(2), b.optional_input(3)]
    *found, count = b.ops("BatchMultiClassNonMaxSuppression", inputs, outputs, attributes)
    return [*found, b.cast(count, count_type.dtype)]


@lowering("DeformableConv2D")
def lower_deformable_conv(b: Builder) -> Sequence[Value]:
    """Lower DeformableConv2D to DeformableOffsets and Conv2D, as CANN's own pass does.

    DeformableOffsets samples each window of the image apart from the others; Conv2D steps from
    window to window. Tensors are NCHW; data_format tells the order of strides and dilations alone.
    """
    x, filter_, offsets = (b.input(position) for position in range(3))
    (result,), window = _results(b), deformable_window(b.node.attributes)
    bias = b.optional_input(3)
    height, width = closed_shape(filter_.type.dims[2:])
    attributes: dict[str, AttrValue] = {
        "strides": (1, 1, *window.strides),
        "pads": window.pads,
        "ksize": (height, width),
        "dilations": (1, 1, *window.dilations),
        "data_format": "NCHW",
        "deformable_groups": b.integer("deformable_groups", 1),
        "modulated": True,
    }
    apart = tuple(
        None if dim is None else dim * points
        for dim, points in zip(result.dims[2:], (height, width), strict=True)
    )
    sampled = TensorType(x.type.dtype, (*x.type.dims[:2], *apart))
    points = b.op("DeformableOffsets", [x, offsets], sampled, attributes, "sampled")
    steps: dict[str, AttrValue] = {
        "strides": (1, 1, height, width),
        "pads": (0, 0, 0, 0),
        "dilations": (1, 1, 1, 1),
        "groups": b.integer("groups", 1),
        "data_format": "NCHW",
    }
    return [b.op("Conv2D", b.present(points, filter_, bias), result, steps)]


@lowering("MovingSumWithSigmoid")
def lower_moving_sum(b: Builder) -> Sequence[Value]:
    """Lower MovingSumWithSigmoid to MovingSumWithSigmoid, which has no dec_data and reads none."""
    (result,) = _results(b)
    inputs = [b.input(position) for position in range(3)]
    return [b.op("MovingSumWithSigmoid", inputs, result, {"ksize": b.integer("ksize", 0)})]


@lowering("EmbeddingBag")
def lower_embedding_bag(b: Builder) -> Sequence[Value]:
    """Lower EmbeddingBag; a matrix of indices has a bag in each row, a list offsets.

    Both are counted in int32, which the kernels of all SoCs have that have the operator.
    """
    (result,) = _results(b)
    counts = [b.input(1), b.optional_input(2)]
    narrow = [None if each is None else b.cast(each, DType.INT32) for each in counts]
    inputs = [b.input(0), *narrow, b.optional_input(3)]
    attributes: dict[str, AttrValue] = {
        "mode": b.string("mode", "mean"),
        "include_last_offset": b.flag("include_last_offset"),
    }
    return [b.op("EmbeddingBag", inputs, result, attributes)]


@lowering("RoiExtractor")
def lower_roi_extractor(b: Builder) -> Sequence[Value]:
    """Lower RoiExtractor to RoiExtractor, the regions in front of the maps."""
    (result,) = _results(b)
    *maps, rois = (b.input(position) for position in range(len(b.node.inputs)))
    scales = cast("tuple[float, ...]", b.node.attributes.get("spatial_scale", ROI_SCALES))
    attributes: dict[str, AttrValue] = {
        "finest_scale": b.integer("finest_scale", 56),
        "roi_scale_factor": b.number("roi_scale_factor", 0.0),
        "spatial_scale": tuple(float(scale) for scale in scales),
        "pooled_height": b.integer("pooled_height", 7),
        "pooled_width": b.integer("pooled_width", 7),
        "sample_num": b.integer("sample_num", 0),
        "pool_mode": b.string("pool_mode", "avg"),
        "aligned": b.integer("aligned", 1) != 0,
    }
    return [b.op("RoiExtractor", [rois, *maps], result, attributes)]


# Parts ------------------------------------------------------------------------------------------


def _results(b: Builder) -> list[TensorType]:
    """The types of the node's results, held to what the file states of them.

    An output may have a dtype that the file alone tells: the count of BatchMultiClassNMS.
    """
    inputs = [None if source is None else _given(source) for source in b.node.inputs]
    try:
        results = custom_results(b.node.op_type, inputs, b.node.attributes)
    except ContradictionError as error:
        raise b.bad(error.reason, error.field) from None
    found = [TensorType(dtype, dims) for dtype, dims in results]
    if b.node.op_type == "BatchMultiClassNMS" and b.wants_output(_COUNT):
        found[_COUNT] = found[_COUNT].with_dtype(b.output_type(_COUNT).dtype)
    return [b.stated_type(position, type_) for position, type_ in enumerate(found)]


def _given(source: SourceTensor) -> Given:
    short = source.const is not None and source.required_dtype.is_integer and source.rank == 1
    numbers = source.const.numpy() if short and source.const is not None else None
    listed = None if numbers is None or numbers.size > _MOST_NUMBERS else tuple(map(int, numbers))
    return Given(source.required_dtype, source.required_dims, listed)


def _product(
    b: Builder,
    operands: tuple[Value, Value],
    result: TensorType,
    turned: tuple[bool, bool],
    label: str | None = None,
) -> Value:
    attributes: dict[str, AttrValue] = {"adj_x1": turned[0], "adj_x2": turned[1]}
    return b.op("BatchMatMul", list(operands), result, attributes, label)


def _pool_matrices(
    image: tuple[int, int], size: tuple[int, int], dtype: DType
) -> tuple[DeferredConst, ...]:
    """Ones where a row of windows has a row of the image, likewise for columns, and 1 / their areas.

    Window i of n on an axis begins at floor(i * length / n) and ends before
    ceil((i + 1) * length / n). Matrices are worked out when they are written.
    """

    def const(shape: Shape, compute: Callable[[], npt.NDArray[np.generic]]) -> DeferredConst:
        label = f"windows of {format_shape(image)} for {format_shape(size)}"
        whole = (1, 1, *shape)
        return DeferredConst(dtype, whole, [], lambda: compute().reshape(whole), label)

    def bounds(side: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        length, places = image[side], np.arange(size[side], dtype=np.int64)
        return places * length // size[side], -(-(places + 1) * length // size[side])

    def ones(side: int) -> npt.NDArray[np.generic]:
        starts, ends = bounds(side)
        places = np.arange(image[side])
        inside = (places >= starts[:, None]) & (places < ends[:, None])
        return inside.astype(dtype.numpy)

    def shares() -> npt.NDArray[np.generic]:
        down, across = (np.subtract(*bounds(side)[::-1]) for side in (0, 1))
        areas: npt.NDArray[np.generic] = (1 / np.outer(down, across)).astype(dtype.numpy)
        return areas

    return (
        const((size[0], image[0]), lambda: ones(0)),
        const((image[1], size[1]), lambda: ones(1).T),
        const(size, shares),
    )


def _grid(sizes: Shape, dtype: DType, *, aligned: bool) -> DenseConst:
    """Positions of pixels [1, pixels, rank + 1] in [-1, 1]; the last coordinate is 1."""
    axes = []
    for dim in reversed(sizes):
        steps = (dim - 1) if aligned else dim
        first = 0 if steps == 0 else -(dim - 1) / steps
        axes.append(first + np.arange(dim) * (2 / max(steps, 1)))
    places = np.meshgrid(*reversed(axes), indexing="ij")
    columns = [place.reshape(-1) for place in reversed(places)]
    grid = np.stack([*columns, np.ones_like(columns[0])], axis=-1)
    return DenseConst(grid[None].astype(dtype.numpy))

"""Lowering of object detection: regions of interest, suppression of boxes."""

from collections.abc import Sequence

import numpy as np

from atc_py.ir import AttrValue, DenseConst, TensorType, Value
from atc_py.lowering.builder import Builder, lowering
from atc_py.spec.rewrites import performs
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import OpenShapeError, format_shape
from atc_py.text import Text

_LARGEST_EXACT = 2048
"""Up to here float16 holds every integer: images are numbers among the coordinates of rois."""

_AS_GIVEN, _HALF_PIXEL = 0, 2
"""Values of roi_end_mode: regions as given, and moved by half a pixel."""


@lowering("RoiAlign", since=16)
def lower_roi_align_by_coordinates(b: Builder) -> Sequence[Value]:
    """Lower RoiAlign of opset 16, whose regions move by half a pixel unless it says otherwise.

    CANN's parser writes roi_end_mode 2 for half_pixel, and 0 for output_half_pixel.
    """
    mode = b.string("coordinate_transformation_mode", "half_pixel")
    return _roi_align(b, _HALF_PIXEL if mode == "half_pixel" else _AS_GIVEN)


@lowering("RoiAlign")
@performs("narrow-indices")
def lower_roi_align(b: Builder) -> Sequence[Value]:
    """Lower RoiAlign to ROIAlign on rois of five columns, the image in front of the corners."""
    return _roi_align(b, _AS_GIVEN)


def _roi_align(b: Builder, end_mode: int) -> Sequence[Value]:
    _check_rois(b, 4)
    regions, images = b.source(1).required_dims[:1], b.source(2).required_dims
    if images != regions and None not in {*regions, *images}:
        raise b.bad(Text("needs one of batch_indices for each of rois"), "input batch_indices")
    attributes: dict[str, AttrValue] = {
        "spatial_scale": b.number("spatial_scale", 1.0),
        "pooled_height": b.integer("output_height", 1),
        "pooled_width": b.integer("output_width", 1),
        "sample_num": b.integer("sampling_ratio", 0),
        "roi_end_mode": end_mode,
        "pool_mode": b.string("mode", "avg"),
    }
    return [b.op("ROIAlign", [b.input(0), _five_columns(b)], b.output_type(), attributes)]


@lowering("MaxRoiPool")
def lower_max_roi_pool(b: Builder) -> Sequence[Value]:
    _check_rois(b, 5)
    height, width = b.integers("pooled_shape", (1, 1), 2)
    scale = b.number("spatial_scale", 1.0)
    attributes: dict[str, AttrValue] = {
        "pooled_h": height,
        "pooled_w": width,
        "spatial_scale_h": scale,
        "spatial_scale_w": scale,
    }
    return [b.op("ROIPooling", [b.input(0), b.input(1)], b.output_type(), attributes)]


@lowering("NonMaxSuppression")
def lower_non_max_suppression(b: Builder) -> Sequence[Value]:
    """Lower NonMaxSuppression to NonMaxSuppressionV7 and a Cast to int64.

    The result has as many rows as boxes are left, which the data alone say.
    """
    result = b.output_type()
    more = (b.optional_input(position) for position in (3, 4))
    inputs = b.present(b.input(0), b.input(1), _most_boxes(b), *more)
    attributes: dict[str, AttrValue] = {
        "center_point_box": b.integer("center_point_box", 0),
        "max_boxes_size": result.dims[0] or 0,
    }
    chosen = TensorType(DType.INT32, result.dims)
    found = b.op("NonMaxSuppressionV7", inputs, chosen, attributes, "selected")
    return [b.op("Cast", [found], result, {"dst_type": result.dtype})]


def _most_boxes(b: Builder) -> Value | None:
    """The bound on boxes of a class, as int32 if constant; larger ones mean no less."""
    source = b.optional_source(2)
    if source is None or source.const is None:
        return b.optional_input(2)
    limits = np.iinfo(np.int32)
    bound = np.clip(source.const.numpy().astype(np.int64), limits.min, limits.max)
    return b.const("max_output_size", DenseConst(bound.astype(np.int32)))


def _five_columns(b: Builder) -> Value:
    """Rois with the image that each is in as their first column."""
    rois = b.input(1)
    count, dtype = rois.type.dims[0], rois.type.dtype
    batch = b.source(0).required_dims[0]
    if batch is None:
        text = Text("the number of images in {shape} is open")
        raise OpenShapeError(text.with_values(shape=format_shape(b.source(0).required_dims)))
    if batch > _LARGEST_EXACT:
        text = Text("images are counted in float16, which is exact up to {most}")
        raise b.unsupported(
            text.with_values(most=_LARGEST_EXACT), "input X", Text("split the batch")
        )
    images = b.cast(b.cast(b.input(2), DType.INT32), dtype)
    column = b.op("Unsqueeze", [images], TensorType(dtype, (count, 1)), {"axes": (1,)}, "column")
    attributes: dict[str, AttrValue] = {"concat_dim": 1, "N": 2}
    return b.op("ConcatD", [column, rois], TensorType(dtype, (count, 5)), attributes, "rois")


def _check_rois(b: Builder, columns: int) -> None:
    x, rois = b.source(0), b.source(1)
    if x.rank != 4:  # noqa: PLR2004  (N, C, H, W)
        text = Text("needs X of rank 4, found {found}")
        raise b.bad(text.with_values(found=format_shape(x.required_dims)), "input X")
    if rois.rank != 2 or rois.required_dims[1] not in {None, columns}:  # noqa: PLR2004  (a table)
        text = Text("needs rois of {columns} columns, found {found}")
        found = format_shape(rois.required_dims)
        raise b.bad(text.with_values(columns=columns, found=found), "input rois")

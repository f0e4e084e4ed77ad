"""Regions of interest as operands of ONNX's operators: the image of each, and its corners."""

from typing import Any

from atc_py.device.ort.body import Body
from atc_py.tensor.dtypes import DType

_FAR = -1e6
"""A coordinate that is on no map."""


def real_of(body: Body) -> DType:
    """The dtype in which coordinates of the first input are worked out."""
    return DType.FLOAT64 if body.node.dtype() is DType.FLOAT64 else DType.FLOAT32


def images_of(body: Body, rois: str) -> tuple[str, str]:
    """The images [regions] of `rois` [regions, 5], int64, and their corners [regions, 4]."""
    image, corners = body.several("Split", 2, rois, body.ints(1, 4), axis=1)
    image = body.cast(body.add("Squeeze", image, body.ints(1)), DType.INT64)
    return image, corners


def elsewhere(body: Body, corners: str, dtype: DType, *, infinite: bool = False) -> str:
    """Corners [regions, 4], of which those that are not all numbers are far from any map.

    Infinities are numbers if `infinite`.
    """
    one = corners if infinite else body.add("Sub", corners, corners)
    wrong = body.cast(body.add("IsNaN", one), DType.INT32)
    any_wrong = body.cast(body.add("ReduceMax", wrong, body.ints(1)), DType.BOOL)
    return body.add("Where", any_wrong, body.const(_FAR, dtype), corners)


def align_regions(
    body: Body,
    features: str,
    corners: str,
    images: str,
    *,
    moved: bool,
    samples: int,
    **attributes: Any,
) -> str:
    """Write bilinear samples of regions, pooled; regions that are not finite are 0.

    Args:
        body: where nodes are written.
        features: the maps [images, channels, height, width].
        corners: of the regions [regions, 4].
        images: of the regions [regions].
        moved: by half a pixel; else regions have at least one pixel.
        samples: along each side of a cell; 0 for one per pixel.
        **attributes: further ones of ONNX's RoiAlign.
    """
    dtype = real_of(body)
    if moved and samples <= 0:  # the runtime counts samples of a region that is inside out
        low, high = body.several("Split", 2, corners, axis=1, num_outputs=2)
        inverted = body.cast(body.add("Less", high, low), DType.INT32)
        wrong = body.cast(body.add("ReduceMax", inverted, body.ints(1)), DType.BOOL)
        corners = body.add("Where", wrong, body.const(_FAR, dtype), corners)
    return body.add(
        "RoiAlign",
        features,
        elsewhere(body, corners, dtype),
        images,
        coordinate_transformation_mode="half_pixel" if moved else "output_half_pixel",
        sampling_ratio=max(samples, 0),
        **attributes,
    )

"""Pictures into features: a gather of bytes, products of integers, steps in float16."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from atc_py.device.ort.body import Body, emulates
from atc_py.device.ort.node import CompiledNode, NoFormError
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_RAISED = 1 << 17
"""Added to quotients before they are cut off, so that none is negative."""


class _Plane(NamedTuple):
    """The place of a channel's bytes: `start` pictures' rows down, then steps by row and column."""

    start: tuple[int, int]  # rows of pictures before it, and bytes more
    row: int  # bytes of a row, as a multiple of the picture's width
    rows: int  # rows that share one of the plane
    column: int  # bytes from a column to the next
    columns: int  # columns that share one of the plane


def _packed(size: int, first: int = 0) -> tuple[_Plane, ...]:
    """Up to three channels of pixels that have `size` bytes side by side."""
    return tuple(_Plane((0, first + at), size, 1, size, 1) for at in range(min(size, 3)))


_LUMA = _Plane((0, 0), 1, 1, 1, 1)
_PLANES: Mapping[str, tuple[_Plane, ...]] = {
    "YUV420SP_U8": (_LUMA, *(_Plane((1, at), 1, 2, 2, 2) for at in (0, 1))),
    "XRGB8888_U8": _packed(4),
    "RGB888_U8": _packed(3),
    "YUV400_U8": _packed(1),
    "ARGB8888_U8": _packed(4),
    "YUYV_U8": (_Plane((0, 0), 2, 1, 2, 1), *(_Plane((0, at), 2, 1, 4, 2) for at in (1, 3))),
    "YUV422SP_U8": (_LUMA, *(_Plane((1, at), 1, 1, 2, 2) for at in (0, 1))),
    "AYUV444_U8": _packed(4),
}
_CHROMA = frozenset({"YUV420SP_U8", "YUV400_U8", "YUYV_U8", "YUV422SP_U8", "AYUV444_U8"})
"""Formats whose channels are Y, U, V."""

_FOUR_BYTES = frozenset({"XRGB8888_U8", "ARGB8888_U8", "AYUV444_U8"})


@emulates("Aipp")
def aipp(body: Body) -> str:
    """Write the gather of each channel's bytes, other colors, normalization and a frame.

    Colors: max(0, min(255, (M * (p - bias) + 128) / 256 rounded down + bias)) in int32. float16:
    h(h(p - mean - h(min)) * h(var_reci)), where h rounds; uint8 as it is. Settings of a run have no
    form.
    """
    node = body.node
    if node.text("aipp_mode") != "static":
        raise NoFormError(Text("its settings come with the data of a run"))
    name = node.text("input_format")
    if name not in _PLANES:
        raise NoFormError(Text("pictures in {name} are not supported here", name=name))
    height, width, value = _gathered(body, name)
    chroma = name in _CHROMA
    count = len(_PLANES[name])
    if node.flag("csc_switch"):
        count = _colors(node, chroma=chroma)
        value = _converted(body, value, count, chroma=chroma)
    value = body.add("Reshape", value, body.ints(0, count, height, width))
    return _framed(body, _normalized(body, value, count))


def _gathered(body: Body, name: str) -> tuple[int, int, str]:
    """Height and width of the part that is read, and its bytes as [N, channels, pixels]."""
    node = body.node
    area = (0, 0, node.integer("src_image_size_h"), node.integer("src_image_size_w"))
    if node.flag("crop"):
        fields = ("load_start_pos_h", "load_start_pos_w", "crop_size_h", "crop_size_w")
        top, left, height, width = map(node.integer, fields)
    else:
        top, left, height, width = area
    rows, columns = np.arange(top, top + height), np.arange(left, left + width)
    skip = int(name in _FOUR_BYTES and node.flag("ax_swap_switch"))
    planes = _swapped(node, _PLANES[name], chroma=name in _CHROMA)
    source = area[2] * area[3]
    down = [
        each.start[0] * source + each.start[1] + skip + rows // each.rows * each.row * area[3]
        for each in planes
    ]
    across = [columns // each.columns * each.column for each in planes]
    rows_of, columns_of = np.stack(down)[:, :, None], np.stack(across)[:, None]
    places = body.add("Add", body.const(rows_of, DType.INT64), body.const(columns_of, DType.INT64))
    places = body.add("Reshape", places, body.ints(len(planes), height * width))
    flat = body.add("Reshape", body.own(), body.ints(0, -1))
    return height, width, body.add("Gather", flat, places, axis=1)


def _swapped(node: CompiledNode, planes: tuple[_Plane, ...], *, chroma: bool) -> tuple[_Plane, ...]:
    if not node.flag("rbuv_swap_switch") or len(planes) == 1:
        return planes
    first, second, third = planes
    return (first, third, second) if chroma else (third, second, first)


def _colors(node: CompiledNode, *, chroma: bool) -> int:
    """Channels that a conversion of colors gives: 1 where only the first row gives something."""
    rest = [*node.integers("matrix")[3:], *(() if chroma else node.integers("output_bias")[1:])]
    return 3 if any(rest) else 1


def _converted(body: Body, value: str, rows: int, *, chroma: bool) -> str:
    """[N, 3 or 1, pixels] in other colors."""
    node = body.node
    value = body.cast(value, DType.INT32)
    if chroma:
        before = np.array(node.integers("input_bias")).reshape(3, 1)
        value = body.add("Sub", value, body.const(before, DType.INT32))
    matrix = np.array(node.integers("matrix")).reshape(3, 3)[:rows]
    value = body.add("MatMul", body.const(matrix, DType.INT32), value)
    raised = body.const(128 + (_RAISED << 8), DType.INT32)
    value = body.add("Div", body.add("Add", value, raised), body.const(1 << 8, DType.INT32))
    after = np.zeros(rows, np.int64) if chroma else np.array(node.integers("output_bias")[:rows])
    lowered = (after - _RAISED).reshape(rows, 1)
    value = body.add("Add", value, body.const(lowered, DType.INT32))
    return body.add("Clip", value, body.const(0, DType.INT32), body.const(255, DType.INT32))


def _normalized(body: Body, value: str, count: int) -> str:
    """The features of the part that is read: bytes, or float32 on the grid of float16."""
    node = body.node
    if node.outputs[0].dtype is DType.UINT8:
        return body.cast(value, DType.UINT8)
    value = body.wide(value)
    mean = _per_channel(node.integers("mean_chn"), count)
    value = body.add("Sub", value, body.const(mean))
    value = body.add("Sub", value, body.const(_per_channel(node.floats("min_chn"), count)))
    value = body.rounded(value, DType.FLOAT16)
    factor = _per_channel(node.floats("var_reci_chn"), count)
    return body.rounded(body.add("Mul", value, body.const(factor)), DType.FLOAT16)


def _per_channel(values: Sequence[float], count: int) -> NDArray[np.float32]:
    """Numbers of the first channels on the grid of float16, beside [N, C, H, W]."""
    with np.errstate(over="ignore"):
        held = np.asarray(values[:count], np.float32).astype(np.float16)
    return held.astype(np.float32).reshape(count, 1, 1)


def _framed(body: Body, value: str) -> str:
    node = body.node
    if not node.flag("padding"):
        return value
    left, right, top, bottom = (
        node.integer(f"{side}_padding_size") for side in ("left", "right", "top", "bottom")
    )
    given = node.number("padding_value")
    if node.outputs[0].dtype is DType.UINT8:
        filling = body.const(int(min(max(given, 0), 255)), DType.UINT8)
    else:
        filling = body.const(_per_channel([given], 1).reshape(()))
    return body.add("Pad", value, body.ints(0, 0, top, left, 0, 0, bottom, right), filling)

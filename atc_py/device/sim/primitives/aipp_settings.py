"""What AIPP does to one picture: read from a node's attributes, or from a parameter buffer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from atc_py.package.node_view import NodeError, NodeView
from atc_py.text import Text

Bytes = NDArray[np.uint8]
Channels = tuple[NDArray[Any], ...]


class Area(NamedTuple):
    """A part of a picture: its first row and column, and its size."""

    row: int
    column: int
    height: int
    width: int

    @property
    def rows(self) -> slice:
        return slice(self.row, self.row + self.height)

    @property
    def columns(self) -> slice:
        return slice(self.column, self.column + self.width)


class PictureFormat(NamedTuple):
    """A format of pictures."""

    halves: int  # bytes of two pixels, on average
    channels: int  # channels that a pixel has without a conversion of colors
    # gives the channels of a part of a picture of a height and width, fourth bytes first where the
    # last argument is False
    load: Callable[[Bytes, tuple[int, int], Area, bool], Channels]
    even_rows: bool = False  # True if heights must be even
    even_columns: bool = False  # True if widths must be even
    chroma: bool = False  # True if channels are Y, U, V

    def nbytes(self, height: int, width: int) -> int:
        return height * width * self.halves // 2


def _packed(data: Bytes, size: tuple[int, int], area: Area, _skip: bool) -> Channels:
    """Channels that are stored side by side, as many as bytes of a pixel."""
    pixels = data.reshape(*size, -1)[area.rows, area.columns]
    return tuple(pixels[..., channel] for channel in range(pixels.shape[-1]))


def _four(data: Bytes, size: tuple[int, int], area: Area, skip: bool) -> Channels:
    """Three of four bytes: the last ones with `skip`, else the first ones."""
    channels = _packed(data, size, area, skip)
    return channels[1:] if skip else channels[:-1]


def _half(at: slice) -> NDArray[np.intp]:
    """The places in a plane of half the length that belong to places in a whole one."""
    return np.arange(at.start, at.stop) // 2


def _semi_planar(down: int) -> Callable[[Bytes, tuple[int, int], Area, bool], Channels]:
    """A loader of a plane of Y and one of pairs U, V for `down` rows by 2 columns."""

    def load(data: Bytes, size: tuple[int, int], area: Area, _skip: bool) -> Channels:
        height, width = size
        luma = data[: height * width].reshape(size)[area.rows, area.columns]
        pairs = data[height * width :].reshape(height // down, width // 2, 2)
        rows = np.arange(area.row, area.row + area.height) // down
        chroma = pairs[rows][:, _half(area.columns)]
        return luma, chroma[..., 0], chroma[..., 1]

    return load


def _yuyv(data: Bytes, size: tuple[int, int], area: Area, _skip: bool) -> Channels:
    """Channels of pairs of pixels that are stored as Y, U, Y, V."""
    height, width = size
    luma = data.reshape(height, width, 2)[area.rows, area.columns, 0]
    pairs = data.reshape(height, width // 2, 4)[area.rows][:, _half(area.columns)]
    return luma, pairs[..., 1], pairs[..., 3]


FORMATS: Mapping[str, PictureFormat] = {
    "YUV420SP_U8": PictureFormat(
        3, 3, _semi_planar(2), even_rows=True, even_columns=True, chroma=True
    ),
    "XRGB8888_U8": PictureFormat(8, 3, _four),
    "RGB888_U8": PictureFormat(6, 3, _packed),
    "YUV400_U8": PictureFormat(2, 1, _packed, chroma=True),
    "ARGB8888_U8": PictureFormat(8, 3, _four),
    "YUYV_U8": PictureFormat(4, 3, _yuyv, even_columns=True, chroma=True),
    "YUV422SP_U8": PictureFormat(4, 3, _semi_planar(1), even_columns=True, chroma=True),
    "AYUV444_U8": PictureFormat(8, 3, _four, chroma=True),
}
"""The formats by their names in configurations. All SoCs have the first four; how the others are
stored is inferred from their names and from their sizes."""


def picture_format(name: str) -> PictureFormat:
    found = FORMATS.get(name)
    if found is None:
        text = Text("input_format must be one of {known}, found {found}")
        raise NodeError(text.with_values(known=", ".join(FORMATS), found=repr(name)))
    return found


HEADER_BYTES, BATCH_BYTES = 64, 96
"""Bytes of a parameter buffer: those for all pictures, and those for each."""

_FORMAT_NUMBERS = {1: "YUV420SP_U8", 2: "XRGB8888_U8", 5: "RGB888_U8", 10: "YUV400_U8"}
"""Formats by their numbers in a parameter buffer."""

_BIASES = ("input_bias", "output_bias")
_BYTE, _WORD = (0, 255), (-(2**15), 2**15 - 1)
"""Bounds of integers."""

_HEADER = np.dtype(
    {
        "names": ["switches", "size", "matrix", "output_bias", "input_bias"],
        "formats": ["5i1", "2<i4", "9<i2", "3u1", "3u1"],
        "offsets": [0, 8, 16, 40, 43],
        "itemsize": HEADER_BYTES,
    }
)
_BATCH = np.dtype(
    {
        "names": ["switches", "start", "crop", "pads", "mean", "low", "factor"],
        "formats": ["4i1", "2<i4", "2<i4", "4<i4", "4<i2", "4<f2", "4<f2"],
        "offsets": [0, 8, 16, 40, 56, 64, 72],
        "itemsize": BATCH_BYTES,
    }
)


@dataclass(frozen=True, slots=True)
class PictureFrame:
    """Rows and columns around the part of a picture, and what they are filled with."""

    left: int = 0
    right: int = 0
    top: int = 0
    bottom: int = 0
    value: float = 0.0


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """All settings for one picture; what is switched off does nothing."""

    layout: PictureFormat  # the picture's format
    size: tuple[int, int]  # its height and width
    area: Area  # the part of it that is read
    pads: PictureFrame  # what is put around that
    swap: bool  # whether the first channel and the last, or U and V, change places
    skip: bool  # whether the first of four bytes is left out, not the last
    csc: bool  # whether colors are converted
    matrix: NDArray[np.int32]  # rows of the conversion
    input_bias: tuple[int, ...]  # what is subtracted before it
    output_bias: tuple[int, ...]  # what is added after it
    mean: tuple[int, ...]  # subtracted from each channel, like `low`
    low: NDArray[np.float16]  # subtracted in float16
    factor: NDArray[np.float16]  # multiplied in float16

    @property
    def nbytes(self) -> int:
        return self.layout.nbytes(*self.size)

    @property
    def is_gray(self) -> bool:
        """True if only the first row of the matrix gives something."""
        return self.csc and not self.matrix[1:].any() and not any(self.output_bias[1:])

    @property
    def shape(self) -> tuple[int, int, int]:
        pads, area = self.pads, self.area
        return (
            1 if self.is_gray else self.layout.channels,
            pads.top + area.height + pads.bottom,
            pads.left + area.width + pads.right,
        )

    def checked(self) -> Preprocessing:
        (height, width), area, layout = self.size, self.area, self.layout
        if height < 1 or width < 1:
            text = Text("a picture must have pixels, found {height} rows of {width}")
            raise NodeError(text.with_values(height=height, width=width))
        if (layout.even_rows and height % 2) or (layout.even_columns and width % 2):
            text = Text("pictures with halved chroma must be even, found {height} x {width}")
            raise NodeError(text.with_values(height=height, width=width))
        inside = area.row >= 0 and area.row + area.height <= height
        inside = inside and area.column >= 0 and area.column + area.width <= width
        if not inside or area.height < 1 or area.width < 1:
            crop = f"{area.height} x {area.width}"
            text = Text(
                "the crop of {crop} at row {y}, column {x} is not inside a picture of {size}"
            )
            values = {"y": area.row, "x": area.column, "size": f"{height} x {width}"}
            raise NodeError(text.with_values(crop=crop, **values))
        pads = self.pads
        if min(pads.left, pads.right, pads.top, pads.bottom) < 0:
            raise NodeError(Text("padding sizes must not be negative"))
        if self.csc and layout.channels == 1:
            raise NodeError(Text("pictures of one channel have no colors to convert"))
        return self


def from_node(node: NodeView) -> Preprocessing:
    layout = picture_format(node.text("input_format"))
    size = node.integer("src_image_size_h"), node.integer("src_image_size_w")
    area = Area(0, 0, *size)
    if node.flag("crop"):
        names = ("load_start_pos_h", "load_start_pos_w", "crop_size_h", "crop_size_w")
        area = Area(*map(node.integer, names))
    pads = PictureFrame()
    if node.flag("padding"):
        sides = ("left", "right", "top", "bottom")
        left, right, top, bottom = (node.integer(f"{side}_padding_size") for side in sides)
        pads = PictureFrame(left, right, top, bottom, node.number("padding_value"))
    return Preprocessing(
        layout,
        size,
        area,
        pads,
        node.flag("rbuv_swap_switch"),
        node.flag("ax_swap_switch"),
        node.flag("csc_switch"),
        np.array(_within(node, "matrix", 9, _WORD), np.int32).reshape(3, 3),
        *_biases(layout, *(_within(node, name, 3, _BYTE) for name in _BIASES)),
        _within(node, "mean_chn", 4, _WORD),
        _halves(node, "min_chn"),
        _halves(node, "var_reci_chn"),
    ).checked()


def from_buffer(data: NDArray[np.uint8], batch: int) -> Preprocessing:
    header = data[:HEADER_BYTES].view(_HEADER)[0]
    start = HEADER_BYTES + batch * BATCH_BYTES
    own = data[start : start + BATCH_BYTES].view(_BATCH)[0]
    number, csc, swap, skip, _ = header["switches"].tolist()
    if number not in _FORMAT_NUMBERS:
        known = ", ".join(f"{each} {name}" for each, name in _FORMAT_NUMBERS.items())
        text = Text("the format of pictures must be one of {known}, found {found}")
        raise NodeError(text.with_values(known=known, found=number))
    crop, resize, padding, rotate = own["switches"].tolist()
    if resize or rotate:
        raise NodeError(Text("AIPP of this device does not resize or rotate pictures"))
    if padding not in {0, 1}:
        text = Text("padding must be 0 (none) or 1 (zeros), found {found}")
        raise NodeError(text.with_values(found=padding))
    layout = picture_format(_FORMAT_NUMBERS[number])
    width, height = header["size"].tolist()
    area = Area(0, 0, height, width)
    if crop:
        (column, row), (across, down) = own["start"].tolist(), own["crop"].tolist()
        area = Area(row, column, down, across)
    top, bottom, left, right = own["pads"].tolist()
    return Preprocessing(
        layout,
        (height, width),
        area,
        PictureFrame(left, right, top, bottom) if padding else PictureFrame(),
        bool(swap),
        bool(skip),
        bool(csc),
        header["matrix"].astype(np.int32).reshape(3, 3),
        *_biases(layout, header["input_bias"].tolist(), header["output_bias"].tolist()),
        tuple(own["mean"].tolist()),
        own["low"].astype(np.float16),
        own["factor"].astype(np.float16),
    ).checked()


def _within(node: NodeView, name: str, count: int, bounds: tuple[int, int]) -> tuple[int, ...]:
    values, (low, high) = node.integers(name, count), bounds
    if not all(low <= value <= high for value in values):
        text = Text("{name} must be {low} to {high}, found {found}")
        raise NodeError(text.with_values(name=name, low=low, high=high, found=list(values)))
    return values


def _biases(
    layout: PictureFormat, before: Sequence[int], after: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Input and output biases that count: those before of Y, U, V, else those after."""
    none = (0, 0, 0)
    return (tuple(before), none) if layout.chroma else (none, tuple(after))


def _halves(node: NodeView, name: str) -> NDArray[np.float16]:
    """Four floats of a node, which are float32 in configurations, as float16."""
    values = node.attributes[name]
    found = np.asarray(values, np.float32)
    if found.shape != (4,):
        raise NodeError(Text("{name} must have 4 elements, found {found}", name=name, found=values))
    with np.errstate(over="ignore"):
        return found.astype(np.float16)

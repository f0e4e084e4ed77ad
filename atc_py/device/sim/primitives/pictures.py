"""Pictures as AIPP reads them: the bytes of each format, and the channels of a part of one."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.node import NodeError

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
        """The rows of the part."""
        return slice(self.row, self.row + self.height)

    @property
    def columns(self) -> slice:
        """The columns of the part."""
        return slice(self.column, self.column + self.width)


class PictureFormat(NamedTuple):
    """A format of pictures.

    Attributes:
        halves: bytes of two pixels, on average.
        channels: channels that a pixel has without a conversion of colors.
        load: gives the channels of a part of a picture of a height and width, fourth bytes first
            where the last argument is False.
        even_rows: True if heights must be even.
        even_columns: True if widths must be even.
        chroma: True if channels are Y, U, V.
    """

    halves: int
    channels: int
    load: Callable[[Bytes, tuple[int, int], Area, bool], Channels]
    even_rows: bool = False
    even_columns: bool = False
    chroma: bool = False

    def nbytes(self, height: int, width: int) -> int:
        """Return the bytes of a picture."""
        return height * width * self.halves // 2


def _packed(data: Bytes, size: tuple[int, int], area: Area, _skip: bool) -> Channels:
    """Return channels that are stored side by side, as many as bytes of a pixel."""
    pixels = data.reshape(*size, -1)[area.rows, area.columns]
    return tuple(pixels[..., channel] for channel in range(pixels.shape[-1]))


def _four(data: Bytes, size: tuple[int, int], area: Area, skip: bool) -> Channels:
    """Return three of four bytes: the last ones with `skip`, else the first ones."""
    channels = _packed(data, size, area, skip)
    return channels[1:] if skip else channels[:-1]


def _half(at: slice) -> NDArray[np.intp]:
    """Return the places in a plane of half the length that belong to places in a whole one."""
    return np.arange(at.start, at.stop) // 2


def _semi_planar(down: int) -> Callable[[Bytes, tuple[int, int], Area, bool], Channels]:
    """Return a loader of a plane of Y and one of pairs U, V for `down` rows by 2 columns."""

    def load(data: Bytes, size: tuple[int, int], area: Area, _skip: bool) -> Channels:
        height, width = size
        luma = data[: height * width].reshape(size)[area.rows, area.columns]
        pairs = data[height * width :].reshape(height // down, width // 2, 2)
        rows = np.arange(area.row, area.row + area.height) // down
        chroma = pairs[rows][:, _half(area.columns)]
        return luma, chroma[..., 0], chroma[..., 1]

    return load


def _yuyv(data: Bytes, size: tuple[int, int], area: Area, _skip: bool) -> Channels:
    """Return channels of pairs of pixels that are stored as Y, U, Y, V."""
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
    """Return the format called `name`.

    Raises:
        NodeError: there is none here.
    """
    found = FORMATS.get(name)
    if found is None:
        raise NodeError(f"input_format must be one of {', '.join(FORMATS)}, found {name!r}")
    return found

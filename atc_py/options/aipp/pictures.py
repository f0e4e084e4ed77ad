"""Picture files as the bytes of an input: read, sized, converted to the format of AIPP."""

import warnings
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.diag import BAD_PICTURE, NO_PILLOW, AtcError, Place
from atc_py.options.aipp.image_formats import image_format
from atc_py.options.aipp.settings import AippSettings, source_shape
from atc_py.system.input_files import opened
from atc_py.text import Text

_BYTE = 255.0


class ColorStandard(Enum):
    """A definition of Y, U and V: shares of red and blue in luma, and whether the range is narrow.

    Narrow ranges leave Y 16 to 235 and U, V 16 to 240; wide ones use 0 to 255.
    """

    JPEG = ("JPEG, BT.601 wide", 0.299, 0.114, False)
    BT601_NARROW = ("BT.601 narrow", 0.299, 0.114, True)
    BT709_WIDE = ("BT.709 wide", 0.2126, 0.0722, False)
    BT709_NARROW = ("BT.709 narrow", 0.2126, 0.0722, True)

    def __init__(self, label: str, red: float, blue: float, narrow: bool) -> None:
        self.label = label
        self.red = red
        self.blue = blue
        self.narrow = narrow

    @property
    def ranges(self) -> tuple[float, float, float]:
        """Lowest Y, and the widths of the ranges of Y and of U and V."""
        return (16.0, 219.0, 224.0) if self.narrow else (0.0, _BYTE, _BYTE)

    def to_rgb(self) -> NDArray[np.float64]:
        """The 3 x 3 matrix that gives R, G, B of Y, U, V without their offsets."""
        _, luma, chroma = self.ranges
        green = 1 - self.red - self.blue
        from_u, from_v = 2 * (1 - self.blue), 2 * (1 - self.red)
        rows = [
            [1, 0, from_v],
            [1, -from_u * self.blue / green, -from_v * self.red / green],
            [1, from_u, 0],
        ]
        return np.array(rows) * [_BYTE / luma, _BYTE / chroma, _BYTE / chroma]


def yuv_of_rgb(rgb: NDArray[np.uint8], standard: ColorStandard) -> NDArray[np.float64]:
    """Y, U, V of pixels [..., 3] before they are rounded: U and V of a block are averaged."""
    red, green, blue = (rgb[..., channel].astype(np.float64) for channel in range(3))
    low, luma_range, chroma_range = standard.ranges
    luma = standard.red * red + (1 - standard.red - standard.blue) * green + standard.blue * blue
    u = (blue - luma) / (2 * (1 - standard.blue))
    v = (red - luma) / (2 * (1 - standard.red))
    scaled = (
        low + luma * (luma_range / _BYTE),
        128 + u * (chroma_range / _BYTE),
        128 + v * (chroma_range / _BYTE),
    )
    return np.stack(scaled, axis=-1)


def standard_of(settings: AippSettings) -> ColorStandard:
    """The standard whose colors the settings' matrix undoes best.

    It is that of JPEG where colors are not converted; where the result is gray it follows from
    the bias of Y alone.
    """
    is_yuv = image_format(settings.input_format).is_yuv
    if not (is_yuv and settings.csc_switch):
        return ColorStandard.JPEG
    if settings.is_gray:
        return ColorStandard.BT601_NARROW if settings.input_bias[0] else ColorStandard.JPEG
    matrix = np.array(settings.matrix, np.float64).reshape(3, 3) / 256

    def gap(standard: ColorStandard) -> Any:
        wanted = standard.to_rgb()
        return min(np.abs(matrix - rows).sum() for rows in (wanted, wanted[::-1]))

    return min(ColorStandard, key=gap)


_MOST_PIXELS = 1 << 26
"""Pixels of a picture file; AIPP itself takes 4096 x 4096 at most."""

_BAND = 256
"""Rows that are converted to YUV at a time; even, so that no pair of rows is split."""

_CHANNELS = 3
_OPAQUE = 255
_PLANES = 2


def picture_input(path: Path, settings: AippSettings, *, resize: bool = False) -> NDArray[np.uint8]:
    """The content of an input for a picture file: `source_shape(settings, 1)`.

    Args:
        path: a file that Pillow reads, or .npy with uint8 [height, width, 3] in RGB, or
            [height, width] in gray.
        settings: those of the input; of dynamic AIPP, those of the run.
        resize: True to resize pictures of another size, bilinear; they are refused otherwise.

    Raises:
        AtcError: FILE_NOT_FOUND and its like, BAD_PICTURE, or NO_PILLOW.
    """
    wanted = settings.src_image_size_h, settings.src_image_size_w
    rgb = fitted(read_picture(path), wanted, path, resize=resize)
    return encoded_picture(rgb, settings)[np.newaxis]


def fitted(
    rgb: NDArray[np.uint8], size: tuple[int, int], path: Path, *, resize: bool
) -> NDArray[np.uint8]:
    """A picture of a height and width; of another size, it is resized or refused.

    Raises:
        AtcError: BAD_PICTURE with both sizes, or NO_PILLOW.
    """
    if rgb.shape[:2] == size:
        return rgb
    if resize:
        return resized(rgb, size)
    (height, width), (rows, columns) = size, rgb.shape[:2]
    raise BAD_PICTURE.error(
        Text(
            "{path} has {rows} rows of {columns} pixels, but AIPP takes {height} rows of {width}",
            path=path,
            rows=rows,
            columns=columns,
            height=height,
            width=width,
        ),
        place=Place(str(path)),
        help=Text("give a picture of that size; `aipp` and `quantize` resize it with --resize"),
    )


def read_picture(path: Path) -> NDArray[np.uint8]:
    """The pixels of a picture file, uint8 [height, width, 3] in RGB.

    Transparency is dropped, and the orientation that a camera notes is not applied.

    Raises:
        AtcError: FILE_NOT_FOUND and its like, BAD_PICTURE, or NO_PILLOW.
    """
    if path.suffix.lower() == ".npy":
        return _read_array(path)
    try:
        from PIL import Image
    except ImportError:
        raise NO_PILLOW.error(
            Text("{path} needs Pillow, which is not installed", path=path), place=Place(str(path))
        ) from None
    with opened(path) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's words on size and metadata; sizes have a bound
        try:
            with Image.open(file) as image:
                _check_pixels(path, *image.size)
                return np.asarray(image.convert("RGB"), np.uint8)
        except AtcError:
            raise
        except Exception as error:  # noqa: BLE001  (readers of damaged files raise all kinds)
            raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> AtcError:
    reason = " ".join(str(error).split())[:120] or type(error).__name__
    return BAD_PICTURE.error(
        Text("{path} is not a picture that can be read: {reason}", path=path, reason=reason),
        place=Place(str(path)),
    )


def _check_pixels(path: Path, width: int, height: int) -> None:
    """Refuse pictures of enormous size before they are decoded."""
    if width * height > _MOST_PIXELS:
        raise BAD_PICTURE.error(
            Text(
                "{path} has {height} rows of {width} pixels, more than {most_pixels} pixels",
                path=path,
                height=height,
                width=width,
                most_pixels=_MOST_PIXELS,
            ),
            place=Place(str(path)),
            help=Text("save a smaller picture; AIPP takes at most 4096 x 4096 pixels"),
        )


def _read_array(path: Path) -> NDArray[np.uint8]:
    with opened(path) as file:
        try:
            data: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        except Exception as error:  # noqa: BLE001  (numpy parses headers with Python's own parser)
            raise _unreadable(path, error) from None
    gray = data.ndim == _CHANNELS - 1
    if data.dtype != np.uint8 or not (gray or data.shape[2:] == (_CHANNELS,)) or not data.size:
        raise BAD_PICTURE.error(
            Text(
                "{path} holds {dtype} {shape}, but a picture must be uint8 [height, width, 3] "
                "or [height, width]",
                path=path,
                dtype=data.dtype.name,
                shape=list(data.shape),
            ),
            place=Place(str(path)),
        )
    return np.repeat(data[..., np.newaxis], _CHANNELS, axis=2) if gray else data


def resized(rgb: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """Pixels at another height and width: Pillow's bilinear filter.

    Raises:
        AtcError: NO_PILLOW.
    """
    try:
        from PIL import Image
    except ImportError:
        raise NO_PILLOW.error(Text("resizing needs Pillow, which is not installed")) from None
    height, width = size
    image = Image.fromarray(rgb).resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(image, np.uint8)


def encoded_picture(
    rgb: NDArray[np.uint8], settings: AippSettings, *, swapped: bool = False
) -> NDArray[np.uint8]:
    """Pixels [height, width, 3] in RGB as the bytes of the settings' format.

    YUV formats are encoded in the standard that the settings' matrix decodes (`standard_of`), with
    U and V of pixels that share them averaged. A fourth byte is 255, and is first where
    `ax_swap_switch` leaves out the first. Gray is Y of JPEG.

    Args:
        rgb: of the settings' size.
        settings: format, size, `ax_swap_switch` and matrix count.
        swapped: True to store B first, or V first.

    Returns:
        Rows, columns and bytes as in `source_shape`, without the batch.
    """
    row = image_format(settings.input_format)
    if row.is_gray:
        return _luma_and_chroma(rgb, ColorStandard.JPEG, (1, 1))[0][..., np.newaxis]
    if not row.is_yuv:
        channels = rgb[..., ::-1] if swapped else rgb
        return _with_fourth(channels, settings) if row.skips_one else channels
    block = (2 if row.even_height else 1, 2 if row.even_width else 1)
    luma, chroma = _luma_and_chroma(rgb, standard_of(settings), block)
    if swapped:
        chroma = chroma[..., ::-1]
    if row.skips_one:
        return _with_fourth(np.concatenate([luma[..., np.newaxis], chroma], axis=-1), settings)
    if row.columns == _PLANES:  # YUYV: U after even columns, V after odd ones
        return np.stack([luma, chroma.reshape(luma.shape)], axis=-1)
    return np.concatenate([luma, chroma.reshape(-1, luma.shape[1])])[..., np.newaxis]


def _luma_and_chroma(
    rgb: NDArray[np.uint8], standard: ColorStandard, block: tuple[int, int]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Y of every pixel, and U, V of every block of rows and columns, their mean.

    Some rows are converted at a time: floats of all of them would take many times the bytes.
    """
    lumas, chromas = [], []
    down, across = block
    for top in range(0, len(rgb), _BAND):
        yuv = yuv_of_rgb(rgb[top : top + _BAND], standard)
        height, width = yuv.shape[:2]
        pairs = yuv[..., 1:].reshape(height // down, down, width // across, across, 2)
        lumas.append(_round(yuv[..., 0]))
        chromas.append(_round(pairs.mean(axis=(1, 3))))
    return np.concatenate(lumas), np.concatenate(chromas)


def _round(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Values as bytes, halves up."""
    return np.clip(np.floor(values + 0.5), 0, _OPAQUE).astype(np.uint8)


def _with_fourth(channels: NDArray[np.uint8], settings: AippSettings) -> NDArray[np.uint8]:
    fourth = np.full((*channels.shape[:2], 1), _OPAQUE, np.uint8)
    parts = [fourth, channels] if settings.ax_swap_switch else [channels, fourth]
    return np.concatenate(parts, axis=-1)


def joined_pictures(
    pictures: Sequence[NDArray[np.uint8]], settings: AippSettings
) -> NDArray[np.uint8]:
    """The input that holds several pictures of `picture_input`, one after the other.

    Of dynamic AIPP it has `max_src_image_size` bytes, and those after the pictures are 0.
    """
    shape = source_shape(settings, len(pictures))
    data = np.concatenate([picture.reshape(-1) for picture in pictures])
    count = int(np.prod(shape))
    if data.size > count or (data.size < count and not settings.is_dynamic):
        raise ValueError(f"pictures have {data.size} bytes, the input has {count}")
    return np.pad(data, (0, count - data.size)).reshape(shape)

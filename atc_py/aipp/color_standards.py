"""RGB to Y, U, V as cameras and decoders give them: four standards, and which one a matrix undoes."""

from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.aipp.image_formats import image_format
from atc_py.aipp.settings import AippSettings

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
        """Keep the numbers."""
        self.label = label
        self.red = red
        self.blue = blue
        self.narrow = narrow

    @property
    def ranges(self) -> tuple[float, float, float]:
        """Lowest Y, and the widths of the ranges of Y and of U and V."""
        return (16.0, 219.0, 224.0) if self.narrow else (0.0, _BYTE, _BYTE)

    def to_rgb(self) -> NDArray[np.float64]:
        """Return the 3 x 3 matrix that gives R, G, B of Y, U, V without their offsets."""
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
    """Return Y, U, V of pixels [..., 3] before they are rounded: U and V of a block are averaged."""
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
    """Return the standard whose colors the settings' matrix undoes best.

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

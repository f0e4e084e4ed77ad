"""AIPP pixel by pixel in plain Python, written from its published steps alone.

Nothing here is the device's: numbers are Python's integers and fractions, and float16 is rounded
by `struct`.
"""

import struct
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from atc_py.options.aipp import AippSettings

YUV = {"YUV420SP_U8", "YUYV_U8", "YUV422SP_U8", "AYUV444_U8"}
FOUR_BYTES = {"XRGB8888_U8", "ARGB8888_U8", "AYUV444_U8"}
LARGEST = Fraction(65504)


def half(value: Fraction) -> Fraction:
    """Round to float16, halves to even; what is beyond the largest number is not rounded."""
    if value == 0:
        return value
    exponent = 0
    while abs(value) >= 2 ** (exponent + 1):
        exponent += 1
    while exponent > -14 and abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    step = Fraction(2) ** (max(exponent, -14) - 10)
    return round(value / step) * step  # Python rounds halves to even


def bytes_of_pixel(
    name: str, data: bytes, size: tuple[int, int], row: int, column: int
) -> list[int]:
    """Return the bytes of a pixel in the order in which the format names them."""
    height, width = size
    at = row * width + column
    if name == "YUV400_U8":
        return [data[at]]
    if name == "RGB888_U8":
        return list(data[3 * at : 3 * at + 3])
    if name in FOUR_BYTES:
        return list(data[4 * at : 4 * at + 4])
    pair = column - column % 2
    if name == "YUYV_U8":
        start = 2 * (row * width + pair)
        return [data[2 * at], data[start + 1], data[start + 3]]
    down = 2 if name == "YUV420SP_U8" else 1
    start = (height + row // down) * width + pair
    return [data[at], data[start], data[start + 1]]


def converted(settings: AippSettings, pixel: list[int]) -> list[int]:
    """Return a pixel in other colors: 1/256 of the sums, halves away from zero, clipped."""
    yuv = settings.input_format in YUV
    before = settings.input_bias if yuv else (0, 0, 0)
    after = (0, 0, 0) if yuv else settings.output_bias
    found = []
    for row in range(3):
        total = sum(
            factor * (value - bias)
            for factor, value, bias in zip(
                settings.matrix[3 * row : 3 * row + 3], pixel, before, strict=True
            )
        )
        # (2 s + 1) / 512 is never a half, so rounding it away from zero or to even is one.
        found.append(min(max(round(Fraction(2 * total + 1, 512)) + after[row], 0), 255))
    return found


def pixel_channels(settings: AippSettings, data: bytes, row: int, column: int) -> list[int]:
    """Return the channels of a pixel of the picture, swapped and in other colors."""
    size = settings.src_image_size_h, settings.src_image_size_w
    pixel = bytes_of_pixel(settings.input_format, data, size, row, column)
    if settings.input_format in FOUR_BYTES:
        pixel = pixel[1:] if settings.ax_swap_switch else pixel[:3]
    if settings.rbuv_swap_switch and len(pixel) == 3:
        first, second, third = pixel
        swapped = settings.input_format in YUV
        pixel = [first, third, second] if swapped else [third, second, first]
    return converted(settings, pixel) if settings.csc_switch else pixel


def normalized(settings: AippSettings, channel: int, value: int) -> Fraction:
    """Return (p - mean - min) * var_reci, each step rounded to float16."""
    least = half(Fraction(struct.unpack("f", struct.pack("f", settings.min_chn[channel]))[0]))
    factor = half(Fraction(struct.unpack("f", struct.pack("f", settings.var_reci_chn[channel]))[0]))
    centered = half(Fraction(value - settings.mean_chn[channel]))
    return half(half(centered - least) * factor)


def expected_tensor(
    settings: AippSettings, picture: NDArray[np.uint8], channels: int, *, as_bytes: bool
) -> NDArray[np.generic]:
    """Return the tensor [C, H, W] of a picture, float16 or uint8."""
    data = picture.tobytes()
    height = settings.crop_size_h if settings.crop else settings.src_image_size_h
    width = settings.crop_size_w if settings.crop else settings.src_image_size_w
    top, left = settings.top_padding_size, settings.left_padding_size
    shape = (
        channels,
        top + height + settings.bottom_padding_size,
        left + width + settings.right_padding_size,
    )
    found = np.zeros(shape, np.uint8 if as_bytes else np.float16)
    border = settings.padding_value
    if as_bytes:
        border = int(min(max(border, 0), 255))
    for row in range(shape[1]):
        for column in range(shape[2]):
            inner = top <= row < top + height and left <= column < left + width
            if not inner:
                found[:, row, column] = border
                continue
            source = (
                row - top + settings.load_start_pos_h,
                column - left + settings.load_start_pos_w,
            )
            pixel = pixel_channels(settings, data, *source)
            for channel in range(channels):
                value = pixel[channel]
                if as_bytes:
                    found[channel, row, column] = value
                else:
                    exact = normalized(settings, channel, value)
                    assert abs(exact) <= LARGEST
                    found[channel, row, column] = float(exact)
    return found

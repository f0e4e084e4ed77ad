"""AIPP as real numbers: the features that a network would get if nothing were rounded."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.options.aipp import AippSettings, image_format

Array = NDArray[Any]


_BYTE = 255.0


def exact_features(settings: AippSettings, data: Array, *, as_bytes: bool) -> Array:
    """The features [C, H, W] of one picture in float64.

    Colors are converted without rounding, but where the network takes bytes, which are whole: there
    a half is rounded up as the device does it.

    Args:
        settings: of the picture.
        data: its bytes, uint8 of one axis.
        as_bytes: whether the network takes bytes; they are not normalized.
    """
    channels = _convert_colors(settings, _channels(settings, data), whole=as_bytes)
    if not as_bytes:
        count = len(channels)
        mean, low, factor = (
            np.asarray(values[:count], np.float64).reshape(count, 1, 1)
            for values in (settings.mean_chn, settings.min_chn, settings.var_reci_chn)
        )
        channels = (channels - mean - low) * factor
    value = min(max(int(settings.padding_value), 0), 255) if as_bytes else settings.padding_value
    return np.pad(
        channels,
        (
            (0, 0),
            (settings.top_padding_size, settings.bottom_padding_size),
            (settings.left_padding_size, settings.right_padding_size),
        ),
        constant_values=value,
    )


def _channels(settings: AippSettings, data: Array) -> Array:
    """The samples of the part of a picture that is read, [1 or 3, H, W]."""
    row, window = image_format(settings.input_format), settings.window
    height, width = settings.src_image_size_h, settings.src_image_size_w
    rows = np.arange(window.top, window.top + window.height).reshape(-1, 1)
    columns = np.arange(window.left, window.left + window.width)
    first = int(row.skips_one and settings.ax_swap_switch)
    if row.half_rows > 2:  # noqa: PLR2004  (a plane of U and V follows that of Y)
        down = 2 if row.even_height else 1
        pairs = (height + rows // down) * width + columns // 2 * 2
        places = [rows * width + columns, pairs, pairs + 1]
    elif row.even_width:  # Y, U, Y, V
        pairs = (rows * width + columns // 2 * 2) * 2
        places = [(rows * width + columns) * 2, pairs + 1, pairs + 3]
    else:
        depth = row.columns
        places = [(rows * width + columns) * depth + first + at for at in range(min(depth, 3))]
    if settings.rbuv_swap_switch and len(places) > 1:
        places = [places[at] for at in ((0, 2, 1) if row.is_yuv else (2, 1, 0))]
    return np.stack([data[place] for place in places]).astype(np.float64)


def _convert_colors(settings: AippSettings, channels: Array, *, whole: bool) -> Array:
    """Samples in other colors, within those of a byte."""
    if not settings.csc_switch:
        return channels
    is_yuv = image_format(settings.input_format).is_yuv
    if is_yuv:
        channels = channels - np.array(settings.input_bias, np.float64).reshape(3, 1, 1)
    matrix = np.array(settings.matrix, np.float64).reshape(3, 3)[: settings.channels]
    result: Array = np.tensordot(matrix, channels, axes=1) / 256
    if whole:
        result = np.floor(result + 0.5)
    if not is_yuv:
        after = np.array(settings.output_bias[: settings.channels], np.float64)
        result = result + after.reshape(-1, 1, 1)
    return result.clip(0, _BYTE)

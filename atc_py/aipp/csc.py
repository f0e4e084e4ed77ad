"""Conversion of colors: matrices and biases of a configuration, and ATC's defaults for them."""

from dataclasses import replace

from atc_py.aipp.config import AippConfig
from atc_py.aipp.fields import BIASES, MATRIX
from atc_py.aipp.settings import AippSettings
from atc_py.text import Text

_YUV_TO_BGR = (298, 516, 0, 298, -100, -208, 298, 0, 409)
_RGB_TO_YUV = (66, 129, 25, -38, -74, 112, 112, -94, -18)
_BIASES = (16, 128, 128)


def default_matrix(input_format: str) -> tuple[int, ...]:
    """The factors that ATC fills in: YUV to BGR for YUV420SP, RGB to YUV for all others."""
    return _YUV_TO_BGR if input_format == "YUV420SP_U8" else _RGB_TO_YUV


def default_biases() -> tuple[int, ...]:
    """The biases that ATC fills in, for input and output alike."""
    return _BIASES


def completed_colors(config: AippConfig, settings: AippSettings) -> AippSettings:
    """The settings with matrix and biases; each entry without a value gets ATC's.

    Raises:
        AtcError: BAD_AIPP for gray pictures, which have no colors.
    """
    if not config.switch("csc_switch"):
        return settings
    if settings.input_format == "YUV400_U8":
        raise config.error(
            Text(
                "'csc_switch' must be false for YUV400_U8: a gray picture has no colors to convert"
            ),
            "csc_switch",
        )
    matrix = default_matrix(settings.input_format)
    filled = (
        config.integer(name) if name in config else default
        for name, default in zip(MATRIX, matrix, strict=True)
    )
    biases = tuple(
        config.integer(name) if name in config else default
        for name, default in zip(BIASES, _BIASES * 2, strict=True)
    )
    return replace(
        settings,
        csc_switch=True,
        matrix=tuple(filled),
        input_bias=biases[:3],
        output_bias=biases[3:],
    )

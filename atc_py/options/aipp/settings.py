"""Settings of an `Aipp` node: one configuration with every default filled in and sizes resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

from atc_py.options.aipp.config import AippConfig
from atc_py.options.aipp.fields import BIASES, MATRIX
from atc_py.options.aipp.image_formats import image_format
from atc_py.text import Text

_YUV_TO_BGR = (298, 516, 0, 298, -100, -208, 298, 0, 409)
_RGB_TO_YUV = (66, 129, 25, -38, -74, 112, 112, -94, -18)
_BIASES = (16, 128, 128)


def default_matrix(input_format: str) -> tuple[int, ...]:
    """The factors that ATC fills in: YUV to BGR for YUV420SP, RGB to YUV for all others."""
    return _YUV_TO_BGR if input_format == "YUV420SP_U8" else _RGB_TO_YUV


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


AippAttribute = bool | int | float | str | tuple[int, ...] | tuple[float, ...]
"""Value of an attribute of the node."""


class AippWindow(NamedTuple):
    """Part of the picture that is read, in pixels."""

    top: int
    left: int
    height: int
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AippSettings:
    """Attributes of an `Aipp` node, in the words of the configuration file.

    A node of static AIPP has all of them. Of dynamic AIPP, mode and `max_src_image_size` are the
    node's; the rest are read from the parameter buffer at each run.
    """

    aipp_mode: str = "static"  # "static" or "dynamic"
    input_format: str = "RGB888_U8"  # name of a row of IMAGE_FORMATS
    src_image_size_w: int = 0  # width of the picture, 1 or more; 0 for dynamic AIPP alone
    src_image_size_h: int = 0  # height of the picture
    # True if a part of the picture is read; otherwise the four numbers after it are 0
    crop: bool = False
    load_start_pos_w: int = 0  # first column of that part
    load_start_pos_h: int = 0  # first row of that part
    crop_size_w: int = 0  # width of that part, 1 or more where `crop` is on
    crop_size_h: int = 0  # height of that part
    csc_switch: bool = False  # True if colors are converted
    rbuv_swap_switch: bool = False  # True if R and B, or U and V, are exchanged
    # True if the first of four bytes is left out, in place of the last
    ax_swap_switch: bool = False
    matrix: tuple[int, ...] = (0,) * 9  # the nine factors of the conversion in 1/256, row by row
    input_bias: tuple[int, ...] = (0,) * 3  # subtracted before the conversion
    output_bias: tuple[int, ...] = (0,) * 3  # added after it
    mean_chn: tuple[int, ...] = (0,) * 4  # subtracted from each channel
    min_chn: tuple[float, ...] = (0.0,) * 4  # subtracted then
    var_reci_chn: tuple[float, ...] = (1.0,) * 4  # multiplied then
    padding: bool = False  # True if borders are added; otherwise the four sizes are 0
    left_padding_size: int = 0  # columns on the left
    right_padding_size: int = 0  # columns on the right
    top_padding_size: int = 0  # rows above
    bottom_padding_size: int = 0  # rows below
    padding_value: float = 0.0  # value of the borders, in the tensor's own scale
    # dynamic AIPP: most bytes of all pictures of a run; 0 for static AIPP
    max_src_image_size: int = 0

    @property
    def is_dynamic(self) -> bool:
        return self.aipp_mode == "dynamic"

    @property
    def window(self) -> AippWindow:
        """Part of the picture that is read: all of it where nothing is cropped."""
        if not self.crop:
            return AippWindow(0, 0, self.src_image_size_h, self.src_image_size_w)
        return AippWindow(
            self.load_start_pos_h, self.load_start_pos_w, self.crop_size_h, self.crop_size_w
        )

    @property
    def output_size(self) -> tuple[int, int]:
        window = self.window
        return (
            window.height + self.top_padding_size + self.bottom_padding_size,
            window.width + self.left_padding_size + self.right_padding_size,
        )

    @property
    def is_gray(self) -> bool:
        """True if the tensor has one channel: gray pictures, or a matrix with one row.

        Output biases do not count for YUV formats, which have none.
        """
        row = image_format(self.input_format)
        if row.is_gray:
            return True
        rest = (*self.matrix[3:], *(() if row.is_yuv else self.output_bias[1:]))
        return self.csc_switch and not any(rest)

    @property
    def channels(self) -> int:
        return 1 if self.is_gray else 3

    def attributes(self) -> dict[str, AippAttribute]:
        """The attributes of the node, by name, in the order of the class."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_attributes(cls, attributes: Mapping[str, object]) -> AippSettings:
        """The settings of a node; attributes of other names are left out.

        Lists become tuples, and the integers that stand for switches become booleans.
        """
        results: dict[str, object] = {}
        for field in fields(cls):
            if field.name not in attributes:
                continue
            value = attributes[field.name]
            if isinstance(field.default, bool):
                value = bool(value)
            results[field.name] = tuple(value) if isinstance(value, list) else value
        return cls(**results)  # type: ignore[arg-type]


def source_shape(settings: AippSettings, n: int) -> tuple[int, ...]:
    """The shape of the uint8 input that holds `n` pictures.

    It is what `aclmdlGetInputDimsV2` reports: [n, h, w, C] where pixels are packed, with C 3 for
    RGB888, 4 for XRGB8888, ARGB8888 and AYUV444, 1 for YUV400, 2 for YUYV; [n, 3h/2, w, 1] for
    YUV420SP, whose UV rows follow those of Y, and [n, 2h, w, 1] for YUV422SP. So the shape's
    product is the number of bytes. Dynamic AIPP has one row of bytes for all pictures.
    """
    if settings.is_dynamic:
        return (1, settings.max_src_image_size)
    row = image_format(settings.input_format)
    return (n, *row.input_shape(settings.src_image_size_h, settings.src_image_size_w))


def source_bytes(settings: AippSettings, n: int) -> int:
    row = image_format(settings.input_format)
    return n * row.byte_count(settings.src_image_size_h, settings.src_image_size_w)

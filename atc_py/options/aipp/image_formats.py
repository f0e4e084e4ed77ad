"""The picture formats of AIPP: numbers, bytes of a picture, and how an input holds them."""

from dataclasses import dataclass

from atc_py.diag import BAD_AIPP
from atc_py.text import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFormat:
    """A picture format of eight bits a sample."""

    name: str  # as the configuration file spells it
    number: int  # the file's enum, which is also that of pyACL's setters
    # the number in the parameter buffer of dynamic AIPP; None where a buffer cannot name the
    # format, so that it is one of static AIPP alone
    buffer_code: int | None = None
    half_rows: int = 2  # rows of the input, in halves of a picture row: YUV420SP has 3 for Y and UV
    columns: int  # bytes of a row, for each pixel, that are an axis of their own (C of NHWC)
    even_width: bool = False  # True if pairs of pixels share chroma, so that an odd width has none
    even_height: bool = False  # True if pairs of rows do
    is_yuv: bool = False  # True if the samples are luma and chroma; False for RGB and gray
    # True if a pixel has a fourth byte, which `ax_swap_switch` says the place of
    skips_one: bool = False
    is_gray: bool = False  # True if a pixel has one channel

    def input_shape(self, height: int, width: int) -> tuple[int, int, int]:
        """Rows, columns and bytes a place of the input that holds one picture."""
        return self.half_rows * height // 2, width, self.columns

    def byte_count(self, height: int, width: int) -> int:
        rows, columns, depth = self.input_shape(height, width)
        return rows * columns * depth


IMAGE_FORMATS = (
    ImageFormat(
        name="YUV420SP_U8",
        number=1,
        buffer_code=1,
        half_rows=3,
        columns=1,
        even_width=True,
        even_height=True,
        is_yuv=True,
    ),
    ImageFormat(name="XRGB8888_U8", number=2, buffer_code=2, columns=4, skips_one=True),
    ImageFormat(name="RGB888_U8", number=3, buffer_code=5, columns=3),
    ImageFormat(name="YUV400_U8", number=4, buffer_code=10, columns=1, is_gray=True),
    ImageFormat(name="ARGB8888_U8", number=7, columns=4, skips_one=True),
    ImageFormat(name="YUYV_U8", number=8, columns=2, even_width=True, is_yuv=True),
    ImageFormat(name="YUV422SP_U8", number=9, half_rows=4, columns=1, even_width=True, is_yuv=True),
    ImageFormat(name="AYUV444_U8", number=10, columns=4, is_yuv=True, skips_one=True),
)
"""The formats that are modeled, by number. The last four are those of camera SoCs and `sim`."""

OTHER_FORMATS = {
    "NC1HWC0DI_FP16": 5,
    "NC1HWC0DI_S8": 6,
    "RAW10": 11,
    "RAW12": 12,
    "RAW16": 13,
    "RAW24": 14,
    "RGB16": 15,
    "RGB20": 16,
    "RGB24": 17,
    "RGB8_IR": 18,
    "RGB16_IR": 19,
    "RGB24_IR": 20,
}
"""Formats that the file's grammar knows and that are not modeled: features and raw sensor data."""

_BY_NAME = {row.name: row for row in IMAGE_FORMATS}


def image_format(name: str) -> ImageFormat:
    """The format called `name`.

    Raises:
        AtcError: BAD_AIPP where it is not modeled.
    """
    row = _BY_NAME.get(name)
    if row is None:
        raise BAD_AIPP.error(
            Text("{name} is not a picture format that is modeled", name=repr(name)),
            help=Text("known are {known}", known=", ".join(_BY_NAME)),
        )
    return row

"""The fields of an AIPP configuration: one row each, with type, default, range and meaning."""

from dataclasses import dataclass
from enum import Enum


class FieldKind(Enum):
    """Type of a field's values; the text is what messages and the page call it."""

    INT = "int32"
    UINT = "uint32"
    FLOAT = "float"
    BOOL = "true or false"
    MODE = "mode"
    FORMAT = "picture format"
    STRING = "text in quotes"


AIPP_MODES = {"undefined": 0, "static": 1, "dynamic": 2}
"""Values of `aipp_mode`."""

INT, UINT, FLOAT, BOOL, MODE, FORMAT, STRING = FieldKind

# Least and largest value.
_COUNTS = 0, 2**32 - 1
_FLOAT16 = -65504.0, 65504.0


@dataclass(frozen=True, slots=True)
class AippField:
    """A field of `aipp_op`."""

    name: str  # as the file spells it
    number: int  # the field's number in the message
    kind: FieldKind  # type of its values
    default: bool | int | float | str  # its value where the file has none
    meaning: str  # a sentence for the page
    # the smallest value that is taken; None without a bound. What depends on the SoC or on other
    # fields is in `atc_py/options/aipp/rules.py` and `geometry.py`
    least: float | None = None
    most: float | None = None  # the largest value that is taken
    repeated: bool = False  # True if the grammar takes a list, though one value alone is meant
    # why a value other than the default is refused, as the end of a sentence; empty where it is not
    refused: str = ""


def _switch(name: str, number: int, meaning: str, refused: str = "") -> AippField:
    return AippField(name, number, BOOL, default=False, meaning=meaning, refused=refused)


def _integer(name: str, number: int, meaning: str, most: int, refused: str = "") -> AippField:
    return AippField(name, number, INT, 0, meaning, 0, most, refused=refused)


_RESERVED = "is reserved: the SoCs here do not have it"

_ADDRESS = (
    AippField(
        "aipp_mode",
        1,
        MODE,
        "undefined",
        "`static`: the settings are part of the model. `dynamic`: they come with each run, "
        "in an input of their own. Required.",
    ),
    AippField("related_input_rank", 2, UINT, 0, "Position of the model's input, from 0.", *_COUNTS),
    AippField(
        "related_input_name",
        6,
        STRING,
        "",
        "Name of the input of a Caffe model; ONNX models take `related_input_rank`.",
    ),
    AippField(
        "input_edge_idx",
        3,
        UINT,
        0,
        "Which output of the input's node the configuration is for; inputs have one, 0.",
        *_COUNTS,
        repeated=True,
    ),
    AippField(
        "max_src_image_size",
        4,
        UINT,
        0,
        "Dynamic AIPP: most bytes that the pictures of a run have together. Required there.",
        *_COUNTS,
    ),
)

_PICTURE = (
    AippField("input_format", 51, FORMAT, "", "Format of the picture. Required for static AIPP."),
    _integer(
        "src_image_size_w",
        57,
        "Width of the picture, in pixels; 0 is the network's, where nothing is cropped or padded.",
        4096,
    ),
    _integer("src_image_size_h", 58, "Height of the picture, by the same rule.", 4096),
    _switch("crop", 59, "Read a part of the picture."),
    _integer("load_start_pos_w", 60, "First column of that part.", 4095),
    _integer("load_start_pos_h", 61, "First row of that part.", 4095),
    _integer(
        "crop_size_w",
        62,
        "Width of that part; 0 is the network's, where nothing is padded.",
        4096,
    ),
    _integer("crop_size_h", 63, "Height of that part, by the same rule.", 4096),
    _switch(
        "rbuv_swap_switch",
        54,
        "Exchange R and B, or U and V, as the picture is read: the bytes are BGR, or NV21.",
    ),
    _switch(
        "ax_swap_switch",
        55,
        "Formats with four bytes a pixel: leave out the first byte in place of the last.",
    ),
)

_COLOR = (
    _switch("csc_switch", 52, "Convert the colors with matrix and biases."),
    *(
        AippField(
            f"matrix_r{row}c{column}",
            30 + 3 * row + column,
            INT,
            0,
            f"Factor from channel {column} to channel {row}, in 1/256.",
            -32677,
            32676,
            repeated=True,
        )
        for row in range(3)
        for column in range(3)
    ),
    *(
        AippField(
            f"{side}_bias_{channel}",
            first + channel,
            INT,
            0,
            meaning.format(channel),
            0,
            255,
            repeated=True,
        )
        for side, first, meaning in (
            ("input", 42, "Subtracted from channel {} before the conversion; YUV formats alone."),
            ("output", 39, "Added to channel {} after the conversion; RGB formats alone."),
        )
        for channel in range(3)
    ),
)

_CHANNEL_NUMBERS = ((10, 13, 16), (11, 14, 17), (12, 15, 18), (19, 20, 21))

_NORMALIZATION = tuple(
    row
    for channel, (mean, least, factor) in enumerate(_CHANNEL_NUMBERS)
    for row in (
        _integer(
            f"mean_chn_{channel}",
            mean,
            f"Subtracted from channel {channel}, a whole number.",
            255,
        ),
        AippField(
            f"min_chn_{channel}",
            least,
            FLOAT,
            0.0,
            f"Subtracted from channel {channel} then, rounded to float16.",
            *_FLOAT16,
        ),
        AippField(
            f"var_reci_chn_{channel}",
            factor,
            FLOAT,
            1.0,
            f"Multiplied with channel {channel} then, rounded to float16.",
            *_FLOAT16,
            repeated=True,
        ),
    )
)

_PADDING = (
    _switch("padding", 67, "Add borders after all other steps."),
    *(
        _integer(f"{side}_padding_size", number, f"Border {words}, in pixels.", 32)
        for side, number, words in (
            ("left", 68, "on the left"),
            ("right", 69, "on the right"),
            ("top", 70, "above"),
            ("bottom", 71, "below"),
        )
    ),
    AippField(
        "padding_value",
        72,
        FLOAT,
        0.0,
        "Value of the borders in the tensor; it is not normalized.",
        *_FLOAT16,
    ),
)

_UNUSED = (
    _switch("support_rotation", 5, "Reserved.", _RESERVED),
    _switch("single_line_mode", 56, "Reserved.", _RESERVED),
    AippField("cpadding_value", 53, FLOAT, 0.0, "Reserved.", refused=_RESERVED),
    _switch("resize", 64, "Reserved: only camera SoCs resize.", _RESERVED),
    _integer("resize_output_w", 65, "Reserved.", 4096, _RESERVED),
    _integer("resize_output_h", 66, "Reserved.", 4096, _RESERVED),
    AippField(
        "raw_rgbir_to_f16_n",
        45,
        UINT,
        8,
        "Bits of a raw sample that are cut off; raw formats are not modeled.",
        0,
        31,
        repeated=True,
    ),
)

AIPP_FIELDS = (*_ADDRESS, *_PICTURE, *_COLOR, *_NORMALIZATION, *_PADDING, *_UNUSED)
"""Every field of `aipp_op`, in the order of the steps that they are for."""

_BY_NAME = {row.name: row for row in AIPP_FIELDS}

MATRIX = tuple(f"matrix_r{row}c{column}" for row in range(3) for column in range(3))
"""Names of the matrix' fields, row by row."""

BIASES = tuple(f"{side}_bias_{channel}" for side in ("input", "output") for channel in range(3))
"""Names of the fields of the biases."""


def channel_fields(prefix: str) -> tuple[str, ...]:
    """The names of a field for each of the four channels, such as `mean_chn_0`."""
    return tuple(f"{prefix}_{channel}" for channel in range(4))


def find_field(name: str) -> AippField | None:
    return _BY_NAME.get(name)

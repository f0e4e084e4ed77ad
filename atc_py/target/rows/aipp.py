"""Preprocessing of images before a network: the operator Aipp."""

from atc_py.target.kernels import on
from atc_py.target.row import Attribute, TargetOp
from atc_py.target.rows.parts import columns, operands

_SETTINGS = (
    Attribute("aipp_mode", "string", "static"),
    Attribute("input_format", "string", "RGB888_U8"),
    Attribute("max_src_image_size", "int", 0),
    Attribute("src_image_size_w", "int", 0),
    Attribute("src_image_size_h", "int", 0),
    Attribute("crop", "bool", default=False),
    Attribute("load_start_pos_w", "int", 0),
    Attribute("load_start_pos_h", "int", 0),
    Attribute("crop_size_w", "int", 0),
    Attribute("crop_size_h", "int", 0),
    Attribute("csc_switch", "bool", default=False),
    Attribute("rbuv_swap_switch", "bool", default=False),
    Attribute("ax_swap_switch", "bool", default=False),
    Attribute("matrix", "ints", (0,) * 9),
    Attribute("input_bias", "ints", (0,) * 3),
    Attribute("output_bias", "ints", (0,) * 3),
    Attribute("mean_chn", "ints", (0,) * 4),
    Attribute("min_chn", "floats", (0.0,) * 4),
    Attribute("var_reci_chn", "floats", (1.0,) * 4),
    Attribute("padding", "bool", default=False),
    Attribute("left_padding_size", "int", 0),
    Attribute("right_padding_size", "int", 0),
    Attribute("top_padding_size", "int", 0),
    Attribute("bottom_padding_size", "int", 0),
    Attribute("padding_value", "float", 0.0),
)
"""Fields of an AIPP configuration by its names; rows and channels of one field are a list."""

ROWS = (
    TargetOp(
        "Aipp",
        *operands("images params? > features"),
        "Pictures cropped, their colors converted and normalized, and padded: [N, C, H, W].",
        attributes=_SETTINGS,
        columns=columns("(u8 u8 > f16) (u8 u8 > u8)"),
        # Operand lists publish dtypes of images alone: uint8, and blocks of float16 and int8 that
        # only cameras give. Those of features are inferred.
        kernels=on("310 310P 310B 910 A2 A3 950: (u8 u8 > f16) (u8 u8 > u8); 610 CS: ?"),
        family="aipp",
        formula=(
            "p = the three bytes of the pixel at (oh - top + start_h, ow - left + start_w), swapped\n"
            "p = clip((matrix * (p - input_bias) + 128) >> 8 + output_bias, 0, 255) with csc_switch\n"
            "features[n, c, oh, ow] = (p[c] - mean[c] - min[c]) * var_reci[c], each step in float16\n"
            "padding_value around the crop; uint8 features are p itself"
        ),
        passes=12.0,
    ),
)

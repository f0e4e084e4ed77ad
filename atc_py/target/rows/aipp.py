"""Preprocessing of images before a network: the operator Aipp."""

from atc_py.target.rows.parts import attributes, operator

_SETTINGS = attributes(
    aipp_mode="static",
    input_format="RGB888_U8",
    max_src_image_size=0,
    src_image_size_w=0,
    src_image_size_h=0,
    crop=False,
    load_start_pos_w=0,
    load_start_pos_h=0,
    crop_size_w=0,
    crop_size_h=0,
    csc_switch=False,
    rbuv_swap_switch=False,
    ax_swap_switch=False,
    matrix=(0,) * 9,
    input_bias=(0,) * 3,
    output_bias=(0,) * 3,
    mean_chn=(0,) * 4,
    min_chn=(0.0,) * 4,
    var_reci_chn=(1.0,) * 4,
    padding=False,
    left_padding_size=0,
    right_padding_size=0,
    top_padding_size=0,
    bottom_padding_size=0,
    padding_value=0.0,
)
"""Fields of an AIPP configuration by its names; rows and channels of one field are a list."""

ROWS = (
    operator(
        "Aipp",
        "Pictures cropped, their colors converted and normalized, and padded: [N, C, H, W].",
        "images params? > features",
        attributes=_SETTINGS,
        columns="(u8 u8 > f16) (u8 u8 > u8)",
        # Operand lists publish dtypes of images alone: uint8, and blocks of float16 and int8 that
        # only cameras give. Those of features are inferred.
        kernels="310 310P 310B 910 A2 A3 950: (u8 u8 > f16) (u8 u8 > u8); 610 CS: ?",
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

"""Checks of a configuration: ranges, modes, geometry, families of SoCs, addresses, warnings."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from atc_py.diag import AtcError
from atc_py.options.aipp import (
    AippSettings,
    assigned_configs,
    checked,
    config_doubts,
    dims_gears_refusal,
    fp16_input_refusal,
    read_aipp_file,
)
from atc_py.options.aipp.fields import AIPP_FIELDS
from atc_py.options.aipp.rules import AIPP_RULES, rules_of
from atc_py.target.soc import SocFamily
from tests.options.aipp.configs import SAMPLE, network, refusal, settings_of, written

RGB = "input_format: RGB888_U8\n"
NV12 = "input_format: YUV420SP_U8\n"
SOURCE = "src_image_size_w: 256 src_image_size_h: 256\n"
CROP = SOURCE + "crop: true crop_size_w: 224 crop_size_h: 224\n"
NEWEST = next(name for name, rules in AIPP_RULES.items() if rules.strict_gray)
"""The family whose kernel is open."""

GRAY = "csc_switch: true matrix_r0c0: 256 " + "".join(
    f"matrix_r{at // 3}c{at % 3}: 0 " for at in range(1, 9)
)
PAD = "src_image_size_w: 220 src_image_size_h: 220 padding: true\n"


def test_sample_gives_its_settings(tmp_path: Path) -> None:
    (config,) = read_aipp_file(written(tmp_path, SAMPLE)).configs
    found = checked(config, network(2, 3, 224, 224))
    assert found == AippSettings(
        input_format="YUV420SP_U8",
        src_image_size_w=256,
        src_image_size_h=256,
        crop=True,
        load_start_pos_w=16,
        load_start_pos_h=16,
        crop_size_w=220,
        crop_size_h=216,
        csc_switch=True,
        matrix=(256, 0, 359, 256, -88, -183, 256, 454, 0),
        input_bias=(0, 128, 128),
        output_bias=(16, 128, 128),
        mean_chn=(124, 0, 0, 0),
        min_chn=(0, 116.28, 0, 0),
        var_reci_chn=(0.017125, 0.0175, 1.0, 1.0),
        padding=True,
        left_padding_size=4,
        top_padding_size=8,
        padding_value=-1.5,
    )


def test_defaults_of_sizes_are_the_network(tmp_path: Path) -> None:
    found = settings_of(tmp_path, RGB, network(1, 200, 100, 3, layout="NHWC"))
    assert (found.src_image_size_h, found.src_image_size_w) == (200, 100)
    found = settings_of(tmp_path, RGB + SOURCE + "crop: true")
    assert (found.crop_size_h, found.crop_size_w) == (224, 224)


def test_numbers_without_their_switch_are_zero(tmp_path: Path) -> None:
    text = RGB + "load_start_pos_w: 9 crop_size_h: 3 left_padding_size: 1 padding_value: 2"
    found = settings_of(tmp_path, text)
    assert found == AippSettings(src_image_size_w=224, src_image_size_h=224)


def test_matrix_is_completed_entry_by_entry(tmp_path: Path) -> None:
    found = settings_of(tmp_path, NV12 + "csc_switch: true")
    assert found.matrix == (298, 516, 0, 298, -100, -208, 298, 0, 409)
    assert found.input_bias == found.output_bias == (16, 128, 128)
    found = settings_of(tmp_path, RGB + "csc_switch: true matrix_r0c1: 5 output_bias_1: 0")
    assert found.matrix == (66, 5, 25, -38, -74, 112, 112, -94, -18)
    assert found.output_bias == (16, 0, 128)


def test_gray_results_need_a_network_of_one_channel(tmp_path: Path) -> None:
    zeros = " ".join(f"matrix_r{row}c{column}: 0" for row in (1, 2) for column in range(3))
    row = "csc_switch: true matrix_r0c0: 256 matrix_r0c1: 0 matrix_r0c2: 0 " + zeros
    assert settings_of(tmp_path, NV12 + row, network(1, 1, 224, 224)).is_gray
    with pytest.raises(AtcError, match="makes 1 channel"):
        settings_of(tmp_path, NV12 + row)
    assert settings_of(tmp_path, "input_format: YUV400_U8", network(1, 1, 8, 8)).channels == 1


CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("crop: true", {}, "input_format", "needs 'input_format'"),
    ("input_format: 0", {}, "input_format", "needs 'input_format'"),
    ("input_format: RAW10", {}, "input_format", "camera SoCs"),
    ("input_format: 77", {}, "input_format", "no picture format has the number 77"),
    (RGB + "mean_chn_0: 256", {}, "mean_chn_0", "[0, 255], found 256"),
    (RGB + "mean_chn_2: -1", {}, "mean_chn_2", "[0, 255], found -1"),
    (RGB + "min_chn_0: 65505", {}, "min_chn_0", "[-65504, 65504]"),
    (RGB + "min_chn_0: nan", {}, "min_chn_0", "finite"),
    (RGB + "var_reci_chn_1: 1e9", {}, "var_reci_chn_1", "[-65504, 65504], found 1000000000"),
    (RGB + "var_reci_chn_1: 1 var_reci_chn_1: 1", {}, "var_reci_chn_1", "more than one value"),
    (RGB + "matrix_r0c0: [1, 2]", {}, "matrix_r0c0", "more than one value"),
    (RGB + "matrix_r1c1: 32677", {}, "matrix_r1c1", "[-32677, 32676], found 32677"),
    (RGB + "input_bias_0: 256", {}, "input_bias_0", "[0, 255]"),
    (RGB + "resize: true", {}, "resize", "reserved"),
    (RGB + "support_rotation: true", {}, "support_rotation", "reserved"),
    (RGB + "src_image_size_w: 4097", {}, "src_image_size_w", "[0, 4096]"),
    (RGB + "src_image_size_w: -2", {}, "src_image_size_w", "[0, 4096], found -2"),
    (RGB + "load_start_pos_h: 4096", {}, "load_start_pos_h", "[0, 4095]"),
    (RGB + "top_padding_size: 33", {}, "top_padding_size", "[0, 32]"),
    (RGB + "src_image_size_w: 200", {}, "src_image_size_w", "makes 200 columns"),
    (RGB + "src_image_size_h: 200", {}, "src_image_size_h", "makes 200 rows"),
    (RGB + "crop: true", {}, "src_image_size_w", "given where 'crop' is true"),
    (RGB + "padding: true", {}, "src_image_size_w", "given where 'padding' is true"),
    (RGB + CROP + "load_start_pos_w: 33", {}, "crop_size_w", "33 and 'crop_size_w' 224 make 257"),
    (RGB + CROP + "load_start_pos_h: 33", {}, "crop_size_h", "ends beyond the picture"),
    (RGB + CROP + "load_start_pos_h: 300", {}, "load_start_pos_h", "the picture has 256 rows"),
    (RGB + CROP + "load_start_pos_h: 256", {}, "load_start_pos_h", "the picture has 256 rows"),
    (RGB + SOURCE + "crop: true crop_size_w: 200", {}, "crop_size_w", "makes 200 columns"),
    (RGB + PAD, {}, "src_image_size_w", "padding makes 220 columns"),
    (
        RGB + PAD + "left_padding_size: 4 top_padding_size: 2 bottom_padding_size: 1",
        {},
        "src_image_size_h",
        "padding makes 223 rows",
    ),
    (RGB + SOURCE + "crop: true padding: true", {}, "crop_size_w", "where 'padding' is true"),
    (NV12, {"shape": (1, 3, 224, 225)}, "src_image_size_w", "must be even"),
    (NV12, {"shape": (1, 3, 223, 224)}, "src_image_size_h", "must be even"),
    (NV12 + CROP + "load_start_pos_w: 3", {}, "load_start_pos_w", "must be even"),
    (NV12 + CROP + "load_start_pos_h: 3", {}, "load_start_pos_h", "must be even"),
    ("input_format: YUYV_U8", {"shape": (1, 3, 224, 225)}, "src_image_size_w", "must be even"),
    (RGB, {"shape": (1, 3, 224, 1)}, "src_image_size_w", "[2, 4096]"),
    (RGB, {"shape": (1, 3, 5000, 8)}, "src_image_size_h", "[1, 4096]"),
    (RGB, {"shape": (1, 1, 224, 224)}, "input_format", "makes 3 channels"),
    (RGB, {"shape": (1, 4, 224, 224)}, "input_format", "has 4"),
    ("input_format: YUV400_U8", {}, "input_format", "makes 1 channel of YUV400_U8"),
    ("input_format: YUV400_U8 csc_switch: true", {}, "csc_switch", "no colors"),
    (RGB, {"shape": (1, 3, 224)}, "related_input_rank", "4 dims"),
    (RGB, {"layout": "ND"}, "related_input_rank", "is ND [1, 3, 224, 224]"),
    (RGB + SOURCE, {"image_gears": True}, "src_image_size_w", "must be 0"),
    (RGB + "crop: true", {"image_gears": True}, "crop", "must be false"),
    (RGB + "padding: true", {"image_gears": True}, "padding", "must be false"),
    (RGB + "min_chn_0: 256", {"family": "Ascend310P"}, "min_chn_0", "[0, 255] on this SoC"),
    (RGB + "min_chn_0: -1", {"family": "Ascend310"}, "min_chn_0", "[0, 255] on this SoC"),
    ("input_format: YUYV_U8", {"family": "Ascend310P"}, "input_format", "does not read YUYV_U8"),
    (
        RGB + "src_image_size_w: 1100 src_image_size_h: 8 padding: true left_padding_size: 4",
        {"family": "Ascend310P", "shape": (1, 3, 8, 1104)},
        "padding",
        "1080 columns",
    ),
    (
        RGB,
        {"family": "Hi3796CV300CS", "shape": (1, 3, 224, 226)},
        "src_image_size_w",
        "multiple of 16 bytes",
    ),
    (
        NV12 + SOURCE + "crop: true crop_size_w: 223 crop_size_h: 224",
        {"family": "Hi3796CV300CS", "shape": (1, 3, 224, 223)},
        "crop_size_w",
        "must be even",
    ),
    (
        RGB + PAD + "left_padding_size: 4 top_padding_size: 4 padding_value: 1.5",
        {"family": "Ascend310P", "is_uint8": True},
        "padding_value",
        "whole number in [0, 255]",
    ),
    (
        RGB + PAD + "left_padding_size: 4 top_padding_size: 4 padding_value: 256",
        {"family": NEWEST, "is_uint8": True},
        "padding_value",
        "whole number in [0, 255]",
    ),
    (
        NV12 + SOURCE + "crop: true crop_size_w: 223 crop_size_h: 224",
        {"family": NEWEST, "shape": (1, 3, 224, 223)},
        "crop_size_w",
        "must be even",
    ),
    (RGB, {"family": NEWEST, "shape": (1, 3, 1, 8)}, "src_image_size_h", "[2, 4096]"),
    (
        RGB + GRAY + "output_bias_0: 3 output_bias_1: 0 output_bias_2: 0",
        {"family": NEWEST, "shape": (1, 1, 224, 224)},
        "csc_switch",
        "all output biases of 0",
    ),
    (
        NV12 + GRAY + "input_bias_0: 0 input_bias_1: 0 input_bias_2: 1",
        {"family": NEWEST, "shape": (1, 1, 224, 224)},
        "csc_switch",
        "all input biases of 0",
    ),
]
"""Fields of static AIPP, changes of the network's input, the field at fault, and words."""


@pytest.mark.parametrize(("fields", "changes", "field", "words"), CASES)
def test_configuration_is_refused(
    tmp_path: Path, fields: str, changes: dict[str, Any], field: str, words: str
) -> None:
    given = dict(changes)
    target = network(*given.pop("shape", ()), **given)
    text = f"aipp_op {{\n aipp_mode: static\n {fields}\n}}"
    found = refusal(tmp_path, text, target)
    assert words in found.message
    assert found.place is not None
    assert found.place.field == field
    named = [number for number, line in enumerate(text.splitlines(), 1) if f"{field}:" in line]
    assert found.place.line in (named or [1])
    assert found.atc is not None
    assert (found.atc.code, found.atc.arguments) == ("E10052", (found.message,))


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("aipp_op { input_format: RGB888_U8 }", "aipp_mode"),
        ("aipp_op { aipp_mode: undefined input_format: RGB888_U8 }", "aipp_mode"),
        ("aipp_op { aipp_mode: 3 input_format: RGB888_U8 }", "aipp_mode"),
        ("aipp_op { aipp_mode: dynamic }", "max_src_image_size"),
        ("aipp_op { aipp_mode: dynamic max_src_image_size: 0 }", "max_src_image_size"),
        ("multi_shape_op { mode: batch }", "multi_shape_op"),
    ],
)
def test_mode_and_its_fields_are_required(tmp_path: Path, text: str, field: str) -> None:
    found = refusal(tmp_path, text)
    assert found.place is not None
    assert found.place.field == field
    assert found.atc is not None
    assert found.atc.code == "E10052"


def test_dynamic_aipp_takes_only_the_bytes(tmp_path: Path) -> None:
    text = "aipp_op { aipp_mode: dynamic max_src_image_size: 752640 }"
    (config,) = read_aipp_file(written(tmp_path, text)).configs
    assert checked(config, network()) == AippSettings(
        aipp_mode="dynamic", max_src_image_size=752640
    )
    found = refusal(tmp_path, text, network(layout="ND"))
    assert found.atc is not None
    assert found.atc.code == "E13014"


@pytest.mark.parametrize(
    ("fields", "changes"),
    [
        (NV12 + CROP + "load_start_pos_w: 3 load_start_pos_h: 1", {"family": "Ascend310B"}),
        (RGB + "min_chn_0: -300", {"family": "Ascend950"}),
        (RGB + "min_chn_0: 255", {"family": "Ascend310"}),
        ("input_format: AYUV444_U8", {"family": "Hi3796CV300CS"}),
        (RGB + PAD + "left_padding_size: 4 top_padding_size: 4 padding_value: 1.5", {}),
        (RGB + "related_input_rank: 0 input_edge_idx: 0", {"image_gears": True}),
        (RGB + CROP + "load_start_pos_w: 32 load_start_pos_h: 32", {}),
        ("input_format: XRGB8888_U8", {"family": "Hi3796CV300CS"}),
        (
            RGB + PAD + "left_padding_size: 4 top_padding_size: 4 padding_value: -1.5",
            {"family": "Ascend310P"},
        ),
    ],
)
def test_families_take_what_is_theirs(tmp_path: Path, fields: str, changes: dict[str, Any]) -> None:
    assert settings_of(tmp_path, fields, network(**changes)).output_size == (224, 224)


def test_limits_of_widths_are_included(tmp_path: Path) -> None:
    fields = "src_image_size_w: 1076 src_image_size_h: 8 padding: true left_padding_size: 4"
    target = network(1, 3, 8, 1080, family="Ascend310P")
    assert settings_of(tmp_path, RGB + fields, target).output_size == (8, 1080)
    target = network(1, 3, 8, 4, family="Hi3796CV300CS")
    assert settings_of(tmp_path, "input_format: ARGB8888_U8", target).src_image_size_w == 4


def test_each_family_has_rules() -> None:
    assert set(AIPP_RULES) == {family.value for family in SocFamily}


def test_numbers_of_fields_are_unique() -> None:
    assert len({row.number for row in AIPP_FIELDS}) == len({row.name for row in AIPP_FIELDS})
    assert len(AIPP_FIELDS) == 56


def two(first: str, second: str) -> str:
    """Return two configurations with fields of their own."""
    return "\n".join(
        f"aipp_op {{ aipp_mode: static input_format: RGB888_U8 {fields} }}"
        for fields in (first, second)
    )


def test_configurations_belong_to_inputs(tmp_path: Path) -> None:
    file = read_aipp_file(written(tmp_path, two("related_input_rank: 2", "")))
    found = assigned_configs(file, ["a", "b", "c"])
    assert {at: config.place.line for at, config in found.items() if config.place} == {2: 1, 0: 2}


@pytest.mark.parametrize(
    ("first", "second", "field", "words", "help_words"),
    [
        ("", "", "related_input_rank", "('a') has a second configuration, after", "each input"),
        (
            "related_input_rank: 1",
            "related_input_rank: 1",
            "related_input_rank",
            "input 1 ('b') has a second configuration, after that of line 1",
            "each input",
        ),
        ("", "related_input_rank: 2", "related_input_rank", "is 2, but the model has 2", "0"),
        ("", "input_edge_idx: 1", "input_edge_idx", "only edge 0", "delete"),
        ("", "related_input_name: 'b'", "related_input_name", "Caffe", "`related_input_rank: 1`"),
        ("related_input_name: 'z'", "", "related_input_name", "Caffe", "`related_input_rank`"),
    ],
)
def test_address_is_refused(
    tmp_path: Path, first: str, second: str, field: str, words: str, help_words: str
) -> None:
    file = read_aipp_file(written(tmp_path, two(first, second)))
    with pytest.raises(AtcError) as raised:
        assigned_configs(file, ["a", "b"])
    (found,) = raised.value.diagnostics
    assert words in found.message
    assert help_words in (found.help or "")
    assert found.place is not None
    assert found.place.field == field
    assert found.atc is not None
    assert found.atc.code == "E10052"


def test_missing_file_has_the_code_of_atc(tmp_path: Path) -> None:
    with pytest.raises(AtcError) as raised:
        read_aipp_file(tmp_path / "none.cfg")
    (found,) = raised.value.diagnostics
    assert found.code.id == "ATC2001"
    assert found.atc is not None
    assert found.atc.code == "E10001"
    assert found.atc.arguments[:2] == (str(tmp_path / "none.cfg"), "--insert_op_conf")


def test_refusals_beside_other_options(tmp_path: Path) -> None:
    (config,) = read_aipp_file(written(tmp_path, SAMPLE)).configs
    (fp16,) = fp16_input_refusal(config, "x").diagnostics
    assert fp16.atc is not None
    assert (fp16.atc.code, fp16.atc.arguments) == ("E10034", ("x",))
    (dims,) = dims_gears_refusal("f").diagnostics
    assert dims.atc is not None
    assert dims.atc.code == "E10001"


DOUBTS = [
    (RGB, False, []),
    (RGB + "csc_switch: true", False, ["9 of 9 entries of the matrix are missing"]),
    (NV12 + "csc_switch: true", False, ["YUV to BGR: matrix_r0c0 298, matrix_r0c1 516"]),
    (
        RGB + "crop_size_w: 3 load_start_pos_w: 2",
        False,
        ["and 1 more have no effect without `crop: true`"],
    ),
    (RGB + "padding_value: 3", False, ["without `padding: true`"]),
    (RGB + "matrix_r0c0: 256", False, ["without `csc_switch: true`"]),
    (RGB + "var_reci_chn_0: 1e-9", False, ["1e-09, which is 0 in float16"]),
    (
        RGB
        + "csc_switch: true "
        + " ".join(f"matrix_r{at // 3}c{at % 3}: -20000" for at in range(9)),
        False,
        ["add up to 60000"] * 3,
    ),
    (RGB + "ax_swap_switch: true", False, ["no effect on RGB888_U8"]),
    ("input_format: XRGB8888_U8 ax_swap_switch: true", False, []),
    (RGB + "mean_chn_0: 3", True, ["the network takes the bytes unchanged"]),
]


@pytest.mark.parametrize(("fields", "is_uint8", "words"), DOUBTS)
def test_doubtful_configuration_is_warned_of(
    tmp_path: Path, fields: str, is_uint8: bool, words: list[str]
) -> None:
    text = f"aipp_op {{ aipp_mode: static {fields} }}"
    (config,) = read_aipp_file(written(tmp_path, text)).configs
    found = config_doubts(config, is_uint8=is_uint8)
    assert len(found) == len(words)
    for doubt, part in zip(found, words, strict=True):
        assert part in doubt.message
        assert doubt.code.id == "ATC2023"


def test_gray_for_a_network_of_three_channels_has_a_matrix_as_the_hint(tmp_path: Path) -> None:
    rest = "".join(f" matrix_r{row}c{column}: 0" for row in (1, 2) for column in range(3))
    biases = "".join(f" output_bias_{channel}: 0" for channel in range(3))
    row = "matrix_r0c0: 76 matrix_r0c1: 150 matrix_r0c2: 30"
    fields = f"aipp_mode: static {RGB} csc_switch: true {row}{rest}{biases}"
    found = refusal(tmp_path, f"aipp_op {{ {fields} }}")
    assert "the numbers of row 0" in (found.help or "")
    equal = "".join(f" matrix_r{r}c{c}: {n}" for r in range(3) for c, n in enumerate((76, 150, 30)))
    assert settings_of(tmp_path, f"{RGB} csc_switch: true {equal}{biases}").channels == 3


def test_dynamic_aipp_has_the_bounds_of_ascendcl(tmp_path: Path) -> None:
    assert rules_of(NEWEST, dynamic=True).most_min == 255
    assert rules_of("Ascend310B", dynamic=True).even_start
    text = "aipp_op { aipp_mode: dynamic max_src_image_size: 4096 }"
    (config,) = read_aipp_file(written(tmp_path, text)).configs
    with pytest.raises(AtcError, match="no dynamic AIPP"):
        checked(config, replace(network(1, 3, 8, 8), family="Hi3796CV300CS"))

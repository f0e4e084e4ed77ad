"""Dynamic AIPP: parameter buffers, files with settings of a run, and what a run checks."""

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atc_py.diag import AtcError, Diagnostic
from atc_py.options.aipp import (
    AippSettings,
    checked_pictures,
    parameter_bytes,
    read_run_settings,
    settings_of_bytes,
)
from atc_py.options.aipp.parameters import BATCH_BYTES, HEADER_BYTES
from tests.options.aipp.configs import network

FULL = AippSettings(
    aipp_mode="dynamic",
    input_format="YUV420SP_U8",
    src_image_size_w=256,
    src_image_size_h=260,
    crop=True,
    load_start_pos_w=2,
    load_start_pos_h=4,
    crop_size_w=200,
    crop_size_h=202,
    csc_switch=True,
    rbuv_swap_switch=True,
    matrix=(1, -2, 3, -4, 5, -6, 7, -8, 32676),
    input_bias=(16, 128, 255),
    output_bias=(1, 2, 3),
    mean_chn=(1, 2, 3, 4),
    min_chn=(0.5, 1.5, -2.0, 0.0),
    var_reci_chn=(0.25, -0.5, 2.0, 1.0),
    padding=True,
    left_padding_size=20,
    right_padding_size=4,
    top_padding_size=21,
    bottom_padding_size=1,
)

OTHER = replace(FULL, crop=False, padding=False, mean_chn=(9, 8, 7, 6))


def test_buffer_has_each_number_at_its_offset() -> None:
    data = parameter_bytes([FULL, OTHER])
    assert len(data) == HEADER_BYTES + 2 * BATCH_BYTES == 64 + 96 * 2

    def at(form: str, offset: int) -> tuple[Any, ...]:
        return struct.unpack_from("<" + form, data, offset)

    assert at("5b", 0) == (1, 1, 1, 0, 2)
    assert at("2i", 8) == (256, 260)
    assert at("9h", 16) == FULL.matrix
    assert at("3B", 40) == (1, 2, 3)
    assert at("3B", 43) == (16, 128, 255)
    assert at("4b", 64) == (1, 0, 1, 0)
    assert at("4i", 72) == (2, 4, 200, 202)
    assert at("4i", 88) == (0, 0, 0, 0)
    assert at("4i", 104) == (21, 1, 20, 4)
    assert at("4h", 120) == (1, 2, 3, 4)
    assert at("4e", 128) == FULL.min_chn
    assert at("4e", 136) == FULL.var_reci_chn
    assert at("4b", 160) == (0, 0, 0, 0)
    assert at("4h", 64 + 96 + 56) == (9, 8, 7, 6)
    reserved = [*range(5, 8), *range(34, 40), *range(46, 64), *range(68, 72), *range(144, 160)]
    assert not any(data[place] for place in reserved)


@pytest.mark.parametrize(
    ("name", "code"),
    [("YUV420SP_U8", 1), ("XRGB8888_U8", 2), ("RGB888_U8", 5), ("YUV400_U8", 10)],
)
def test_formats_have_numbers_of_their_own(name: str, code: int) -> None:
    data = parameter_bytes([replace(FULL, input_format=name)])
    assert data[0] == code
    assert settings_of_bytes(data)[0].input_format == name


def test_buffer_gives_its_settings_back() -> None:
    assert settings_of_bytes(parameter_bytes([FULL, OTHER])) == (FULL, OTHER)
    fine = replace(FULL, min_chn=(116.28,) * 4, var_reci_chn=(0.017125,) * 4)
    (found,) = settings_of_bytes(parameter_bytes([fine]))
    assert found.min_chn == (float(np.float16(116.28)),) * 4
    assert found.var_reci_chn == (float(np.float16(0.017125)),) * 4


def message_of(raised: pytest.ExceptionInfo[AtcError]) -> Diagnostic:
    """Return the only finding of an error."""
    (found,) = raised.value.diagnostics
    assert found.code.id == "ATC2022"
    return found


@pytest.mark.parametrize(
    ("pictures", "words"),
    [
        ([], "1 to 127 pictures, found 0"),
        ([FULL] * 128, "found 128"),
        ([FULL, replace(FULL, src_image_size_w=2)], "it is 256 for picture 0 and 2 for picture 1"),
        ([replace(FULL, input_format="YUYV_U8")], "does not take YUYV_U8"),
        ([replace(FULL, padding_value=1.0)], "borders of dynamic AIPP are 0"),
        ([replace(FULL, min_chn=(1e6, 0, 0, 0))], "within float16"),
        ([replace(FULL, min_chn=(float("nan"), 0, 0, 0))], "within float16"),
        ([replace(FULL, mean_chn=(40000, 0, 0, 0))], "does not fit in the buffer"),
        ([replace(FULL, input_bias=(256, 0, 0))], "does not fit in the buffer"),
    ],
)
def test_settings_without_place_in_a_buffer(pictures: list[AippSettings], words: str) -> None:
    with pytest.raises(AtcError) as raised:
        parameter_bytes(pictures)
    assert words in message_of(raised).message


def changed(offset: int, value: int) -> bytes:
    """Return a buffer with another byte."""
    data = bytearray(parameter_bytes([FULL, OTHER]))
    data[offset] = value
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "64 bytes or more, found 0"),
        (parameter_bytes([FULL])[:-1], "for 1 pictures has 64 + 96 x 1 bytes, found 159"),
        (parameter_bytes([FULL]) + b"\0", "found 161"),
        (changed(4, 0), "for 0 pictures"),
        (changed(4, 0)[:64], "for 0 pictures"),
        (changed(4, 255), "for -1 pictures"),
        (changed(0, 3), "one of 1 YUV420SP_U8, 2 XRGB8888_U8, 5 RGB888_U8, 10 YUV400_U8, found 3"),
        (changed(65, 1), "'scfSwitch' must be 0"),
        (changed(67, 1), "'rotateSwitch' must be 0"),
        (changed(66, 2), "'paddingSwitch' must be 0 or 1, found 2"),
        (changed(66, 4), "'paddingSwitch' must be 0 or 1, found 4"),
    ],
)
def test_faulty_buffer_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(AtcError) as raised:
        settings_of_bytes(data, "p.bin")
    found = message_of(raised)
    assert words in found.message
    assert found.place is not None
    assert found.place.file == "p.bin"


def test_buffer_cut_at_any_byte_is_refused() -> None:
    data = parameter_bytes([FULL, OTHER])
    for end in range(len(data)):
        with pytest.raises(AtcError):
            settings_of_bytes(data[:end])


TARGET = network(2, 3, 224, 224)
BYTES = 2 * 256 * 260 * 3 // 2


def test_run_is_checked_against_the_model() -> None:
    assert checked_pictures([FULL, FULL], TARGET, BYTES) == (FULL, FULL)


@pytest.mark.parametrize(
    ("pictures", "most", "words"),
    [
        ([FULL], BYTES, "settings for 1 pictures, but the model's batch is 2"),
        ([FULL, FULL], BYTES - 1, "more than max_src_image_size"),
        ([FULL, OTHER], BYTES, "picture 1: the picture makes 256 columns, but input 'x' has 224"),
        (
            [replace(FULL, src_image_size_h=261)] * 2,
            BYTES * 2,
            "picture 0: 'src_image_size_h' must",
        ),
        ([replace(FULL, load_start_pos_w=60)] * 2, BYTES, "ends beyond the picture"),
        ([replace(FULL, load_start_pos_w=3)] * 2, BYTES, "must be even"),
        ([replace(FULL, left_padding_size=33)] * 2, BYTES, "[0, 32]"),
        ([replace(FULL, mean_chn=(-1, 0, 0, 0))] * 2, BYTES, "[0, 255], found -1"),
        ([replace(FULL, input_format="YUV400_U8")] * 2, BYTES, "no colors"),
    ],
)
def test_run_that_does_not_fit_is_refused(
    pictures: list[AippSettings], most: int, words: str
) -> None:
    with pytest.raises(AtcError) as raised:
        checked_pictures(pictures, TARGET, most, "p.bin")
    assert words in message_of(raised).message


TEXT = """\
aipp_op {
  aipp_mode: dynamic
  related_input_rank: 1
  input_format: RGB888_U8
  src_image_size_w: 256
  src_image_size_h: 256
  crop: true
  load_start_pos_h: 16
  load_start_pos_w: 16
  min_chn_0: 123.675
  var_reci_chn_0: 0.0171247538316637
}
"""

INI = """\
; as ais_bench reads it
[aipp_op]
    input_format : RGB888_U8
    src_image_size_w : 256
    src_image_size_h = 256   # either sign

    crop : 1
    load_start_pos_h : 16
    load_start_pos_w : 16
    crop_size_w : 224
    crop_size_h : 224
    csc_switch : 0
    csc_switch : 0
\t min_chn_0 : 123.675
    var_reci_chn_0 : 0.0171247538316637
"""

EXPECTED = AippSettings(
    aipp_mode="dynamic",
    src_image_size_w=256,
    src_image_size_h=256,
    crop=True,
    load_start_pos_h=16,
    load_start_pos_w=16,
    crop_size_w=224,
    crop_size_h=224,
    min_chn=(123.675, 0.0, 0.0, 0.0),
    var_reci_chn=(0.0171247538316637, 1.0, 1.0, 1.0),
)


def run_settings(folder: Path, content: str | bytes) -> dict[int, tuple[AippSettings, ...]]:
    """Return the settings of a file for a network whose second input has dynamic AIPP."""
    path = folder / "run.config"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_run_settings(path, {1: TARGET}, ["info", "x"], 2)


def test_three_forms_of_a_file_say_the_same(tmp_path: Path) -> None:
    assert run_settings(tmp_path, TEXT) == {1: (EXPECTED, EXPECTED)}
    assert run_settings(tmp_path, INI) == {1: (EXPECTED, EXPECTED)}
    data = parameter_bytes([EXPECTED, EXPECTED])
    assert run_settings(tmp_path, data) == {1: settings_of_bytes(data)}


FAULTS = [
    (TEXT.replace("dynamic", "static"), 2, "aipp_mode", "found static"),
    (TEXT.replace("  input_format: RGB888_U8\n", ""), 1, "input_format", "is missing"),
    (TEXT.replace("rank: 1", "rank: 0"), 3, "related_input_rank", "'info' has no dynamic AIPP"),
    (TEXT.replace("rank: 1", "rank: 2"), 3, "related_input_rank", "has 2 inputs"),
    (TEXT.replace("crop: true", "crop: false"), 5, "src_image_size_w", "makes 256 columns"),
    (TEXT.replace("crop: true", "crop: maybe"), 7, "crop", "true or false"),
    ("", None, None, "no settings for input 'x'"),
    (INI.replace("[aipp_op]", "[aipp]"), 2, None, "a single section [aipp_op]"),
    (INI + "[aipp_op]\n", 16, None, "a second header [aipp_op]"),
    (INI.replace("crop : 1", "crop : 1\n crop : 0"), 8, "crop", "with another value"),
    (INI.replace("crop : 1", "crops : 1"), 7, "crops", "did you mean 'crop'"),
    (INI.replace("crop : 1", "crop 1"), 7, None, "expected `key : value`"),
    (INI.replace("crop : 1", "crop :"), 7, "crop", "true or false"),
    (INI.replace("RGB888_U8", "RGB"), 3, "input_format", "found RGB"),
    (INI.replace("src_image_size_w : 256", ""), 2, "src_image_size_w", "each run states it"),
]


@pytest.mark.parametrize(("text", "line", "field", "words"), FAULTS)
def test_faulty_file_of_a_run_is_refused(
    tmp_path: Path, text: str, line: int | None, field: str | None, words: str
) -> None:
    with pytest.raises(AtcError) as raised:
        run_settings(tmp_path, text)
    found = message_of(raised)
    assert words in found.message
    assert found.place is not None
    assert found.place.line == line
    assert field is None or found.place.field == field


def test_ini_cut_at_any_byte_is_refused_or_a_shorter_file(tmp_path: Path) -> None:
    for end in range(0, len(INI), 3):
        try:
            run_settings(tmp_path, INI[:end])
        except AtcError as error:
            place = error.diagnostics[0].place
        else:
            place = None
            assert end > INI.index("crop : 1")
        assert place is None or place.file


def test_lone_forms_need_a_lone_input(tmp_path: Path) -> None:
    path = tmp_path / "run.ini"
    path.write_text(INI, encoding="utf-8")
    with pytest.raises(AtcError) as raised:
        read_run_settings(path, {0: TARGET, 1: TARGET}, ["a", "b"], 2)
    assert "2 have dynamic AIPP" in message_of(raised).message

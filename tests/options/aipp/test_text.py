"""The text of a configuration file: what it may be, and where faults are."""

from pathlib import Path
from typing import Any

import pytest
from google.protobuf import (  # type: ignore[import-untyped]
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    text_format,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from atc_py.diag import AtcError
from atc_py.options.aipp import AippConfig, file_doubts, read_aipp_file
from atc_py.options.aipp.config import FORMAT_NUMBERS
from atc_py.options.aipp.fields import AIPP_FIELDS, AIPP_MODES, FieldKind
from atc_py.options.aipp.file import parse_aipp
from atc_py.options.aipp.text_format import TextFormatError, TextPlace, read_fields
from tests.options.aipp.configs import SAMPLE, refusal, written


def test_sample_is_read(tmp_path: Path) -> None:
    file = read_aipp_file(written(tmp_path, SAMPLE))
    (config,) = file.configs
    assert file_doubts(file) == []
    assert config["input_format"] == "YUV420SP_U8"
    assert config["matrix_r0c2"] == 359
    assert config["matrix_r1c2"] == -183
    assert config["matrix_r2c0"] == 256
    assert config["var_reci_chn_0"] == 0.017125
    assert config["var_reci_chn_2"] == 1.0
    assert config["padding_value"] == -1.5
    assert config.place_of("crop").line == 7
    assert "output_bias_0" not in config


@pytest.mark.parametrize(
    "text",
    [
        "aipp_op: { aipp_mode: static input_format: RGB888_U8 }",
        "aipp_op < aipp_mode: 1; input_format: 3; >",
        "aipp_op{aipp_mode:static,input_format:RGB888_U8,};",
        "aipp_op {\r\n\taipp_mode\t:\tstatic\r\n\tinput_format : RGB888_U8\r\n}\r\n",
        "\ufeffaipp_op { aipp_mode: static # }\n input_format: RGB888_U8 csc_switch: f crop: 0 }",
        "aipp_op { aipp_mode: static input_format: RGB888_U8 related_input_name: 'a' \"b\" }",
    ],
)
def test_forms_that_protobuf_reads(tmp_path: Path, text: str) -> None:
    (config,) = read_aipp_file(written(tmp_path, text)).configs
    assert config["aipp_mode"] == "static"
    assert config["input_format"] == "RGB888_U8"
    assert config["related_input_name"] in {"", "ab"}


def test_comments_may_have_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "aipp.cfg"
    path.write_bytes(f"# \u56fe\u50cf {{\n{SAMPLE}".encode("gbk"))
    (config,) = read_aipp_file(path).configs
    assert config["crop_size_w"] == 220
    assert config.place_of("crop").line == 8
    path.write_bytes("aipp_op { \u56fe: 1 }".encode("gbk"))
    with pytest.raises(AtcError, match="does not belong here"):
        read_aipp_file(path)


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing"])
def test_file_without_configuration_is_empty(tmp_path: Path, text: str) -> None:
    file = read_aipp_file(written(tmp_path, text))
    assert file.configs == ()
    (doubt,) = file_doubts(file)
    assert "has no `aipp_op`" in doubt.message


FAULTS = [
    ("aipp_op {\n  aipp_mode: static\n  cropp: true\n}", 3, 3, "cropp", "did you mean 'crop'"),
    ("aipp_op {\n  aipp_mode: static\n", 3, 1, "aipp_mode", "`{` of line 1 has no `}`"),
    ("aipp_op {\n  aipp_mode static\n}", 2, 13, "aipp_mode", "expected `:`"),
    ("aipp_op {\n  aipp_mode: statisch\n}", 2, 14, "aipp_mode", "undefined, static, dynamic"),
    ("aipp_op {\n  crop: yes\n}", 2, 9, "crop", "takes true or false, found yes"),
    ("aipp_op {\n  crop: 2\n}", 2, 9, "crop", "takes true or false"),
    ("aipp_op {\n  crop: true\n  crop: true\n}", 3, 3, "crop", "a second time"),
    ("aipp_op {\n  crop: [true]\n}", 2, 3, "crop", "found a list"),
    ("aipp_op {\n  crop { }\n}", 2, 3, "crop", "found a message"),
    ("aipp_op {\n  mean_chn_0: 1.5\n}", 2, 15, "mean_chn_0", "whole number"),
    ("aipp_op {\n  mean_chn_0: 1x\n}", 2, 15, None, "'1x' is not a number"),
    ("aipp_op {\n  mean_chn_0: 3000000000\n}", 2, 15, "mean_chn_0", "2147483647"),
    ("aipp_op {\n  related_input_rank: -1\n}", 2, 23, "related_input_rank", "[0, 4294967295]"),
    ("aipp_op {\n  max_src_image_size: -1\n}", 2, 23, "max_src_image_size", "[0, 4294967295]"),
    ("aipp_op {\n  input_format: YUV\n}", 2, 17, "input_format", "YUV420SP_U8, XRGB8888_U8"),
    ("aipp_op {\n  input_format: 'RGB888_U8'\n}", 2, 17, "input_format", "found 'RGB888_U8'"),
    ("aipp_op {\n  related_input_name: x\n}", 2, 23, "related_input_name", "text in quotes"),
    ("aipp_op {\n  related_input_name: 'x\n}", 2, 23, None, "no closing quote"),
    ("aipp_op {\n  matrix_r0c0: [1 2]\n}", 2, 19, "matrix_r0c0", "`,` or `]`"),
    ("aipp_op {\n  matrix_r0c0: [1,\n}", 3, 1, "matrix_r0c0", "expected a value"),
    ("aipp_op {\n  mean_chn_0:\n}", 3, 1, "mean_chn_0", "expected a value"),
    ("aipp_op {\n  @\n}", 2, 3, None, "'@'"),
    ("aipp_op {\n}\n}", 3, 1, None, "expected the name of a field, found '}'"),
    ("aipp_op: 5", 1, 1, "aipp_op", "fields in braces"),
    ("aipp_mode: static", 1, 1, "aipp_mode", "expected `aipp_op`"),
    ("a { a { a { a { a { a { a { a { a {", 1, 36, "a", "nested more than 8 deep"),
    ("aipp_op { rotation_angle: 0 }", 1, 11, "rotation_angle", "no field"),
]
"""Texts with the line and column of their fault, its field, and words of the message."""


@pytest.mark.parametrize(("text", "line", "column", "field", "words"), FAULTS)
def test_fault_of_grammar_names_its_place(
    tmp_path: Path, text: str, line: int, column: int, field: str | None, words: str
) -> None:
    found = refusal(tmp_path, text)
    assert words in found.message
    assert found.place is not None
    assert (found.place.line, found.place.column) == (line, column)
    assert field is None or found.place.field == field
    assert found.atc is not None
    assert (found.atc.code, found.atc.arguments) == ("E13005", (str(tmp_path / "aipp.cfg"),))


def test_sample_cut_at_any_byte_is_refused_or_whole() -> None:
    for end in range(len(SAMPLE.rstrip())):
        text = SAMPLE[:end]
        begun = "aipp_op" in text or text.partition("\n")[2]
        try:
            found = parse_aipp("f", text)
        except AtcError as error:
            (cause,) = error.diagnostics
            assert cause.place is not None
            assert cause.place.line
            assert cause.atc is not None
            assert cause.atc.code == "E13005"
        else:
            assert not begun
            assert found.configs == ()


@given(st.text(st.sampled_from("aipp_op{}[]<>:;,#'\"\\-.0x1f \n\tcrop"), max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    place = TextPlace(1, 1)
    try:
        read_fields(text)
    except TextFormatError as error:
        place = error.place
    assert place.line >= 1
    assert place.column >= 1


def protobuf_message() -> Any:
    """Return protobuf's class of the grammar, made of the table of fields."""
    file = descriptor_pb2.FileDescriptorProto(name="aipp.proto", syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto
    types = {
        FieldKind.INT: kinds.TYPE_INT32,
        FieldKind.UINT: kinds.TYPE_UINT32,
        FieldKind.FLOAT: kinds.TYPE_FLOAT,
        FieldKind.BOOL: kinds.TYPE_BOOL,
        FieldKind.STRING: kinds.TYPE_STRING,
        FieldKind.MODE: kinds.TYPE_ENUM,
        FieldKind.FORMAT: kinds.TYPE_ENUM,
    }
    enums = {
        "Mode": AIPP_MODES,
        "Format": {"undefined_format": 0} | FORMAT_NUMBERS,
    }
    operation = file.message_type.add(name="AippOp")
    for name, values in enums.items():
        enum = file.enum_type.add(name=name)
        for value, number in values.items():
            enum.value.add(name=value, number=number)
    for row in AIPP_FIELDS:
        field = operation.field.add(name=row.name, number=row.number, type=types[row.kind])
        field.label = kinds.LABEL_REPEATED if row.repeated else kinds.LABEL_OPTIONAL
        if row.kind in {FieldKind.MODE, FieldKind.FORMAT}:
            field.type_name = ".Mode" if row.kind is FieldKind.MODE else ".Format"
    root = file.message_type.add(name="InsertNewOps")
    root.field.add(
        name="aipp_op", number=1, type=kinds.TYPE_MESSAGE, label=kinds.LABEL_REPEATED
    ).type_name = ".AippOp"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("InsertNewOps"))


MESSAGE = protobuf_message()

VALUES = st.sampled_from(
    [
        *["true", "false", "0", "1", "-1", "007", "0x1F", "08", "1.5", "-.5", "1e3", "1.f"],
        *["inf", "nan", "static", "dynamic", "RGB888_U8", "2", "4294967295", "4294967296"],
        *["-2147483648", "'a'", '"b\\x41"', "[1]", "[]", "[1,2]", "[1,]", "{}", "-", "t"],
        *["False", "1e999", "0x1FFFFFFFF", "-0", "1f", "99"],
    ]
)
NAMES = st.sampled_from([*[row.name for row in AIPP_FIELDS][:12], "matrix_r0c0", "min_chn_0"])


@settings(max_examples=300)
@given(st.lists(st.tuples(NAMES, VALUES), max_size=3))
def test_protobuf_reads_the_same_texts(fields: list[tuple[str, str]]) -> None:
    # Protobuf's C++ reader takes it for enums, as ours does; that of Python does not.
    enums = {value for name, value in fields if name in {"aipp_mode", "input_format"}}
    assume(enums.isdisjoint({"007"}))
    text = "aipp_op {" + "; ".join(f"{name}: {value}" for name, value in fields) + "}"
    message = MESSAGE()
    try:
        text_format.Parse(text, message)
        theirs = True
    except (text_format.ParseError, ValueError):
        theirs = False
    try:
        (config,) = parse_aipp("f", text).configs
    except AtcError as error:
        (cause,) = error.diagnostics
        assert cause.atc is not None
        # A list with several values, or a repeated field given several times, is ATC's refusal;
        # protobuf takes a second value where the first was the default.
        twice = len({name for name, _ in fields}) < len(fields)
        assert not theirs or twice or cause.atc.code == "E10052", text
        return
    assert theirs, text
    for name, _ in fields:
        if name in config:
            theirs_value = getattr(message.aipp_op[0], name)
            assert own_value(config, name) == pytest.approx(
                theirs_value[0] if hasattr(theirs_value, "append") else theirs_value, nan_ok=True
            )


def own_value(config: AippConfig, name: str) -> object:
    """Return a value as protobuf has it: enums are numbers."""
    value = config[name]
    if name not in {"aipp_mode", "input_format"}:
        return value
    numbers = AIPP_MODES | {"": 0} | FORMAT_NUMBERS
    return numbers[str(value)] if str(value) in numbers else int(str(value))

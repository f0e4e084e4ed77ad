"""Loading: every fault of a specification is BAD_SPEC at its line and column, with a hint."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.diag import AtcError, Diagnostic
from atc_py.diag.codes import BAD_SPEC, FILE_NOT_FOUND, FILE_UNREADABLE
from atc_py.spec import AttributeType, Level, OpSpec, load_spec, parse_spec
from atc_py.tensor.dtypes import DType
from tests.failures import in_one_item
from tests.sampling import examples

GOOD = """\
op: Demo
opsets: [9, 10, 12]
summary: {en: A demo, zh: 示例}
inputs:
  - {name: X, dtypes: [float16, float32], rank: 4, layout: NCHW}
  - {name: W, dtypes: same_as X, rank: 4, layout: OIHW}
  - {name: Z, dtypes: any, optional: true, variadic: true, since: 11}
outputs:
  - {name: Y, dtypes: same_as X}
attributes:
  - {name: group, type: int, default: 1, one_of: [1], otherwise: rewrite}
  - {name: strides, type: ints, default: [1, 1], each: [1, 63]}
  - {name: axis, type: int, default: -1, default_before: {opset: 13, value: 1}, range: [-4, 3]}
constraints:
  - {rule: dim_in_range, tensor: X, dim: W, range: [1, 4096]}
  - rule: dims_equal
    when: {attributes: [{name: group, one_of: [1]}], dims: [{tensor: X, dim: H, equals: 1}]}
    tensor: X
    other: W
    dims: [H, W]
    level: aicpu
target: {op: Target, attributes: {groups: group}}
notes: {en: Nothing odd}
example: {inputs: {X: [1]}, attributes: {any: [thing, true]}}
"""

# name: (text to replace, replacement, part of the message, part of the help); the place of the
# diagnostic must be where the replacement has ¦, or the beginning of the file where it has none.
FAULTS = {
    "unknown key": ("opsets:", "¦opset:", "unknown key 'opset'", "op, listed_as, opsets"),
    "unknown inner key": (
        "{name: X, dtypes",
        "{name: X, ¦dtype",
        "inputs[0]: unknown key 'dtype'",
        "name, dtypes, rank",
    ),
    "unknown key of a rule": (
        "dim: W, range",
        "dim: W, ¦rang",
        "constraints[0]: unknown key 'rang'",
        "allowed keys: rule, level, rewrite, when, proven, contradicted, tensor, dim, range",
    ),
    "missing key": ("op: Demo\n", "", "key 'op' is missing", "op, listed_as"),
    "missing inner key": (
        "{name: Y, dtypes: same_as X}",
        "¦{name: Y}",
        "outputs[0]: key 'dtypes' is missing",
        "name, dtypes",
    ),
    "missing argument of a rule": (
        "- {rule: dim_in_range, tensor: X, dim",
        "- ¦{rule: dim_in_range, dim",
        "constraints[0]: key 'tensor' is missing",
        "tensor, dim, range",
    ),
    "missing rule": ("- {rule: dim_in_range, ", "- ¦{", "key 'rule' is missing", "rule, level"),
    "unknown rule": (
        "rule: dim_in_range",
        "rule: ¦dim_in_rang",
        "unknown value 'dim_in_rang'",
        "attr_one_of, attr_each_in_range",
    ),
    "rule is a number": ("rule: dim_in_range", "rule: ¦5", "got `int`", "attr_one_of"),
    "unknown dtype": (
        "[float16, float32]",
        "[float16, ¦flaot32]",
        "inputs[0].dtypes[1]: unknown value 'flaot32'",
        "float16 | bfloat16 | float32",
    ),
    "unknown word for dtypes": (
        "dtypes: any",
        "dtypes: ¦all",
        "'all' has the wrong form",
        "same_as",
    ),
    "unknown dtype as a value": (
        "layout: NCHW}",
        "layout: NCHW, carried: {int8: float16, int16: ¦floot}}",
        "inputs[0].carried.int16: unknown value 'floot'",
        "float16 | bfloat16 | float32",
    ),
    "unknown dtype as a key": (
        "layout: NCHW}",
        "layout: NCHW, carried: {int8: float16, ¦floot: float16}}",
        "inputs[0].carried.floot: unknown value 'floot'",
        "float16 | bfloat16 | float32",
    ),
    "text in a later shape of the example": (
        "{inputs: {X: [1]}",
        "{inputs: {X: [1], W: [¦a]}",
        "example.inputs.W[0]: expected `int`",
        "an integer",
    ),
    "no dtypes": ("[float16, float32]", "¦[]", "length >= 1", "list of"),
    "unknown attribute type": ("type: ints", "type: ¦inst", "'inst'", "int | float"),
    "unknown rewrite": (
        "otherwise: rewrite}",
        "otherwise: rewrite, rewrite: ¦nowhere}",
        "no rewrite is called 'nowhere'",
        "add-bias",
    ),
    "unknown level": ("level: aicpu", "level: ¦slow", "'slow'", "error | rewrite | aicpu"),
    "unknown precision mode": (
        "when: {",
        "when: {precision_mode: ¦fast, ",
        "'fast'",
        "must_keep_origin_dtype",
    ),
    "unknown precision mode among several": (
        "when: {",
        "when: {precision_mode: [force_fp16, ¦fast], ",
        "'fast'",
        "must_keep_origin_dtype",
    ),
    "no precision mode": ("when: {", "when: {precision_mode: ¦[], ", "length >= 1", "list of"),
    "opset is text": ("[9, 10, 12]", "[9, ¦ten]", "opsets[1]: expected `int`", "an integer"),
    "opset is boolean": ("[9, 10, 12]", "[¦true]", "expected `int`, got `bool`", "integer"),
    "opsets are no list": ("[9, 10, 12]", "¦9", "expected list", "list of (an integer)"),
    "opsets fall": ("[9, 10, 12]", "[9, 12, ¦10]", "opset 10 must be in [13, 30]", "once"),
    "opset twice": ("[9, 10, 12]", "[9, ¦9]", "opset 9 must be in [10, 30]", "once"),
    "opset too large": ("[9, 10, 12]", "[9, ¦99]", "opset 99 must be in", "once"),
    "opset zero": ("[9, 10, 12]", "[¦0]", "opset 0 must be in [1, 30]", "once"),
    "no opsets": ("opsets: [9, 10, 12]\n", "", "no opset is given", "custom: true"),
    "custom with opsets": ("opsets: [", "custom: true\n¦opsets: [", "no opsets", "delete"),
    "range of three": ("[1, 4096]", "¦[1, 2, 3]", "length 2, got 3", "list of 2"),
    "range upside down": ("[1, 4096]", "¦[9, 1]", "9 is above the upper bound 1", "lower"),
    "each upside down": ("[1, 63]", "¦[63, 1]", "63 is above the upper bound 1", "lower"),
    "range of a list": ("each: [1, 63]", "¦range: [1, 63]", "range cannot bound", "lists"),
    "each of a number": ("range: [-4, 3]", "¦each: [-4, 3]", "each cannot bound", "lists"),
    "empty summary": ("en: A demo", "en: ¦''", "length >= 1", "text"),
    "summary is text": ("{en: A demo, zh: 示例}", "¦demo", "expected mapping", "en, zh"),
    "name with a dash": ("name: Y", "name: ¦Y-1", "'Y-1' has the wrong form", "text like"),
    "name with a line break": ("name: Y", 'name: ¦"Y\\n"', "has the wrong form", "text like"),
    "attribute twice": (
        "name: strides",
        "name: ¦group",
        "group occurs twice in attributes",
        "keep one",
    ),
    "input twice": ("name: W", "name: ¦X", "X occurs twice in inputs", "keep one"),
    "dtype twice": ("float16, float32", "float16, ¦float16", "float16 occurs twice", "keep"),
    "same_as nothing": (
        "{name: Y, dtypes: same_as X",
        "{name: Y, dtypes: ¦same_as Q",
        "same_as names 'Q'",
        "X, W, Z",
    ),
    "same_as a later input": ("[float16, float32]", "¦same_as W", "not an input before", "none"),
    "variadic first": (
        "layout: NCHW}",
        "layout: NCHW, variadic: ¦true}",
        "only one operand",
        "ordinary",
    ),
    "layout too short": ("NCHW", "¦NCH", "3 letters, rank is 4", "each dimension"),
    "layout with a letter twice": ("NCHW", "¦NCHH", "a letter twice", "dimensions"),
    "layouts beside a layout": (
        "layout: NCHW}",
        "layout: NCHW, ¦layouts: [NCHW]}",
        "layouts is given together with rank or layout",
        "already states both",
    ),
    "layouts of one rank": (
        "rank: 4, layout: NCHW}",
        "layouts: [NCHW, ¦NHWC]}",
        "two layouts have 4 letters",
        "layouts must differ",
    ),
    "layouts with a letter twice": (
        "rank: 4, layout: NCHW}",
        "layouts: [NCHW, ¦NCDHH]}",
        "a letter twice",
        "dimensions",
    ),
    "rank too large": ("optional: true, variadic", "rank: ¦9, variadic", "<= 8", "integer"),
    "default of another type": (
        "default: 1,",
        "default: ¦one,",
        "'one' is not of type int",
        "attribute group has type int",
    ),
    "default is boolean": ("default: 1,", "default: ¦true,", "not of type int", "group"),
    "default is no list": ("default: [1, 1]", "default: ¦1", "1 is not of type ints", "ints"),
    "older default of another type": ("value: 1}", "value: ¦1.5}", "1.5 is not", "int"),
    "value of another type": (
        "one_of: [1], otherwise",
        "one_of: [¦x], otherwise",
        "'x' is not of type int",
        "group",
    ),
    "required with default": (
        "default: 1,",
        "¦default: 1, required: true,",
        "required and has a default",
        "one of the two",
    ),
    "since after until": ("since: 11", "since: ¦11, until: 10", "since 11 is after", "still"),
    "rule about no tensor": (
        "tensor: X, dim: W",
        "tensor: ¦Q, dim: W",
        "no input or output 'Q'",
        "X, W, Z, Y",
    ),
    "rule about no dimension": (
        "dim: W, range",
        "dim: ¦D, range",
        "X has no dimension 'D'",
        "N, C, H, W",
    ),
    "rule about no layout": ("tensor: X, dim: W", "tensor: Y, dim: ¦W", "no layout", "for Y"),
    "rule about another layout": (
        "dims: [H, W]",
        "dims: [H, ¦C]",
        "W has no dimension 'C'",
        "O, I, H, W",
    ),
    "rule about no indices": (
        "rule: dim_in_range, tensor: X, dim: W, range: [1, 4096]",
        "rule: rank_of_updates, tensor: X, other: W, indices: ¦Q",
        "no input or output 'Q'",
        "X, W, Z, Y",
    ),
    "rule along no attribute": (
        "rule: dim_in_range, tensor: X, dim: W, range: [1, 4096]",
        "rule: attr_sum_is_extent, tensor: X, attribute: strides, along: ¦axes",
        "no attribute 'axes'",
        "group, strides, axis",
    ),
    "rule for numbers about a text": (
        "range: [-4, 3]}\nconstraints:\n",
        (
            "range: [-4, 3]}\n  - {name: mode, type: string}\nconstraints:\n"
            "  - {rule: product_at_most, attribute: ¦mode, limit: 4}\n"
        ),
        "the rule is for numbers, mode is of type string",
        "int, ints, float, floats",
    ),
    "rule for texts about a number": (
        "rule: dim_in_range, tensor: X, dim: W, range: [1, 4096]",
        "rule: equation_written_out, attribute: ¦group",
        "the rule is for texts, group is of type int",
        "type string",
    ),
    "condition on no attribute": (
        "{name: group, one_of: [1]}]",
        "{name: ¦grop, one_of: [1]}]",
        "no attribute 'grop'",
        "group, strides, axis",
    ),
    "condition on the rank of no tensor": (
        "when: {",
        "when: {ranks: [{tensor: ¦Q, rank: 4}], ",
        "no input or output 'Q'",
        "X, W, Z, Y",
    ),
    "condition on no tensor": (
        "{tensor: X, dim: H",
        "{tensor: ¦Q, dim: H",
        "no input or output 'Q'",
        "X, W, Z, Y",
    ),
    "condition on opsets upside down": (
        "when: {",
        "when: {opsets: ¦[12, 9], ",
        "12 is after the last 9",
        "[first, last]",
    ),
    "condition on the absence of no tensor": (
        "when: {",
        "when: {absent: [X, ¦Q], ",
        "no input or output 'Q'",
        "X, W, Z, Y",
    ),
    "condition on the dtype of no tensor": (
        "when: {",
        "when: {dtypes: [{tensor: ¦Q, one_of: [int8]}], ",
        "no input or output 'Q'",
        "X, W, Z, Y",
    ),
    "condition on no dtypes": (
        "when: {",
        "when: {dtypes: [{tensor: X, one_of: ¦[]}], ",
        "length >= 1",
        "list of",
    ),
    "target with no attribute": (
        "groups: group",
        "groups: ¦grop",
        "no attribute 'grop'",
        "group, strides, axis",
    ),
    "target attribute is no name": ("groups: group", "groups: ¦4", "got `int`", "text"),
    "no mapping": (GOOD, "- 1\n", "expected mapping, got list", "op, listed_as"),
    "syntax": ("odd}", "odd¦]", "not YAML", "correct the YAML"),
}


@in_one_item("name", FAULTS)
def test_loader_fault_names_line_column_and_hint(name: str) -> None:
    old, new, message, help_ = FAULTS[name]
    assert GOOD.count(old) == 1, "the replaced text must stand once"
    before, _, after = GOOD.replace(old, new).partition("¦")
    where = f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}" if after else "1:1"
    with pytest.raises(AtcError) as caught:
        parse_spec(before + after, "demo.yaml")
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.code is BAD_SPEC
    assert message in diagnostic.message
    assert help_ in (diagnostic.help or "")
    assert str(diagnostic.place) == f"demo.yaml:{where}"
    assert "@" not in diagnostic.message + (diagnostic.help or "")


def test_loader_reports_every_fault_of_meaning_at_once() -> None:
    text = GOOD.replace("[1, 63]", "[63, 1]").replace("groups: group", "groups: grop")
    with pytest.raises(AtcError) as caught:
        parse_spec(text, "demo.yaml")
    lines = [d.place.line for d in caught.value.diagnostics if d.place is not None]
    assert lines == [12, 22]


def test_loader_reports_a_fault_of_form_for_each_row_at_once() -> None:
    text = (
        GOOD.replace("opsets: [9", "opset: [9")
        .replace("name: X, dtypes", "nane: X, dtype")
        .replace("name: W", "name: W-1")
        .replace("type: ints", "type: inst")
        .replace("rule: dims_equal", "rule: dims_equals")
    )
    with pytest.raises(AtcError) as caught:
        parse_spec(text, "demo.yaml")
    found = [(str(d.place), d.message) for d in caught.value.diagnostics]
    assert found == [
        ("demo.yaml:2:1", "unknown key 'opset'"),
        ("demo.yaml:5:6", "inputs[0]: unknown key 'nane'"),
        ("demo.yaml:5:15", "inputs[0]: unknown key 'dtype'"),
        ("demo.yaml:6:12", "inputs[1].name: 'W-1' has the wrong form"),
        ("demo.yaml:12:27", "attributes[1].type: unknown value 'inst'"),
        ("demo.yaml:16:11", "constraints[1].rule: unknown value 'dims_equals'"),
    ]


@pytest.fixture
def demo() -> OpSpec:
    return parse_spec(GOOD, "specs/nn/demo.yaml")


def test_loader_good_text_becomes_frozen_values(demo: OpSpec) -> None:
    assert demo.op == "Demo"
    assert demo.group == "nn"
    assert demo.opsets == (9, 10, 12)
    assert demo.opset_text == "9-10, 12"
    assert demo.inputs[0].dtypes == (DType.FLOAT16, DType.FLOAT32)
    assert demo.dtypes_of(demo.outputs[0]) == (DType.FLOAT16, DType.FLOAT32)
    assert demo.dtypes_of(demo.inputs[2]) is None
    group = demo.attribute("group")
    assert group is not None
    assert (group.type, group.one_of, group.otherwise) == (AttributeType.INT, (1,), Level.REWRITE)
    assert demo.attribute("no_such") is None
    with pytest.raises(AttributeError):
        demo.op = "Other"  # type: ignore[misc]


def test_loader_remembers_lines(demo: OpSpec) -> None:
    assert [row.line for row in demo.inputs] == [5, 6, 7]
    assert [row.line for row in demo.attributes] == [11, 12, 13]
    assert [rule.line for rule in demo.constraints] == [15, 16]
    assert demo.opsets_line == 2
    assert demo.place_of(demo.constraints[1].line) == "op_specs/specs/nn/demo.yaml:16"


def test_rules_keep_name_arguments_and_level(demo: OpSpec) -> None:
    first, second = demo.constraints
    assert first.name == "dim_in_range"
    assert first.arguments == {"tensor": "X", "dim": "W", "range": (1, 4096)}
    assert (first.level, first.when) == (Level.ERROR, None)
    assert second.name == "dims_equal"
    assert second.level is Level.AICPU
    assert second.when is not None
    assert second.when.dims[0].equals == 1


def test_attribute_default_depends_on_opset(demo: OpSpec) -> None:
    axis = demo.attribute("axis")
    assert axis is not None
    assert (axis.default_at(12), axis.default_at(13)) == (1, -1)


def test_operand_exists_from_its_first_opset_on(demo: OpSpec) -> None:
    assert (demo.inputs[2].exists_at(10), demo.inputs[2].exists_at(11)) == (False, True)


def _load_error(path: Path) -> AtcError:
    with pytest.raises(AtcError) as caught:
        load_spec(path)
    return caught.value


def test_load_spec_refuses_a_stem_of_another_operator(tmp_path: Path) -> None:
    path = tmp_path / "other.yaml"
    path.write_text(GOOD, encoding="utf-8")
    (diagnostic,) = _load_error(path).diagnostics
    assert diagnostic.code is BAD_SPEC
    assert "Demo belongs in demo.yaml" in diagnostic.message
    assert str(diagnostic.place) == f"{path}:1:5"


def test_load_spec_names_a_byte_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "demo.yaml"
    path.write_bytes("op: Demo\nöé: ".encode() + b"\xff\n")
    (diagnostic,) = _load_error(path).diagnostics
    assert diagnostic.code is BAD_SPEC
    assert "byte 0xff is not UTF-8" in diagnostic.message
    assert str(diagnostic.place) == f"{path}:2:5"


def test_load_spec_refuses_a_large_file(tmp_path: Path) -> None:
    path = tmp_path / "demo.yaml"
    path.write_text("#" * 70_000, encoding="utf-8")
    (diagnostic,) = _load_error(path).diagnostics
    assert diagnostic.code is BAD_SPEC
    assert "at most 65536 bytes" in diagnostic.message


def test_load_spec_without_file_is_a_file_error(tmp_path: Path) -> None:
    assert _load_error(tmp_path / "demo.yaml").diagnostics[0].code is FILE_NOT_FOUND
    assert _load_error(tmp_path).diagnostics[0].code is FILE_UNREADABLE


_PIECES = st.sampled_from(
    [*"{}[]:,-#&*!|>'\"%@`? \n\t", "null", "~", "1", "true", ".inf", "same_as", "é", "\x00", "rule"]
)


@st.composite
def _mutated(draw: st.DrawFn) -> str:
    text = GOOD
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        piece = draw(_PIECES | st.text(max_size=4))
        text = text[:start] + piece + text[end:]
    return text


@examples(300)
@given(_mutated())
def test_loader_never_raises_anything_but_coded_errors(text: str) -> None:
    found: tuple[Diagnostic, ...] = ()
    try:
        parse_spec(text, "demo.yaml")
    except AtcError as error:
        found = error.diagnostics
    for diagnostic in found:
        assert diagnostic.help
        assert diagnostic.place is not None
        assert diagnostic.place.line
        assert diagnostic.place.column

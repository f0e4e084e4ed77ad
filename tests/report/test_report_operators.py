"""What `ops list` and `ops show` say: width, content, filters, spellings, languages, JSON."""

import json

import pytest

from atc_py.check.condition_words import sentence
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_OPTION, UNKNOWN_NAME
from atc_py.onnx_graph.reading.history import history
from atc_py.report.operators import page as operator_page
from atc_py.report.operators.listing import (
    Selection,
    find_named_spec,
    operator_list_json,
    operator_list_lines,
    selected,
)
from atc_py.report.wrapping import columns
from atc_py.spec import library
from atc_py.spec.implied import rules_of
from atc_py.text import LANGUAGES
from atc_py.text.language import speaking
from tests.failures import Failures

SPECS = library().all()
NAMES = [spec.op for spec in SPECS]


def compiles(op_type: str, _domain: str) -> bool:
    return op_type != "LSTM"


def operator_lines(name: str, language: str = "en") -> list[str]:
    with speaking(language):
        return operator_page.operator_lines(find_named_spec(name), history())


def operator_json(name: str) -> dict[str, object]:
    return operator_page.operator_json(find_named_spec(name), history())


def flowing(name: str, language: str = "en") -> str:
    """Return the page as one line, so that it does not matter where lines end."""
    return "".join(" ".join(operator_lines(name, language)).split())


def test_list_has_one_line_an_operator() -> None:
    lines = operator_list_lines(SPECS, compiles)
    assert lines[0].split() == [
        "operator",
        "group",
        "opsets",
        "compiles",
        "first",
        "input",
        "summary",
    ]
    assert [line.split()[0] for line in lines[1 : len(NAMES) + 1]] == NAMES
    assert max(map(columns, lines)) <= 100


def test_list_line_names_group_opsets_dtypes_and_summary() -> None:
    lines = {line.split()[0]: line.split() for line in operator_list_lines(SPECS, compiles) if line}
    assert lines["Conv"][:7] == ["Conv", "nn", "9-13", "yes", "f16", "f32", "2-D"]
    assert lines["Relu"][:7] == ["Relu", "math", "8-13", "yes", "f32", "i32", "+5"]
    assert lines["Reshape"][4] == "any"
    assert lines["Constant"][4] == "-"
    assert lines["LSTM"][3:5] == ["not", "yet"]


@pytest.mark.parametrize(
    ("selection", "inside", "outside"),
    [
        (Selection(), {"Conv", "AscendQuant"}, set()),
        (Selection(group="nn"), {"Conv"}, {"Relu", "AscendQuant"}),
        (Selection(opset=8), {"Relu"}, {"Conv", "AscendQuant"}),
        (Selection(dtype="int64"), {"Equal"}, {"Conv", "AscendQuant"}),
        (Selection(dtype="fp16"), {"Conv", "AscendQuant"}, {"And"}),
        (Selection(dtype="bool"), {"And", "Reshape"}, {"Conv", "Constant"}),
        (Selection(custom=True), {"AscendQuant"}, {"Conv"}),
        (Selection(custom=False), {"Conv"}, {"AscendQuant"}),
        (Selection("nn", 9, "float32", custom=False), {"Conv"}, {"Relu", "AscendQuant"}),
        (Selection(custom=True, opset=13), set(), set(NAMES)),
    ],
)
def test_list_can_be_filtered(selection: Selection, inside: set[str], outside: set[str]) -> None:
    found = {spec.op for spec in selected(SPECS, selection)}
    assert found >= inside
    assert not found & outside


@pytest.mark.parametrize(
    ("selection", "known"),
    [(Selection(group="vision"), "math, nn"), (Selection(dtype="float8"), "float16, bfloat16")],
)
def test_filter_that_is_unknown_names_the_known_ones(selection: Selection, known: str) -> None:
    with pytest.raises(AtcError) as caught:
        selected(SPECS, selection)
    (found,) = caught.value.diagnostics
    assert found.code is BAD_OPTION
    assert known in (found.help or "")


def test_list_of_nothing_says_so() -> None:
    assert operator_list_lines((), compiles) == ["no operator matches"]
    with speaking("zh"):
        assert operator_list_lines((), compiles) == ["没有符合条件的算子"]
    assert operator_list_json((), compiles) == []


def test_list_in_chinese_fits_as_well() -> None:
    with speaking("zh"):
        lines = operator_list_lines(SPECS, compiles)
    assert lines[0].split()[0] == "算子"
    assert max(map(columns, lines)) <= 100
    assert any(line.startswith("  Conv ") and line.endswith("二维卷积") for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_show_says_everything_in_each_form(name: str) -> None:
    with Failures() as failures:
        for language in LANGUAGES:
            with failures.of(language):
                _says_everything_within_100_columns(name, language)
        with failures.of("ASCII"):
            assert all(line.isascii() for line in operator_lines(name))
        with failures.of("JSON"):
            _is_strict_json_with_lines(name)


def _says_everything_within_100_columns(name: str, language: str) -> None:
    lines = operator_lines(name, language)
    assert max(map(columns, lines)) <= 100
    text = "\n".join(lines)
    spec = find_named_spec(name)
    names = [row.name for row in (*spec.inputs, *spec.outputs)]
    for name_ in (*names, *(row.name for row in spec.attributes)):
        assert f"  {name_} " in text
    flow = flowing(name, language)
    assert spec.custom or spec.opset_text.replace(" ", "") in flow
    notes = (spec.notes.zh if language == "zh" else spec.notes.en) if spec.notes else ""
    summary = spec.summary.zh if language == "zh" else spec.summary.en
    for said in (summary, notes or ""):
        assert "".join(said.split()) in flow
    for rule in rules_of(spec):
        assert "".join(sentence(spec, rule).in_language(language).split()) in flow
        assert spec.place_of(rule.line) in flow


def test_show_puts_bounds_conditions_and_marks_into_words() -> None:
    text = " ".join(" ".join(operator_lines("Gemm")).split())
    assert (
        "alpha float; default 1.0; not supported yet: rewrite (the factor is multiplied into an "
        "operand)"
    ) in text
    assert (
        "A of Gemm must not have dtype float32, when precision mode is must_keep_origin_dtype and the "
        "SoC's cube has no float32 and opset is 8-10; else error [op_specs/base/math/gemm.yaml:"
    ) in text
    text = " ".join(" ".join(operator_lines("Softmax")).split())
    assert "axis int; default -1; before opset 13 default 1" in text
    text = " ".join(" ".join(operator_lines("BatchNormalization")).split())
    assert "default 1e-05; the list's default is 0.0001" in text
    text = " ".join(" ".join(operator_lines("Relu")).split())
    assert "Target operator Relu" in text


def test_show_in_chinese_puts_the_same_into_words() -> None:
    text = flowing("Gemm", "zh")
    assert "alphafloat；默认1.0；暂不支持：改写（将系数乘入操作数）" in text
    assert "（条件：精度模式为must_keep_origin_dtype，且SoC的cube单元不支持float32，" in text


def test_show_has_the_example_and_the_versions_of_onnx() -> None:
    text = "\n".join(operator_lines("Relu"))
    assert "\nExample\n" in text
    assert "\nVersions of ONNX\n" in text
    assert "  13  T (X, Y): bfloat16 gained (listed: 13)" in text
    assert "Versions of ONNX" not in operator_lines("AscendQuant")


@pytest.mark.parametrize(
    "name", ["BatchNormalization", "batchnormalization", "BATCH_NORMALIZATION"]
)
def test_show_takes_any_spelling(name: str) -> None:
    assert operator_lines(name)[0] == "BatchNormalization (nn)"


def test_show_names_the_listed_spelling() -> None:
    assert "Listed as: pad" in operator_lines("pad")
    assert "listed as keep_dim" in "\n".join(operator_lines("ArgMax"))


@pytest.mark.parametrize(
    ("name", "part"),
    [("Convv", "did you mean Conv"), ("", "`atc-py ops list`"), ("zzzzzz", "`atc-py ops list`")],
)
def test_show_of_an_unknown_name_says_what_is_near(name: str, part: str) -> None:
    with pytest.raises(AtcError) as caught:
        operator_lines(name)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code is UNKNOWN_NAME
    assert repr(name) in diagnostic.message
    assert part in (diagnostic.help or "")


def _is_strict_json_with_lines(name: str) -> None:
    data = json.loads(json.dumps(operator_json(name), allow_nan=False))
    assert data["op"] == name
    assert data["file"].startswith(f"op_specs/base/{data['group']}/")
    assert "@" not in "".join(data)
    for section in ("inputs", "outputs", "attributes", "constraints"):
        assert all(item["line"] > 1 for item in data.get(section, []))


def test_json_has_sentences_and_versions() -> None:
    data = json.loads(json.dumps(operator_json("gemm")))
    alpha = next(rule for rule in data["rules"] if rule.get("rewrite"))
    assert alpha["level"] == "rewrite"
    assert set(alpha["sentence"]) == set(alpha["rewrite"]["sentence"]) == {"en", "zh"}
    assert alpha["place"].startswith("op_specs/base/math/gemm.yaml:")
    assert data["rules"][-1]["when"]["en"].startswith("precision mode is")
    assert [row["version"] for row in data["versions"]][:3] == [1, 6, 7]
    assert "versions" not in operator_json("AscendQuant")


def test_json_of_a_rule_has_its_name_and_conditions() -> None:
    data = json.loads(json.dumps(operator_json("gemm")))
    (rule,) = data["constraints"]
    _, alpha, _, beta = data["deviations"]
    assert set(alpha["effect"]) == {"en", "zh"}
    assert beta["unless"]["when"] == {"present": ["C"]}
    assert rule["rule"] == "dtype_excluded"
    assert rule["when"] == {
        "precision_mode": "must_keep_origin_dtype",
        "cube_float32": False,
        "opsets": [8, 10],
    }


def test_list_as_json_has_every_operator() -> None:
    data = operator_list_json(SPECS, compiles)
    assert [row["op"] for row in data] == NAMES
    conv = data[NAMES.index("Conv")]
    assert conv["opsets"] == [9, 10, 11, 12, 13]
    assert conv["dtypes"] == ["float16", "float32"]
    json.dumps(data, allow_nan=False)

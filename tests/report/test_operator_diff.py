"""`ops diff` and the version history of `ops show`, against ONNX's own operators."""

import json

import pytest

from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_OPTION, UNKNOWN_NAME
from atc_py.onnx_graph.reading.history import history
from atc_py.report.operators.diff import (
    diff_json,
    diff_lines,
    history_json,
    history_rows,
    operator_diff,
)
from atc_py.report.operators.listing import find_named_spec
from atc_py.text.language import speaking


def lines(op: str, first: str, second: str, language: str = "en") -> list[str]:
    with speaking(language):
        return diff_lines(operator_diff(op, first, second, history()))


def test_diff_names_versions_and_changes() -> None:
    assert lines("Relu", "8", "14") == [
        "Relu, opset 8 to 14",
        "  version 6 to version 14, over 13",
        "  - T (X, Y): bfloat16 int8 int16 int32 int64 gained",
    ]
    assert lines("Relu", "8", "13", "zh") == [
        "Relu：opset 8 至 13",
        "  版本 6 至版本 13",
        "  - T (X, Y)：新增 bfloat16",
    ]


def test_diff_of_one_version_says_that_nothing_changed() -> None:
    assert lines("relu", "8", "12")[1:] == ["  nothing changed: both opsets have version 6"]
    assert lines("relu", "8", "12", "zh")[1:] == ["  无变化：两个 opset 均为版本 6"]


def test_diff_of_versions_that_differ_in_words_alone() -> None:
    assert lines("Gemm", "1", "6")[1:] == [
        "  version 1 to version 6",
        "  - inputs, outputs, attributes and dtypes are the same",
    ]


def test_diff_goes_backwards() -> None:
    assert "  - T (X, Y): bfloat16 lost" in lines("Relu", "13", "12")


def test_diff_as_json() -> None:
    found = diff_json(operator_diff("Relu", "8", "14", history()))
    assert json.loads(json.dumps(found)) == {
        "op": "Relu",
        "opsets": [8, 14],
        "versions": [6, 14],
        "between": [13],
        "changes": [
            {
                "kind": "dtypes",
                "name": "T",
                "operands": ["X", "Y"],
                "gained": ["bfloat16", "int16", "int32", "int64", "int8"],
                "lost": [],
                "text": {
                    "en": "T (X, Y): bfloat16 int8 int16 int32 int64 gained",
                    "zh": "T (X, Y)：新增 bfloat16 int8 int16 int32 int64",
                },
            }
        ],
    }


@pytest.mark.parametrize(
    "opset", ["0", "-1", "x", "", "13.0", "999", "9" * 5000, "\uff11\uff13", " 13", "1e1"]
)
def test_diff_refuses_a_text_that_is_not_an_opset(opset: str) -> None:
    for pair in ((opset, "13"), ("13", opset)):
        with pytest.raises(AtcError) as caught:
            operator_diff("Relu", *pair, history())
        (found,) = caught.value.diagnostics
        assert found.code is BAD_OPTION
        assert f"[1, {history().newest_opset}]" in found.message


def test_diff_before_the_operator_exists_names_its_versions() -> None:
    with pytest.raises(AtcError, match="Celu does not exist at opset 11") as caught:
        operator_diff("Celu", "11", "12", history())
    (found,) = caught.value.diagnostics
    assert found.code is BAD_OPTION
    assert "12" in (found.help or "")


@pytest.mark.parametrize(
    ("name", "help_"), [("Rleu", "Relu"), ("AscendQuant", "ONNX"), ("", "ONNX")]
)
def test_diff_of_an_operator_that_onnx_does_not_have(name: str, help_: str) -> None:
    with pytest.raises(AtcError) as caught:
        operator_diff(name, "8", "13", history())
    (found,) = caught.value.diagnostics
    assert found.code is UNKNOWN_NAME
    assert help_ in (found.help or "")


def rows(name: str) -> dict[str, str]:
    return {key: text.en for key, text in history_rows(find_named_spec(name), history())}


def test_history_tells_which_listed_opsets_a_version_has() -> None:
    found = rows("Relu")
    assert found["1"] == "first version"
    assert found["6"] == "attribute consumed_inputs removed (listed: 8-12)"
    assert found["13"] == "T (X, Y): bfloat16 gained (listed: 13)"
    assert found["14"] == "T (X, Y): int8 int16 int32 int64 gained"


def test_history_tells_of_listed_opsets_before_the_operator() -> None:
    assert rows("Celu")["-"] == "ONNX has it since opset 12 (listed: 8-11)"
    assert rows("Celu")["12"] == "first version (listed: 12-13)"


def test_history_of_a_custom_operator_is_empty() -> None:
    assert rows("AscendQuant") == {}
    assert history_json(find_named_spec("AscendQuant"), history()) == []


def test_history_as_json() -> None:
    found = history_json(find_named_spec("Relu"), history())
    assert [(row["version"], row["opsets"]) for row in found][:4] == [
        (1, []),
        (6, [8, 9, 10, 11, 12]),
        (13, [13]),
        (14, []),
    ]

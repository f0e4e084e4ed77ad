"""`check` names the other operator lists that take what the chosen one refuses."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

from tests.cli.conftest import Result
from tests.report.page_document import document_of

Atc = Callable[..., Result]


@pytest.fixture
def model(tmp_path: Path) -> str:
    """Return an operator that the newer list alone has, and one that no list has."""
    nodes = [
        helper.make_node("HardSwish", ["x"], ["y"], "swish"),
        helper.make_node("Mish", ["y"], ["z"], "mish"),
    ]
    x, z = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xz")
    graph = helper.make_graph(nodes, "g", [x], [z])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)
    return str(path)


def test_error_names_the_lists_that_take_the_node(atc: Atc, model: str) -> None:
    found = atc("check", model, "--list", "base", "--json").json
    assert found["operator_list"] == "base"
    (checked,) = found["models"]
    taken = {each["node_name"]: each["taken_by"] for each in checked["findings"]}
    assert taken == {"swish": ["cann-9.0"], "mish": []}
    assert checked["other_lists"] == [{"name": "cann-9.0", "verdict": "error", "errors": 1}]


def test_list_that_was_chosen_is_not_another(atc: Atc, model: str) -> None:
    (checked,) = atc("check", model, "--list", "cann-9.0", "--json").json["models"]
    assert [each["name"] for each in checked["other_lists"]] == ["base"]
    assert {each["node_name"] for each in checked["findings"] if each["taken_by"]} == set()


def test_every_format_says_it(atc: Atc, model: str) -> None:
    text = atc("check", model, "--list", "base").out
    assert "  taken by: cann-9.0\n" in text
    assert "Operator lists: base: 2 errors; cann-9.0: 1 error\n" in text
    assert "  可用清单：cann-9.0\n" in atc("check", model, "--list", "base", "--lang", "zh").out
    rows = list(
        csv.DictReader(io.StringIO(atc("check", model, "--list", "base", "--format", "csv").out))
    )
    assert [(row["list"], row["taken_by"]) for row in rows] == [("base", "cann-9.0"), ("base", "")]
    suite = ET.fromstring(atc("check", model, "--list", "base", "--format", "junit").out)  # noqa: S314  (own text)
    values = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert values["operator_list"] == "base"
    assert any("taken by: cann-9.0" in (each.text or "") for each in suite.iter("failure"))
    (run,) = atc("check", model, "--list", "base", "--format", "sarif").json["runs"]
    assert run["properties"]["operatorList"] == "base"
    assert [each["properties"].get("takenBy") for each in run["results"]] == [["cann-9.0"], None]
    page = document_of(atc("check", model, "--list", "base", "--format", "html").out)["models"][0][
        "check"
    ]
    assert [each.get("taken_by") for each in page["findings"]] == [["cann-9.0"], None]
    assert page["lists"][0] == "base: 2 errors; cann-9.0: 1 error"


def test_supported_model_asks_no_other_list(atc: Atc, tmp_path: Path) -> None:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    opsets = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "r.onnx")
    (checked,) = atc("check", tmp_path / "r.onnx", "--json").json["models"]
    assert checked["other_lists"] == []


@pytest.fixture
def kept(tmp_path: Path) -> str:
    """Return a model of operators of which newer pages of a list do not have one."""
    nodes = [
        helper.make_node("BatchMatMul", ["x", "x"], ["y"], "add"),
        helper.make_node("Relu", ["y"], ["z"], "relu"),
    ]
    x, v, z = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", [4, 4]), ("v", [1]), ("z", [4, 4]))
    )
    graph = helper.make_graph(nodes, "g", [x, v], [z])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path = tmp_path / "kept.onnx"
    onnx.save(proto, path)
    return str(path)


def test_every_format_notes_operators_that_the_list_keeps(atc: Atc, kept: str) -> None:
    chosen = ("check", kept, "--list", "cann-9.0", "--fail-on", "accuracy")
    en = "BatchMatMul is not on the newest pages of cann-9.0; the list keeps it"
    zh = "cann-9.0 的最新页面已不再列出 BatchMatMul"
    plain = atc(*chosen)
    assert plain.status == 0
    assert f"note: {en}" in plain.out
    assert f"说明：{zh}" in atc(*chosen, "--lang", "zh").out
    document = atc(*chosen, "--json").json
    (model,) = document["models"]
    assert (document["verdict"], document["counts"], model["counts"]) == ("supported", {}, {})
    (note,) = model["notes"]
    assert (note["name"], note["operators"]) == ("kept", ["BatchMatMul"])
    assert note["text"].startswith(en)
    (row,) = csv.DictReader(io.StringIO(atc(*chosen, "--format", "csv").out))
    assert (row["level"], row["code"], row["op"]) == ("note", "", "BatchMatMul")
    suite = ET.fromstring(atc(*chosen, "--format", "junit").out)  # noqa: S314  (own text)
    values = {each.get("name"): each.get("value") or "" for each in suite.iter("property")}
    assert values["note.kept"].startswith(en)
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    (run,) = atc(*chosen, "--format", "sarif").json["runs"]
    (notification,) = run["invocations"][0]["toolExecutionNotifications"]
    assert (notification["level"], run["results"]) == ("note", [])
    (noted,) = document_of(atc(*chosen, "--format", "html").out)["models"][0]["check"]["notes"]
    assert noted[0].startswith(en)


def test_list_whose_pages_have_the_operator_notes_nothing(atc: Atc, kept: str) -> None:
    (model,) = atc("check", kept, "--json").json["models"]
    assert model["notes"] == []


@pytest.mark.parametrize("chosen", ["base", "cann-9.0"])
def test_a_list_by_which_the_node_does_not_compile_does_not_take_it(
    atc: Atc, tmp_path: Path, chosen: str
) -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 13]> g (float[2,3] x) => (float[2,3] y) '
        '<int64[4] p = {-1, 0, 1, 0}> { y = Pad <mode = "reflect"> (x, p) }'
    )
    path = tmp_path / "pad.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    (checked,) = atc("check", path, "--list", chosen, "--json").json["models"]
    assert [(each["code"], each["taken_by"]) for each in checked["findings"]] == [("ATC4013", [])]
    (other,) = checked["other_lists"]
    assert (other["verdict"], other["errors"]) == ("error", 1)
    assert atc("convert", path, "--list", other["name"], "-o", tmp_path / "m.om").status == 1


def test_nodes_of_a_model_that_another_list_refuses_too_are_tried_one_by_one(
    atc: Atc, tmp_path: Path
) -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 18]> g (float[2,3] x) => (float[2,3] y, float[n,3] z) '
        "<bool[3] far = {0, 0, 1}> { a = HardSwish (x) y = Mish (a) z = Compress <axis = 0> (x, far) }"
    )
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    (checked,) = atc("check", path, "--list", "base", "--json").json["models"]
    taken = {each["op"]: each["taken_by"] for each in checked["findings"]}
    assert taken == {"HardSwish": ["cann-9.0"], "Mish": [], "Compress": []}

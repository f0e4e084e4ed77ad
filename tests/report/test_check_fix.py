"""The command of `atc-py fix` in every format of a check, with the options that the check was given."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from sarif_pydantic import Sarif

from tests.cli.conftest import Result
from tests.cli.conftest import atc as atc
from tests.cli.test_fixed_origins import model as plain_model
from tests.report.page_document import document_of
from tests.report.test_check_sarif import BEYOND, unknown_properties

Atc = Callable[..., Result]

pytestmark = pytest.mark.usefixtures("base_list")


def model(path: str = "m.onnx") -> Path:
    """Write a model with a branch that no rule can compute beside the other: it draws numbers."""
    written = onnx.load(plain_model(path))
    (choice,) = (each for each in written.graph.node if each.op_type == "If")
    (other,) = (each.g for each in choice.attribute if each.name == "else_branch")
    other.node[0].op_type = "RandomNormalLike"
    onnx.save(written, path)
    return Path(path)


COMMAND = "atc-py fix m.onnx --list base --bind rate=16000"


def test_each_error_names_its_remedy_and_the_report_begins_with_the_command(atc: Atc) -> None:
    done = atc("check", model())
    first = done.out.splitlines()[2]
    assert first == (
        f"Fix: `{COMMAND}` removes 9 of 9 errors; rate decides which branch runs, "
        "values to choose from: 16000"
    )
    found = atc("check", "m.onnx", "--format", "json").json["models"][0]
    remedies = {
        each["node_name"]: each["fixed_by"]
        for each in found["findings"]
        if each["level"] == "error"
    }
    assert remedies == {
        "outer": ["window-1d"],
        "inner": ["--bind rate=16000", "window-1d"],
        "inner_neg": ["--bind rate=16000"],
        "pool": ["window-1d"],
    }
    assert found["fix"] == {
        "command": COMMAND,
        "removed": 9,
        "candidates": [{"input": "rate", "values": [16000.0]}],
    }
    assert atc(*COMMAND.split()[1:]).status == 0
    assert atc("check", "m.fixed.onnx", "--format", "json").json["models"][0]["fix"] is None


def test_a_value_may_decide_through_views_of_an_input_of_one_element(atc: Atc) -> None:
    written = onnx.load(model())
    graph = written.graph
    graph.input[1].type.tensor_type.shape.dim.add().dim_value = 1
    graph.initializer.append(numpy_helper.from_array(np.array(0), "first"))
    graph.node.insert(0, helper.make_node("Gather", ["rate", "first"], ["rate_0"], name="rate_0"))
    (compare,) = (each for each in graph.node if each.name == "compare")
    compare.input[0] = "rate_0"
    onnx.save(written, "m.onnx")
    found = atc("check", "m.onnx", "--format", "json").json["models"][0]
    assert found["fix"]["command"] == COMMAND
    assert found["fix"]["candidates"] == [{"input": "rate", "values": [16000.0]}]


def test_the_command_has_the_options_of_the_check(atc: Atc) -> None:
    model("a b.onnx")
    done = atc(
        "check", "a b.onnx", "--list", "cann-9.0", "--soc", "Ascend910B3", "--input-shape", "rate:",
        "--precision-mode", "allow_mix_precision", "--allow-hf32", "true", "--format", "json",
    )  # fmt: skip
    assert done.json["models"][0]["fix"]["command"] == (
        "atc-py fix 'a b.onnx' --list cann-9.0 --precision-mode allow_mix_precision "
        "--soc Ascend910B3 --allow-hf32 true --input-shape rate: --bind rate=16000"
    )


def test_several_models_end_with_a_command_each(atc: Atc) -> None:
    model("a.onnx")
    model("b.onnx")
    lines = atc("check", "a.onnx", "b.onnx").out.splitlines()
    assert [line.split("`")[1] for line in lines[-2:]] == [
        f"atc-py fix {name} --list base --bind rate=16000" for name in ("a.onnx", "b.onnx")
    ]
    assert lines[-3] == "Fix"


def test_sarif_carries_the_command_as_a_fix(atc: Atc) -> None:
    text = atc("check", model(), "--format", "sarif").out
    assert unknown_properties(Sarif.model_validate_json(text)) <= BEYOND
    results = json.loads(text)["runs"][0]["results"]
    errors = [each for each in results if each["level"] == "error"]
    assert errors
    for each in errors:
        (fix,) = each["fixes"]
        assert f"`{COMMAND}`" in fix["description"]["text"]
        (change,) = fix["artifactChanges"]
        assert change["artifactLocation"]["uri"] == "m.onnx"
        assert change["replacements"] == [{"deletedRegion": {"byteOffset": 0, "byteLength": 0}}]
    assert not any("fixes" in each for each in results if each["level"] != "error")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_has_the_command(atc: Atc, language: str) -> None:
    page = atc("check", model(), "--format", "html", "--lang", language).out
    model_of_page = document_of(page)["models"][0]
    assert model_of_page["check"]["fix"] == COMMAND
    assert model_of_page["actions"][0]["command"] == COMMAND
    rules = [each["fixed_by"] for each in model_of_page["check"]["findings"] if "fixed_by" in each]
    assert ["--bind rate=16000", "window-1d"] in rules
    assert Path("m.onnx").exists()


def test_an_if_that_rules_rewrite_as_a_whole_needs_no_value(atc: Atc) -> None:
    plain_model()
    first = atc("check", "m.onnx").out.splitlines()[2]
    assert first == (
        "Fix: `atc-py fix m.onnx --list base` removes 8 of 8 errors; rate decides which branch runs, "
        "--bind rate=16000 keeps only one"
    )


def test_where_rules_need_dims_the_command_has_those_that_the_check_proposes(atc: Atc) -> None:
    """A stride of 160 goes where the length is known; the layer after it needs no dims."""
    rng = np.random.default_rng(0)
    weights = {"taps": (4, 1, 400), "mix": (1, 4, 1)}
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "taps"], ["f"], strides=[160]),
            helper.make_node("Conv", ["f", "mix"], ["y"]),
        ],
        "sound",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 1, "length"])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 1, "frames"])],
        [
            numpy_helper.from_array(rng.standard_normal(dims).astype(np.float32), name)
            for name, dims in weights.items()
        ],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), "m.onnx")
    found = atc("check", "m.onnx", "--format", "json").json["models"][0]
    errors = (each for each in found["findings"] if each["level"] == "error")
    remedies = {each["node"]: each["fixed_by"] for each in errors}
    assert remedies[0][:2] == ["--input-shape", "window-1d"]
    assert remedies[1] == ["window-1d"]
    command = found["fix"]["command"]
    assert "--input-shape x:1,1," in command
    assert found["fix"]["removed"] == found["counts"]["error"]
    assert atc(*command.split()[1:]).status == 0
    given = atc("check", "m.onnx", "--input-shape", "x:1,1,720", "--format", "json")
    assert "--input-shape x:1,1,720" in given.json["models"][0]["fix"]["command"]

"""`check --cann`: generations, bad values, several models, and baselines between generations."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

import atc_py
from atc_py.diag.codes import BAD_OPTION
from atc_py.options.compile_options import CANN_RELEASES, NEWEST_CANN
from atc_py.spec.lists import releases
from tests.cli.conftest import Result, small_model
from tests.cli.test_semantics import NAME, recurrent

Atc = Callable[..., Result]

RULE = NAME.replace("/", "/cann/")


@pytest.fixture
def models(tmp_path: Path) -> tuple[str, ...]:
    """Return a model that deviates, one that newer parsers have alone, and a plain one."""
    onnx.save(recurrent(), tmp_path / "gru.onnx")
    onnx.save(recurrent(reset=1, opset=17), tmp_path / "new.onnx")
    onnx.save(small_model(), tmp_path / "plain.onnx")
    return "gru.onnx", "new.onnx", "plain.onnx"


def found(document: Any, rule: str) -> list[Any]:
    """Return the findings of a rule in all models."""
    return [
        each for model in document["models"] for each in model["findings"] if each["rule"] == rule
    ]


@pytest.mark.parametrize(
    ("cann", "certainty"),
    [("5", "proven"), ("6", "proven"), ("7", "inferred"), ("8", "inferred"), ("9.1", "inferred")],
)
def test_each_release_states_its_certainty(
    atc: Atc, models: tuple[str, ...], cann: str, certainty: str
) -> None:
    done = atc("check", models[0], "--cann", cann, "--json")
    assert done.json["cann"] == cann
    (finding,) = found(done.json, RULE)
    assert finding["certainty"] == certainty
    assert finding["level"] == "accuracy"
    assert ("(inferred)" in finding["help"]) is (certainty == "inferred")
    assert f"CANN {cann}" in finding["help"]


@pytest.mark.parametrize("value", ["4", "10", "nine", "", "9.3"])
@pytest.mark.parametrize("command", ["check", "convert", "compare", "profile"])
def test_other_values_are_a_wrong_call(
    atc: Atc, models: tuple[str, ...], command: str, value: str
) -> None:
    done = atc(command, models[0], "--cann", value)
    assert done.status == 2
    assert "--cann" in done.err
    assert "'5', '6', '7', '8', '8.5', '9.0', '9.1', '9.2', '9'" in done.err


@pytest.mark.parametrize("value", [4, 10, "9.3", 9.0, True, None])
def test_the_interface_refuses_other_values(models: tuple[str, ...], value: Any) -> None:
    for call in (atc_py.check_models, atc_py.convert, atc_py.compare_model):
        with pytest.raises(atc_py.AtcError) as caught:
            call(models[2], cann=value)
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.code is BAD_OPTION
        assert "cann must be one of 5, 6, 7, 8, 8.5, 9.0, 9.1, 9.2, found" in diagnostic.message


def test_options_name_the_releases_that_are_known() -> None:
    spelled = {name: each.name for each in releases() for name in (each.name, *each.also)}
    assert spelled == CANN_RELEASES
    assert list(CANN_RELEASES)[: len(releases())] == [each.name for each in releases()]
    assert NEWEST_CANN in CANN_RELEASES


@pytest.mark.parametrize("said", [9, "9", "9.1", "9.1.0"])
def test_spellings_of_a_release_are_one(atc: Atc, models: tuple[str, ...], said: Any) -> None:
    done = atc("check", models[0], "--cann", said, "--json")
    assert done.json["cann"] == "9.1"
    assert atc_py.check_models(models[0], cann=said).cann == "9.1"
    assert "on CANN 9.1" in atc("check", models[0], "--cann", said).out


def odd_pool() -> onnx.ModelProto:
    """Return a pool whose last window, on CANN, begins in the padding: a result of another shape."""
    windows: dict[str, Any] = {
        "kernel_shape": [2, 2],
        "strides": [2, 2],
        "pads": [0, 0, 1, 1],
        "ceil_mode": 1,
    }
    graph = helper.make_graph(
        [helper.make_node("AveragePool", ["x"], ["y"], "pool", **windows)],
        "odd",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize(
    ("cann", "inferred"), [(5, False), (7, True), (8, True), ("9.1", True), ("9.2", False)]
)
def test_what_cannot_be_followed_has_its_certainty_too(
    atc: Atc, tmp_path: Path, cann: object, inferred: bool
) -> None:
    onnx.save(odd_pool(), tmp_path / "odd.onnx")
    done = atc("convert", "odd.onnx", "--semantics", "cann", "--cann", cann, "--json")
    assert done.status == 1
    (diagnostic,) = done.json["diagnostics"]
    assert diagnostic["code"] == "ATC3019"
    assert diagnostic["message"].endswith(" (inferred)") is inferred


def test_each_of_several_models_has_its_own_summary(atc: Atc, models: tuple[str, ...]) -> None:
    done = atc("check", *models, "--cann", 5)
    assert done.status == 0
    lines = done.out.splitlines()
    assert any(
        line.startswith("gru.onnx: ") and "1 node computes something else on CANN 5" in line
        for line in lines
    )
    assert any(
        line.startswith("new.onnx: ") and "the parser of CANN 5 refuses the model" in line
        for line in lines
    )
    assert any(line.startswith("plain.onnx: supported: ") and "CANN" not in line for line in lines)
    newest = atc("check", *models).out
    assert "refused by" not in newest
    assert atc("check", *models, "--cann", 5, "--fail-on", "parser").status == 1
    assert atc("check", *models, "--cann", 9, "--fail-on", "parser").status == 0


def test_one_row_has_one_fingerprint_in_all_generations(atc: Atc, models: tuple[str, ...]) -> None:
    prints = {
        each["fingerprint"]
        for cann in CANN_RELEASES
        for each in found(atc("check", models[0], "--cann", cann, "--json").json, RULE)
    }
    assert len(prints) == 1


def test_a_baseline_of_one_generation_holds_for_another(atc: Atc, models: tuple[str, ...]) -> None:
    atc("check", models[0], "--cann", 5, "--format", "json", "-o", "known.json")
    line = ("check", models[0], "--baseline", "known.json", "--fail-on", "accuracy")
    for cann in CANN_RELEASES:
        assert atc(*line, "--cann", cann).status == 0
    done = atc(*line, "--cann", 9, "--json")
    assert json.loads(done.out)["baseline"] == {"known": 1, "new": 0, "gone": 0}

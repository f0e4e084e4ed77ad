"""Mode 3: the check before conversion and its report."""

import json
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from atc_py.adapters.atc.modes.pre_check import pre_check, save_failed_check
from atc_py.check.findings_builder import RulesBrokenError
from atc_py.diag import AtcError
from atc_py.options.compile_options import CheckOptions, CompileOptions
from atc_py.pipeline.compile import compile_model

REPORT = Path("check_result.json")


def refused_model() -> Path:
    """Save a model whose second node no list has."""
    graph = helper.make_graph(
        [
            helper.make_node("Relu", ["x"], ["r"], name="Relu_0"),
            helper.make_node("Mish", ["r"], ["y"], name="Mish_1"),
        ],
        "refused",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8),
        "refused.onnx",
    )
    return Path("refused.onnx")


def test_sound_model_has_a_report(model: Path) -> None:
    pre_check(model, REPORT, CheckOptions())
    found = json.loads(REPORT.read_text(encoding="utf-8"))
    assert (found["name"], found["result"]) == ("small", "success")
    assert (found["total"], found["pass"], found["fail"]) == (3, 3, 0)
    assert found["op"][0] == {"name": "Conv_0", "type": "ai.onnx::11::Conv", "result": "success"}


def test_failing_model_has_a_report_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RulesBrokenError):
        pre_check(refused_model(), REPORT, CheckOptions())
    found = json.loads(REPORT.read_text(encoding="utf-8"))
    assert (found["result"], found["fail"]) == ("failed", 1)
    assert found["op"][1]["result"] == "failed"
    assert [cause["code"] for cause in found["op"][1]["cause"]] == [1]


def test_other_file_than_a_model_leaves_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.onnx").write_bytes(b"nothing")
    with pytest.raises(AtcError):
        pre_check(Path("x.onnx"), REPORT, CheckOptions())
    assert not REPORT.exists()


def test_conversion_that_rules_end_can_leave_the_same_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model, options = refused_model(), CompileOptions()
    with pytest.raises(RulesBrokenError) as caught:
        compile_model(model, Path("refused.om"), options)
    save_failed_check(caught.value.check, REPORT, options)
    found = json.loads(REPORT.read_text(encoding="utf-8"))
    assert [row["result"] for row in found["op"]] == ["success", "failed"]

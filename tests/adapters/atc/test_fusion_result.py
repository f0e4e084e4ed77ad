"""`fusion_result.json`: the form of ATC's file, and its names for what the passes did."""

import json
import os
import stat
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from atc_py.adapters.atc.console import Console
from atc_py.adapters.atc.fusion_result import rule_of_launch
from atc_py.adapters.atc.run import run_atc
from atc_py.passes.fusion.atc_rules import KNOWN
from atc_py.target import find_soc

FILE = Path("fusion_result.json")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder with a network of three convolutions, two of them with functions."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASCEND_WORK_PATH", raising=False)
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 13]> g (float[1,16,8,8] x) => (y)
        <float[16,16,1,1] u, float[16,16,1,1] v, float[16,16,1,1] w, float eight = {8}> {
          a = Conv(x, u)
          b = Relu(a)
          c = Conv(b, v)
          s = Sigmoid(c)
          d = Mul(c, s)
          e = Conv(d, w)
          f = MaxPool<kernel_shape=[2,2], strides=[2,2]>(e)
          g = Div(f, eight)
          y = Tanh(g)
        }"""
    )
    for name in "uvw":
        array = np.full((16, 16, 1, 1), 0.5, np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    onnx.save(model, "net.onnx")


def atc(soc: str, *more: str) -> int:
    """Run atc; return its exit status."""
    words = ["--model=net.onnx", "--framework=5", "--output=net", f"--soc_version={soc}", *more]
    return run_atc(words, Console(print, print, print))


def written() -> dict[str, dict[str, dict[str, str]]]:
    """Return the one object of the file."""
    (found,) = json.loads(FILE.read_text(encoding="utf-8"))
    return found  # type: ignore[no-any-return]  # what the tests compare


def test_file_has_the_form_of_atcs() -> None:
    assert atc("Ascend310P3") == 0
    text = FILE.read_text(encoding="utf-8")
    assert text.startswith('[{\n    "graph_fusion": {\n        "RealDiv2MulsFusionPass": {\n')
    assert text.endswith('"repository_hit_times": "0"\n        }\n    }\n}]')
    assert stat.S_IMODE(FILE.stat().st_mode) == 0o640
    assert written() == {
        "graph_fusion": {
            "RealDiv2MulsFusionPass": {"effect_times": "1", "match_times": "1"},
            "SameInputConv2dPass": {"effect_times": "0", "match_times": "1"},
        },
        "session_and_graph_id": "0_0",
        "ub_fusion": {
            name: {"effect_times": "1", "match_times": "1", "repository_hit_times": "0"}
            for name in (
                "AutomaticUbFusion",
                "TbeConvCommonRules0FusionPass",
                "TbeConvSigmoidMulQuantFusionPass",
            )
        },
    }


def test_fix_pipe_counts_cube_operators_and_those_with_functions() -> None:
    assert atc("Ascend910B4") == 0
    found = written()
    assert found["graph_fusion"]["FIXPIPEFUSIONPASS"] == {"effect_times": "1", "match_times": "3"}
    assert found["ub_fusion"]["TbeConvFixPipeFusionPass"]["effect_times"] == "1"


def test_recurrent_layer_of_two_directions_is_one_effect() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 13]> g (float[2,1,16] x) => (float[2,2,1,16] y)
        <float[2,48,16] w, float[2,48,16] r> {
          y = GRU<hidden_size=16, direction="bidirectional">(x, w, r)
        }"""
    )
    for name in "wr":
        array = np.full((2, 48, 16), 0.5, np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    onnx.save(model, "net.onnx")
    assert atc("Ascend310P3") == 0
    counts = {"effect_times": "1", "match_times": "1"}
    assert written()["graph_fusion"]["CommonGRUFusionPass"] == counts


def test_file_of_an_earlier_run_goes() -> None:
    FILE.write_text("old")
    assert atc("Ascend310P3", "--oo_level=O1") == 0
    assert not FILE.exists() or "old" not in FILE.read_text()


@pytest.mark.parametrize(("value", "there"), [("0", False), ("1", True), ("2", True)])
def test_option_leaves_the_file_out(value: str, *, there: bool) -> None:
    assert atc("Ascend310P3", f"--export_compile_stat={value}") == 0
    assert FILE.exists() is there


def test_folder_of_atcs_own_files_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_WORK_PATH", "work")
    assert atc("Ascend310P3") == 0
    assert Path("work", "FE", str(os.getpid()), FILE.name).exists()
    assert not FILE.exists()


def test_file_that_cannot_be_written_is_no_failure() -> None:
    FILE.mkdir()
    assert atc("Ascend310P3") == 0
    assert Path("net.om").exists()


def test_failed_run_writes_none() -> None:
    assert atc("Ascend310P3", "--input_shape=x:1,17,8,8") != 0
    assert not FILE.exists()


@pytest.mark.parametrize(
    ("ops", "soc", "rule"),
    [
        (["Conv2D"], "Ascend310P3", ""),
        (["Conv2D", "Relu"], "Ascend310", "TbeConvCommonRules0FusionPass"),
        (["Conv2D", "Relu"], "Ascend310B4", "TbeConvFixPipeFusionPass"),
        (["Conv2D", "Swish"], "Ascend310B4", "TbeConvSigmoidMulQuantFusionPass"),
        (["Conv2DTransposeD", "Relu"], "Ascend310B4", "TbeDxFixpipeFusionPass"),
        (["Conv2DTransposeD", "Relu"], "Ascend310P3", "TbeDxElemwisePass"),
        (["Aipp", "TransData", "Conv2D", "Relu"], "Ascend310", "TbeAippConvZ"),
        (["Aipp", "TransData", "Conv2D"], "Ascend310B4", "TbeAippCommonFusionPass"),
        (["Conv2D", "AscendDequant"], "Ascend310P3", "TbeConvDequantFusionPass"),
        (["Conv2D", "AscendDequant", "AscendQuant"], "Ascend310P3", "TbeConvDequantQuantFusionPass"),
        (["Conv2D", "AscendDequant", "Add", "Relu"], "Ascend310P3",
         "TbeConvDequantVaddReluFusionPass"),
        (["Conv2D", "AscendRequant"], "Ascend310P3", "TbeConvRequantFusionPass"),
        (["MatMulV2", "Relu"], "Ascend310B4", "TbeMatmulFixPipeFusionPass"),
        (["MatMulV2", "AscendDequant"], "Ascend310P3", "TbeMatmulDequantFusionPass"),
        (["MatMulV2", "Relu"], "Ascend310", "ATbeMatmulElemwiseFusionPass"),
        (["Add", "Relu"], "Ascend310", "AutomaticUbFusion"),
        (["Add", "AscendQuant"], "Ascend310P3", "TbeEltwiseQuantFusionPass"),
    ],
)  # fmt: skip
def test_launch_has_the_name_of_atcs_rule(ops: list[str], soc: str, rule: str) -> None:
    assert rule_of_launch(ops, find_soc(soc)) == rule
    assert not rule or rule in KNOWN

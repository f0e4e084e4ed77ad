"""`check` and `convert` say the same of a model."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from atc_py import api
from atc_py.check.findings_builder import RulesBrokenError
from tests.onnx_graph import onnx_files

node = helper.make_node
FLOAT = onnx_files.FLOAT


def _branch(op_type: str) -> onnx.GraphProto:
    output = helper.make_tensor_value_info("b", FLOAT, [2, 3])
    return helper.make_graph([node(op_type, ["x"], ["b"], name="inner")], "branch", [], [output])


def _choice(op_type: str) -> onnx.ModelProto:
    branch = _branch(op_type)
    nodes = [node("If", ["c"], ["y"], then_branch=branch, else_branch=_branch("Relu"))]
    inputs: onnx_files.Ports = {"c": (TensorProto.BOOL, []), "x": (FLOAT, [2, 3])}
    return onnx_files.model(nodes, inputs, ["y"])


def _contradiction() -> onnx.ModelProto:
    weights = {"w": np.ones(3, np.float64)}
    nodes = [node("Add", ["x", "w"], ["s"]), node("Relu", ["s"], ["y"])]
    return onnx_files.model(nodes, {"x": (FLOAT, [2, 3])}, ["y"], weights)


@pytest.mark.parametrize("proto", [_choice("Mish"), _contradiction()])
def test_convert_refuses_with_what_check_found(proto: onnx.ModelProto, tmp_path: Path) -> None:
    path = onnx_files.save(proto, tmp_path)
    (checked,) = api.check_models(path).models
    with pytest.raises(RulesBrokenError) as caught:
        api.convert(path, tmp_path / "model.om")
    assert caught.value.exit_code == 1
    assert caught.value.check.findings == checked.findings
    assert caught.value.check.faults == checked.faults
    assert {fault.message for fault in checked.faults} <= {
        each.message for each in caught.value.diagnostics
    }
    assert not (tmp_path / "model.om").exists()


def test_fault_alone_keeps_a_model_from_conversion(tmp_path: Path) -> None:
    path = onnx_files.save(_contradiction(), tmp_path)
    (checked,) = api.check_models(path).models
    assert len(checked.faults) == 1
    assert "must have the same type" in checked.faults[0].message

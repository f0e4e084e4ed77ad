"""Contradictions inside of a branch that a run may leave out: findings there, no faults of the file."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py
from atc_py.check.findings import ModelCheck, Standing

node = helper.make_node


def chosen(folder: Path, *, open_dims: bool = False, operator: str = "MatMul") -> Path:
    """Write an If on the input `rate`; one branch contradicts itself for the dims of x.

    Args:
        folder: the folder.
        open_dims: leave the dims of x open.
        operator: the operator that contradicts itself.
    """
    broken = [
        node(operator, ["x", "w"], ["p"], "product"),
        node("Relu", ["p"], ["b"], "positive"),
    ]
    graphs = {
        name: helper.make_graph(nodes, name, [], [onnx.ValueInfoProto(name="b")])
        for name, nodes in (
            ("then_branch", broken),
            ("else_branch", [node("Neg", ["x"], ["b"], "negative")]),
        )
    }
    nodes = [
        node("Equal", ["rate", "high"], ["is_high"], "compare"),
        node("If", ["is_high"], ["y"], "choose", **graphs),
    ]
    dims: list[int | str] = ["a", "b"] if open_dims else [4, 8]
    graph = helper.make_graph(
        nodes,
        "m",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, dims),
            helper.make_tensor_value_info("rate", TensorProto.INT64, []),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(np.ones((5, 8), np.float32), "w"),
            numpy_helper.from_array(np.array(16000), "high"),
        ],
    )
    path = folder / "m.onnx"
    opset = helper.make_opsetid("", 13)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)
    return path


def checked(path: Path, operator_list: str = "base", shape: str = "") -> ModelCheck:
    """Return the check of one model."""
    report = atc_py.check_models(path, operator_list=operator_list, input_shape=shape)
    return report.models[0]


@pytest.mark.parametrize("operator_list", ["base", "cann-9.0"])
def test_a_contradiction_in_a_branch_is_a_finding_there(tmp_path: Path, operator_list: str) -> None:
    found = checked(chosen(tmp_path), operator_list)
    assert found.faults == ()
    errors = [each for each in found.findings if each.standing is Standing.ERROR]
    assert {(each.place.node_name, each.scope) for each in errors} == {
        ("product", 'then_branch of "choose"')
    }
    assert not [each for each in found.findings if each.standing is Standing.UNKNOWN]
    assert any("--bind" in each.help.en for each in errors)
    rows = {row.name: row.standing for row in found.rows}
    assert rows["product"] is Standing.ERROR
    assert rows["negative"] is Standing.SUPPORTED


def test_a_conversion_refuses_it_too(tmp_path: Path) -> None:
    with pytest.raises(atc_py.AtcError):
        atc_py.convert(chosen(tmp_path), tmp_path / "m.om")
    atc_py.convert(chosen(tmp_path), tmp_path / "m.om", fix={"bind": {"rate": 8000}})


def test_dims_that_fit_leave_no_finding(tmp_path: Path) -> None:
    found = checked(chosen(tmp_path, open_dims=True), shape="x:4,5")
    assert found.standing in {Standing.SUPPORTED, Standing.AICPU, Standing.REWRITE}

"""Regions of float64 inside a float32 model: casts between the operators go, also where no Cast is listed."""

from pathlib import Path

import onnx
import pytest
from onnx import helper

import atc_py


@pytest.mark.parametrize("operators", ["base", "cann-9.0"])
def test_region_of_doubles_becomes_one_of_floats(operators: str, tmp_path: Path) -> None:
    double = 11
    nodes = [
        helper.make_node("Cast", ["x"], ["wide"], to=double),
        helper.make_node("Exp", ["wide"], ["grown"]),
        helper.make_node("Sub", ["grown", "wide"], ["less"]),
        helper.make_node("Cast", ["less"], ["y"], to=1),
    ]
    graph = helper.make_graph(
        nodes,
        "doubles",
        [helper.make_tensor_value_info("x", 1, [2, 3])],
        [helper.make_tensor_value_info("y", 1, [2, 3])],
    )
    path = tmp_path / "model.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, path)
    fixed = tmp_path / "fixed.onnx"
    assert atc_py.fix_model(path, fixed, operator_list=operators).left
    done = atc_py.fix_model(path, fixed, operator_list=operators, approximate=True)
    assert (done.errors[1], done.left) == (0, ())
    assert done.outputs["y"].error < 1e-6
    if operators == "cann-9.0":
        assert "Cast" not in {each.op_type for each in onnx.load(fixed).graph.node}

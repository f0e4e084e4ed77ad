"""Nodes that a rule replaced, or that no list has, stay out of the file when their results fold."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py
from atc_py.check.findings import Standing
from atc_py.fix.fixed_files import _maker
from atc_py.onnx_graph.folding.bind import observe_inputs
from atc_py.onnx_graph.reading.read import read_model
from atc_py.system.structs import replace
from tests.end_to_end import run_with_onnxruntime
from tests.onnx_graph import onnx_files

X = np.array([-2, 0.5, 3], np.float32)
FLOAT = TensorProto.FLOAT


def saved(nodes: list[onnx.NodeProto], constants: dict[str, np.ndarray], path: Path) -> Path:
    """Write a model of one input and one output."""
    graph = helper.make_graph(
        nodes,
        "folded",
        [helper.make_tensor_value_info("x", FLOAT, X.shape)],
        [helper.make_tensor_value_info("y", FLOAT, X.shape)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), path)
    return path


@pytest.mark.parametrize("operator_list", ["base", "cann-9.0"])
def test_replaced_node_does_not_come_back(operator_list: str, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("CastLike", ["one", "x"], ["like"]),
        helper.make_node("Add", ["x", "like"], ["y"]),
    ]
    path = saved(nodes, {"one": np.array(1, np.int32)}, tmp_path / "model.onnx")
    fixed = tmp_path / "fixed.onnx"
    done = atc_py.fix_model(path, fixed, operator_list=operator_list)
    assert not done.left
    assert "CastLike" not in {node.op_type for node in onnx.load(fixed).graph.node}
    report = atc_py.check_models(fixed, operator_list=operator_list)
    assert report.standing is not Standing.ERROR
    (found,) = run_with_onnxruntime(onnx.load(fixed), {"x": X}).values()
    np.testing.assert_array_equal(found, X + 1)


def test_folded_node_that_no_list_has_does_not_come_back(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("CastLike", ["one", "like"], ["cast"]),
        helper.make_node("Add", ["x", "cast"], ["y"]),
    ]
    constants = {"one": np.array(1, np.int32), "like": X}
    path, fixed = saved(nodes, constants, tmp_path / "model.onnx"), tmp_path / "fixed.onnx"
    atc_py.fix_model(path, fixed, operator_list="cann-9.0")
    assert [node.op_type for node in onnx.load(fixed).graph.node] == ["Add"]


def test_the_files_node_makes_what_the_graph_no_longer_has(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], [name]) for name in ("y", "z")]
    proto = onnx_files.model(nodes, {"x": (TensorProto.FLOAT, [3])}, ["y", "z"], {}, {"": 13})
    path = onnx_files.save(proto, tmp_path)
    file = read_model(path)
    graph = file.graph(observe_inputs(path, file.inputs, {}))
    made, own = graph.nodes
    made = replace(made, output_names=("y", "z"))
    graph.nodes = [made]
    known = {"z": own, "gone": own, "x": own}
    makers = {
        name: _maker(graph, known, {"z"}, name) for name in ("y", "z", "gone", "x", "nowhere")
    }
    assert makers == {"y": made, "z": own, "gone": own, "x": None, "nowhere": None}

"""Producers and uses of values, in the graph and in its frozen view."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from atc_py.onnx_graph.folding.bind import observe_inputs
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.reading.read import read_model
from tests.onnx_graph import onnx_files


def chosen(folder: Path) -> OnnxFile:
    """Return Relu and Add, which reads it twice, and an If whose branches read the Relu."""
    branch = helper.make_graph(
        [helper.make_node("Neg", ["r"], ["n"])], "b", [], [onnx.ValueInfoProto(name="n")]
    )
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Add", ["r", "r"], ["a"]),
        helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch),
        helper.make_node("Mul", ["a", "w"], ["z"]),
    ]
    inputs = {"x": (TensorProto.FLOAT, [3]), "c": (TensorProto.BOOL, [])}
    weights = {"w": np.ones(3, np.float32)}
    return read_model(onnx_files.save(onnx_files.model(nodes, inputs, ["y", "z"], weights), folder))


def test_graph_knows_who_makes_and_reads_a_value(tmp_path: Path) -> None:
    file = chosen(tmp_path)
    graph = file.graph(observe_inputs(file.path, file.inputs, {}))
    relu, add, choice, mul = graph.nodes
    assert [graph.producer(name) for name in ("x", "w", "r", "z")] == [None, None, relu, mul]
    assert list(graph.uses("r")) == [add, add, choice]
    assert [name for name in ("r", "a", "z", "w") if graph.is_read_once(name)] == ["a", "w"]
    graph.nodes = [relu, add, choice]
    assert graph.producer("z") is None
    assert list(graph.uses("a")) == []


def test_nodes_of_a_folded_model_are_those_of_its_graph(tmp_path: Path) -> None:
    model = chosen(tmp_path).fold({})
    relu, add, choice, _ = model.graph.nodes
    assert all(
        one is other for one, other in zip(model.graph.nodes, model.source.nodes, strict=True)
    )
    assert model.graph.producer("a") is add
    assert list(model.graph.uses("r")) == [add, add, choice]
    assert add.inputs == (relu.outputs[0], relu.outputs[0])


def test_a_node_is_the_same_before_and_after_its_values_are_known(tmp_path: Path) -> None:
    file = chosen(tmp_path)
    graph = file.fold({}).graph
    assert set(graph.nodes) == set(file.nodes)
    assert [node.inputs for node in file.nodes] == [()] * len(file.nodes)
    assert len(graph.nodes[0].inputs) == 1
    assert graph.nodes[0] != file.nodes[1]
    assert graph.nodes[0] != "r"

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


def test_frozen_view_knows_the_same(tmp_path: Path) -> None:
    model = chosen(tmp_path).fold({}).source
    relu, add, choice, _ = model.nodes
    made = model.producer("a")
    assert made is not None
    assert (made.node, made.position) == (add, 0)
    assert model.producer("x") is None
    assert list(model.uses("r")) == [add, add, choice, choice]
    assert add.input_names == ("r", "r")
    assert relu.output_names == ("r",)

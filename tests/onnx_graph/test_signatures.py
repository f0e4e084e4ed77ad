"""Nodes, initializers and outputs that contradict ONNX's definitions or the file itself."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from atc_py.diag.codes import BAD_MODEL, BAD_TENSOR
from atc_py.onnx_graph.reading.read import read_model
from tests.onnx_graph import onnx_files

node = helper.make_node
FLOAT = onnx_files.FLOAT
X = {"x": (FLOAT, [1, 1, 4, 4])}


def pool(**attributes: Any) -> onnx.ModelProto:
    return onnx_files.model(
        [node("MaxPool", ["x"], ["y"], **{"kernel_shape": [2, 2], **attributes})], X, ["y"]
    )


def test_attribute_of_another_type_is_refused(tmp_path: Path) -> None:
    path = onnx_files.save(pool(strides=2, ceil_mode=1), tmp_path)
    error = onnx_files.fails(lambda: read_model(path), BAD_MODEL)
    assert "'strides' is of type int, ONNX defines ints" in str(error)


@pytest.mark.parametrize("kind", ["UNDEFINED", "GRAPH", "INT"])
def test_kernel_that_is_not_a_list_is_refused(kind: str, tmp_path: Path) -> None:
    proto = pool(ceil_mode=1)
    (kernel,) = (each for each in proto.graph.node[0].attribute if each.name == "kernel_shape")
    kernel.type = onnx.AttributeProto.AttributeType.Value(kind)
    path = onnx_files.save(proto, tmp_path)
    onnx_files.fails(lambda: read_model(path), BAD_MODEL)


def test_attribute_of_a_tool_is_passed_over(tmp_path: Path) -> None:
    assert len(onnx_files.source(pool(__note=1), tmp_path).nodes) == 1


def test_too_few_inputs_of_a_variadic_node_are_reported(tmp_path: Path) -> None:
    proto = onnx_files.model([node("Concat", [], ["y"], axis=0)], X, ["y"])
    path = onnx_files.save(proto, tmp_path)
    assert "1 or more inputs" in str(onnx_files.fails(lambda: read_model(path), BAD_MODEL))


@pytest.mark.parametrize("operator", ["Add", "Sum", "MatMul", "Concat"])
def test_inputs_of_two_types_are_refused(operator: str, tmp_path: Path) -> None:
    inputs = {"x": (FLOAT, [2, 2]), "h": (TensorProto.FLOAT16, [2, 2])}
    attributes: dict[str, Any] = {"axis": 0} if operator == "Concat" else {}
    nodes = [node(operator, ["x", "h"], ["y"], "mixed", **attributes)]
    proto = onnx_files.model(nodes, inputs, ["y"])
    error = onnx_files.fails(lambda: onnx_files.source(proto, tmp_path), BAD_MODEL)
    assert "found float32 and float16" in error.diagnostics[0].message
    assert error.diagnostics[0].place is not None
    assert error.diagnostics[0].place.node_name == "mixed"


def test_inputs_that_may_differ_in_type_are_taken(tmp_path: Path) -> None:
    inputs = {"x": (FLOAT, [2]), "n": (TensorProto.INT32, [2]), "c": (TensorProto.BOOL, [2])}
    nodes = [node("Pow", ["x", "n"], ["p"]), node("Where", ["c", "p", "x"], ["y"])]
    assert len(onnx_files.source(onnx_files.model(nodes, inputs, ["y"]), tmp_path).nodes) == 2


def test_output_declared_with_another_type_is_refused(tmp_path: Path) -> None:
    proto = onnx_files.model([node("Relu", ["x"], ["y"])], X, ["y"])
    declared = helper.make_tensor_value_info("y", TensorProto.FLOAT16, [1, 1, 4, 4])
    proto.graph.output[0].CopyFrom(declared)
    error = onnx_files.fails(lambda: onnx_files.source(proto, tmp_path), BAD_MODEL)
    assert "declared as float16, but the computed dtype is float32" in str(error)


@pytest.mark.parametrize(
    ("type_", "message"),
    [((FLOAT, [3]), "is of shape 2, as an input it is 3"), ((FLOAT, [1, 2]), "as an input it is"),
     ((TensorProto.FLOAT16, [2]), "is float32, as an input it is float16")],
)  # fmt: skip
def test_initializer_declared_otherwise_is_refused(
    type_: tuple[int, list[int]], message: str, tmp_path: Path
) -> None:
    inputs = {"x": (FLOAT, [2]), "w": type_}
    weights = {"w": np.ones(2, np.float32)}
    proto = onnx_files.model([node("Add", ["x", "w"], ["y"])], inputs, ["y"], weights)
    path = onnx_files.save(proto, tmp_path)
    assert message in str(onnx_files.fails(lambda: read_model(path), BAD_MODEL))


@pytest.mark.parametrize("dims", [[2], ["N"], None])
def test_initializer_declared_alike_is_taken(dims: list[int | str] | None, tmp_path: Path) -> None:
    inputs = {"x": (FLOAT, [2]), "w": (FLOAT, dims)}
    weights = {"w": np.ones(2, np.float32)}
    proto = onnx_files.model([node("Add", ["x", "w"], ["y"])], inputs, ["y"], weights)
    assert [each.name for each in onnx_files.source(proto, tmp_path).inputs] == ["x"]


def test_rank_beyond_the_limit_is_refused_where_it_begins(tmp_path: Path) -> None:
    proto = onnx_files.model([node("Relu", ["x"], ["y"])], {"x": (FLOAT, [1] * 33)}, ["y"])
    error = onnx_files.fails(lambda: onnx_files.source(proto, tmp_path), BAD_TENSOR)
    assert "input 'x' has 33" in str(error)
    axes = {"axes": np.arange(31)}
    nodes = [node("Unsqueeze", ["x", "axes"], ["m"], "wide"), node("Relu", ["m"], ["y"])]
    proto = onnx_files.model(nodes, {"x": (FLOAT, [2, 2])}, ["y"], axes)
    error = onnx_files.fails(lambda: onnx_files.source(proto, tmp_path), BAD_TENSOR)
    assert "its output 'm' has 33" in str(error)
    assert error.diagnostics[0].place is not None
    assert error.diagnostics[0].place.node_name == "wide"

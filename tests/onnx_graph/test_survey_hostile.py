"""Surveys of models that no exporter writes: none may end in anything but findings."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from atc_py.diag.codes import BAD_MODEL
from atc_py.onnx_graph.reading import onnx_file
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.source import SourceModel, SourceTensor
from tests.onnx_graph import onnx_files

node = helper.make_node
FLOAT = onnx_files.FLOAT


def surveyed(proto: onnx.ModelProto, folder: Path) -> SourceModel:
    return onnx_file.surveyed(read_model(onnx_files.save(proto, folder), lenient=True), {}).source


def only_output(view: SourceModel, op_type: str) -> SourceTensor | None:
    (found,) = (each for each in view.nodes if each.op_type == op_type)
    return found.outputs[0]


@pytest.mark.parametrize("op_type", ["Relu", "MaxPool", "ConvTranspose", "NoSuchOperator"])
@pytest.mark.parametrize("name", ["auto_pad", "output_shape", "ceil_mode"])
@pytest.mark.parametrize("value", [[1, 2], ["a", "b"], 1.5, helper.make_graph([], "g", [], [])])
def test_window_attributes_of_any_type_are_looked_at(
    op_type: str, name: str, value: Any, tmp_path: Path
) -> None:
    inputs: onnx_files.Ports = {"x": (FLOAT, [1, 1, 4, 4]), "w": (FLOAT, [1, 1, 3, 3])}
    count = 2 if op_type == "ConvTranspose" else 1
    bad = node(op_type, ["x", "w"][:count], ["y"], **{name: value})
    view = surveyed(onnx_files.model([bad], inputs, ["y"]), tmp_path)
    assert [each.op_type for each in view.nodes] == [op_type]
    # ONNX defines no attribute of that type but two, and knows nothing of the last operator.
    defined = op_type == "ConvTranspose" and name == "output_shape" and value == [1, 2]
    assert bool(view.faults) is not (op_type == "NoSuchOperator" or defined)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_transposed_convolution_without_spatial_axes_is_a_fault(rank: int, tmp_path: Path) -> None:
    inputs: onnx_files.Ports = {"x": (FLOAT, [2] * rank), "w": (FLOAT, [2] * rank)}
    bad = node("ConvTranspose", ["x", "w"], ["y"], output_shape=[2, 2])
    view = surveyed(onnx_files.model([bad], inputs, ["y"]), tmp_path)
    assert view.faults


def test_empty_constant_takes_no_shape_that_numpy_lacks(tmp_path: Path) -> None:
    weights = {"z": np.zeros(0, np.float32), "shape": np.array([0, 2**62, 8])}
    nodes = [node("Reshape", ["z", "shape"], ["y"], allowzero=1)]
    view = surveyed(onnx_files.model(nodes, {}, ["y"], weights, {"": 14}), tmp_path)
    assert [each.op_type for each in view.nodes] == ["Reshape"]


def test_size_beyond_int64_does_not_fold(tmp_path: Path) -> None:
    inputs: onnx_files.Ports = {"x": (FLOAT, [2**62, 8])}
    view = surveyed(onnx_files.model([node("Size", ["x"], ["y"])], inputs, ["y"]), tmp_path)
    assert [each.op_type for each in view.nodes] == ["Size"]


def test_what_the_reference_works_out_slowly_does_not_fold(tmp_path: Path) -> None:
    weights = {
        "x": np.ones((1, 64, 128, 128), np.float32),
        "s": np.ones((1, 64, 9, 9), np.float32),
        "w": np.ones((1, 64, 3, 3), np.float32),
    }
    nodes = [node("Conv", ["x", "w"], ["large"]), node("Conv", ["s", "w"], ["small"])]
    view = surveyed(onnx_files.model(nodes, {}, ["large", "small"], weights), tmp_path)
    assert [each.inputs[0] and each.inputs[0].name for each in view.nodes] == ["x"]


@pytest.mark.parametrize("count", [0, 2])
def test_number_of_outputs_is_that_of_the_operator(count: int, tmp_path: Path) -> None:
    weights = {"w": np.ones((1, 1, 3, 3), np.float32)}
    outputs = [f"y{at}" for at in range(count)]
    nodes = [node("Conv", ["x", "w"], outputs), node("Relu", ["x"], ["z"])]
    proto = onnx_files.model(nodes, {"x": (FLOAT, [1, 1, 4, 4])}, [*outputs, "z"], weights)
    error = onnx_files.fails(lambda: read_model(onnx_files.save(proto, tmp_path)), BAD_MODEL)
    assert f"Conv gives 1 outputs at opset 13, found {count}" in str(error)


@pytest.mark.parametrize("batch_dims", [-1, -9, -(2**31)])
def test_negative_batch_dims_are_kept_from_onnx(batch_dims: int, tmp_path: Path) -> None:
    # Inference by onnx ends the process at these: reads beyond the shape.
    inputs: onnx_files.Ports = {"x": (FLOAT, [2, 2, 2]), "i": (onnx_files.INT64, [2, 1])}
    nodes = [node("GatherND", ["x", "i"], ["y"], batch_dims=batch_dims)]
    view = surveyed(onnx_files.model(nodes, inputs, ["y"]), tmp_path)
    (fault,) = view.faults
    assert fault.message == f"batch_dims of GatherND must be at least 0, found {batch_dims}"


def test_indices_of_a_negative_dim_are_kept_from_onnx(tmp_path: Path) -> None:
    inputs: onnx_files.Ports = {"x": (FLOAT, [1, 1, 4, 4]), "d": (FLOAT, [2, 2, 2])}
    nodes = [
        node("MaxPool", ["x"], ["p"], kernel_shape=[9, 9]),
        node("Cast", ["p"], ["i"], to=onnx_files.INT64),
        node("GatherND", ["d", "i"], ["y"]),
    ]
    view = surveyed(onnx_files.model(nodes, inputs, ["y"]), tmp_path)
    assert view.faults


def test_indices_after_a_sound_window_are_inferred(tmp_path: Path) -> None:
    inputs: onnx_files.Ports = {"x": (FLOAT, [1, 1, 4, 3]), "d": (FLOAT, [2, 2, 5, 6])}
    nodes = [
        node("MaxPool", ["x"], ["p"], kernel_shape=[2, 1]),
        node("Cast", ["p"], ["i"], to=onnx_files.INT64),
        node("GatherND", ["d", "i"], ["y"]),
    ]
    view = surveyed(onnx_files.model(nodes, inputs, ["y"]), tmp_path)
    found = view.nodes[-1].outputs[0]
    assert view.faults == ()
    assert found is not None
    assert found.dims == (1, 1, 3, 6)


@pytest.mark.parametrize("between", [[], [node("Neg", ["s"], ["t"])]])
def test_expand_to_billions_of_axes_is_kept_from_onnx(
    between: list[onnx.NodeProto], tmp_path: Path
) -> None:
    # Inference by onnx would make as many axes, of some 50 bytes each.
    inputs: onnx_files.Ports = {"x": (FLOAT, [1]), "s": (onnx_files.INT64, [2**32])}
    nodes = [*between, node("Expand", ["x", "t" if between else "s"], ["y"])]
    view = surveyed(onnx_files.model(nodes, inputs, ["y"]), tmp_path)
    found = only_output(view, "Expand")
    assert found is None or found.dims is None


def test_expand_to_a_computed_shape_is_inferred(tmp_path: Path) -> None:
    inputs: onnx_files.Ports = {"x": (FLOAT, [1]), "s": (onnx_files.INT64, [3])}
    nodes = [node("Neg", ["s"], ["t"]), node("Expand", ["x", "t"], ["y"])]
    view = surveyed(onnx_files.model(nodes, inputs, ["y"]), tmp_path)
    found = only_output(view, "Expand")
    assert found is not None
    assert found.dims == (None, None, None)


def test_constant_whose_integers_are_infinite_does_not_fold(tmp_path: Path) -> None:
    # Without an import of ONNX's own domain nothing defines Constant.
    bad = helper.make_attribute("value_ints", float("inf"))
    constant = node("Constant", [], ["c"])
    constant.attribute.append(bad)
    proto = onnx_files.model([constant, node("Relu", ["c"], ["y"])], {}, ["y"], None, {"other": 1})
    view = surveyed(proto, tmp_path)
    assert [each.op_type for each in view.nodes] == ["Constant", "Relu"]


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_window_of_no_number_is_looked_at(value: float, tmp_path: Path) -> None:
    inputs: onnx_files.Ports = {"x": (FLOAT, [1, 1, 4, 4])}
    bad = node("MaxPool", ["x"], ["y"], kernel_shape=[value, value])
    view = surveyed(onnx_files.model([bad], inputs, ["y"]), tmp_path)
    (fault,) = view.faults
    assert "'kernel_shape' is of type floats" in fault.message

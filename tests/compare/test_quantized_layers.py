"""Quantized layers: codes that moved by steps, and the deploy form beside its own QDQ form."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py
from atc_py.compare.grids import _handed_on, _parameters
from atc_py.compare.measure import Measure
from atc_py.diag import AtcError
from atc_py.package.schema import OmNode, OmTensor
from atc_py.report.layers.formats import render_layers
from atc_py.results.judgment import QuantizedGrid
from atc_py.results.layer import Layer
from atc_py.results.layer_comparison import LayerComparison
from atc_py.tensor.dtypes import DType
from tests.check.test_quantized_models import mixed
from tests.compare.broken_networks import built, node
from tests.compare.judged_networks import rounded_codes
from tests.networks.test_deploy_model import Network

ZEROS = [np.array(0, np.int8), np.array(-3, np.int8), np.array(128, np.uint8)]


def compared(model: onnx.ModelProto, folder: Path, **options: Any) -> LayerComparison:
    path = folder / "model.onnx"
    onnx.save(model, path)
    return atc_py.compare_model(path, **options)


def layer_of(done: LayerComparison, value: str) -> Layer:
    return next(layer for layer in done.layers if layer.value == value)


@pytest.mark.parametrize(("soc", "taken"), [("Ascend310P3", True), ("sim", False)])
def test_a_layer_that_the_soc_takes_back_is_named(soc: str, *, taken: bool, tmp_path: Path) -> None:
    done = compared(mixed().model(), tmp_path, soc=soc)
    layers = json.loads(render_layers("json", done))["layers"]
    found = {each["source"] for each in layers if each["rolled_back"]}
    assert found == ({"Conv_3", "Conv_7"} if taken else set())
    told = "quantized in the original, taken back to float16 by the SoC"
    assert (told in render_layers("text", done)) is taken


@pytest.mark.parametrize("zero", ZEROS, ids=lambda zero: f"{zero.dtype}{zero}")
def test_codes_that_moved_are_counted_in_steps(zero: np.ndarray, tmp_path: Path) -> None:
    model, x = rounded_codes(zero)
    done = compared(model, tmp_path, inputs={"x": x})
    codes, made, y = (layer_of(done, value) for value in ("codes", "made", "y"))
    assert (codes.dtype, codes.moved_steps) == ("int8", 1)
    assert "50.000% of the codes moved, by up to 1 step" in "; ".join(codes.faults)
    assert "50.000% of the codes moved, by up to 2 steps" in "; ".join(made.faults)
    assert "codes moved by up to 2 steps of 1" in "; ".join(y.faults)
    assert done.first_failing is codes
    assert "underflow" not in render_layers("text", done)
    assert "overflow" not in render_layers("text", done)
    found = {each["value"]: each for each in json.loads(render_layers("json", done))["layers"]}
    assert (found["made"]["moved_steps"], found["made"]["grid"]["codes"]) == (2, True)


@pytest.mark.parametrize("zero", ZEROS, ids=lambda zero: f"{zero.dtype}{zero}")
def test_codes_are_judged_by_the_numbers_that_they_stand_for(
    zero: np.ndarray, tmp_path: Path
) -> None:
    """Check that figures of codes are those of the dequantized numbers at any zero point."""
    model, x = rounded_codes(zero)
    done = compared(model, tmp_path, inputs={"x": x})
    codes, y = layer_of(done, "made"), layer_of(done, "y")
    for figure in ("cosine", "distance", "snr", "max_absolute"):
        assert getattr(codes.figures, figure) == pytest.approx(getattr(y.figures, figure), rel=1e-6)


def test_few_steps_of_many_are_not_bad(tmp_path: Path) -> None:
    """Check codes that are all one step off, of a hundred: 100 % differ, and nothing is wrong."""
    x = np.full((1, 64), 100.5001, np.float32)
    constants: dict[str, np.ndarray] = {
        "scale": np.array(1, np.float32),
        "zero": np.array(0, np.int8),
    }
    nodes = [
        node("QuantizeLinear", "x scale zero", "codes"),
        node("DequantizeLinear", "codes scale zero", "numbers"),
        node("Neg", "numbers", "y"),
    ]
    done = compared(built(nodes, {"x": x}, constants), tmp_path, inputs={"x": x})
    codes = layer_of(done, "codes")
    assert (codes.figures.differing, codes.moved_steps, codes.faults) == (1.0, 1, ())
    assert done.first_failing is None


def test_least_code_of_int8_is_not_an_overflow() -> None:
    measure = Measure(DType.INT8)
    measure.add(np.array([-128, 127], np.int8), np.array([-128, 127], np.int8))
    assert measure.figures().overflow.share == 0
    measure = Measure(DType.INT32)
    measure.add(np.array([2**31 - 1]), np.array([2**31]))
    assert measure.figures().overflow.share == 1


def test_number_that_became_zero_is_underflow_only_where_the_dtype_cannot_hold_it() -> None:
    measure = Measure(DType.FLOAT16)
    measure.add(np.zeros(4, np.float32), np.array([0.02, 1e-3, 1e-5, 1e-9], np.float32))
    assert measure.figures().underflow.share == 0.5
    assert measure.figures().underflow.value == pytest.approx(1e-5)


def test_deploy_form_is_compared_with_its_own_qdq_form(tmp_path: Path) -> None:
    network = Network(0)
    done = compared(network.deploy(), tmp_path, inputs={"x": network.data})
    assert done.original_form == "qdq"
    assert done.engines == ("onnxruntime",)
    assert not done.uncompared
    assert done.layers[done.outputs["y"]].figures.cosine > 0.999
    assert done.first_failing is None
    ops = {(layer.source_op, layer.op) for layer in done.layers}
    assert {("AscendQuant", "AscendQuant"), ("AscendQuant", "AscendRequant")} <= ops
    assert ("AscendAntiQuant", "AscendAntiQuant") in ops
    assert layer_of(done, "x8").moved_steps <= 1
    assert layer_of(done, "x8").holds_codes
    text = render_layers("text", done)
    assert "by onnxruntime in its QDQ form" in text
    assert json.loads(render_layers("json", done))["original_form"] == "qdq"
    assert str(done.model).endswith("model.onnx")


def test_form_of_int16_has_no_original(tmp_path: Path) -> None:
    constants: dict[str, np.ndarray] = {
        "w": np.ones((16, 16), np.int8),
        "d": np.full(16, 0x3F800000, np.uint64),
    }
    nodes = [
        helper.make_node("AscendQuant", ["x"], ["x8"], name="q", scale=1.0, offset=0.0),
        helper.make_node("MatMul", ["x8", "w"], ["s"], name="m"),
        helper.make_node("AscendDequantS16", ["s", "d"], ["y"], name="d16"),
    ]
    graph = helper.make_graph(
        nodes,
        "int16",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16])],
        [helper.make_tensor_value_info("y", TensorProto.INT16, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    with pytest.raises(AtcError) as caught:
        compared(model, tmp_path)
    assert "onnxruntime" not in caught.value.diagnostics[0].message


def test_outputs_of_qoperator_models_are_compared(tmp_path: Path) -> None:
    x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(4, 16)
    constants: dict[str, np.ndarray] = {
        "scale": np.array(0.01, np.float32),
        "zero": np.array(120, np.uint8),
        "w": np.eye(16, dtype=np.int8) * np.int8(50),
        "ws": np.array(0.02, np.float32),
        "wz": np.array(0, np.int8),
    }
    nodes = [
        node("QuantizeLinear", "x scale zero", "codes"),
        node("QLinearMatMul", "codes scale zero w ws wz scale zero", "made"),
        node("DequantizeLinear", "made scale zero", "y"),
    ]
    done = compared(built(nodes, {"x": x}, constants), tmp_path, inputs={"x": x})
    assert not done.uncompared
    assert done.layers[done.outputs["y"]].figures.cosine > 0.999
    assert layer_of(done, "made").holds_codes
    assert layer_of(done, "codes").grid is not None


def test_grids_go_on_where_nothing_is_rounded() -> None:
    """Cast rounds to floats that still stand on the grid; what adds to them leaves it."""
    tensors = [OmTensor(name, "float16", [4], "ND") for name in "xy"]
    grid = QuantizedGrid(0.5, 0, codes=False)
    model: Any = SimpleNamespace(tensors=tensors)
    for op, taken in (("Cast", True), ("Reshape", True), ("Sigmoid", False)):
        made = OmNode(op, "n", "aicore", [0], [1], {}, None, [])
        assert _handed_on(model, made, {0: grid}, {0}) == (grid if taken else None)


def test_grid_of_channels_has_no_step() -> None:
    constants = {
        "scale": np.array([0.5], np.float32),
        "scales": np.array([0.5, 0.25], np.float32),
        "zero": np.array([120], np.uint8),
        "zeros": np.array([3, 4], np.int8),
    }
    reference: Any = SimpleNamespace(constant=constants.get)
    assert _parameters(reference, ["scale", "zero"]) == (0.5, -8)
    assert _parameters(reference, ["scales", "zeros"]) == (None, 0)
    assert _parameters(reference, ["computed", "zeros"]) == (None, 0)
    assert _parameters(reference, ["scale", ""]) == (0.5, 0)
    assert _parameters(reference, ["scale"]) == (0.5, -128)

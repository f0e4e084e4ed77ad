"""Models and samples that cannot be quantized: coded, and nothing is written."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import (
    ALREADY_QUANTIZED,
    BAD_OPTION,
    CONSTANT_TENSOR,
    LAYER_LEFT_FLOAT,
    NO_FLOAT_LAYERS,
    NO_VALUES,
    NOT_IN_MODEL,
    RANDOM_SAMPLES,
    SCALE_OUT_OF_RANGE,
    VALUES_NOT_FINITE,
    ZERO_CHANNEL,
)
from atc_py.diag.diagnostic import Code
from atc_py.quantizing.layers.float_model import FloatModel
from atc_py.quantizing.layers.layers import STACKED_WEIGHTS, TRANSPOSED_DATA
from tests.quantizing.float_networks import (
    Array,
    FloatSketch,
    conv_network,
    relative_error,
    run_ort,
    samples_of,
)


def refused(model: Path, samples: list[dict[str, Array]], **choice: Any) -> list[Code]:
    """Return the codes with which a model is refused; nothing may be written."""
    before = sorted(model.parent.rglob("*"))
    with pytest.raises(AtcError) as found:
        atc_py.quantize(model, model.parent / "out.onnx", data=samples, **choice)
    assert sorted(model.parent.rglob("*")) == before
    return [each.code for each in found.value.diagnostics]


def single(path: Path, weights: Array) -> Path:
    """Save a MatMul of these weights."""
    net = FloatSketch()
    net.add("MatMul", [net.input("x", ["n", weights.shape[0]]), net.const("w", weights)], "y")
    return net.save(path, "y")


def matrix(rows: int, columns: int) -> Array:
    return np.random.default_rng(0).standard_normal((rows, columns)).astype(np.float32)


def test_constant_samples(tmp_path: Path) -> None:
    model = conv_network(tmp_path / "n.onnx")
    samples = [{"x": np.full((1, 3, 16, 16), 0.5, np.float32)}] * 2
    assert refused(model, samples) == [CONSTANT_TENSOR]


@pytest.mark.parametrize("normed", [False, True])
def test_place_is_in_the_model_that_was_given(tmp_path: Path, *, normed: bool) -> None:
    net = FloatSketch()
    x = net.add("Conv", [net.input("x", [1, 3, 8, 8]), net.weight("w", 4, 3, 1, 1)], "c")
    if normed:
        numbers = [net.const(name, np.ones(4, np.float32)) for name in ("g", "b", "m", "v")]
        x = net.add("BatchNormalization", [x, *numbers], "n")
    x = net.add("Sub", [x, net.const("far", np.array(1e3, np.float32))], "s")
    x = net.add("Relu", [x], "dead")
    net.add("Conv", [x, net.weight("w2", 3, 4, 1, 1)], "y")
    model = net.save(tmp_path / "n.onnx", "y")
    with pytest.raises(AtcError) as found:
        atc_py.quantize(model, tmp_path / "out.onnx", data=samples_of(2, 1, 3, 8, 8))
    place = found.value.diagnostics[0].place
    assert place is not None
    assert (place.file, place.node, place.node_name) == (str(model), 3 + normed, "y_Conv")


def test_constant_inner_tensor_is_left_by_skip(tmp_path: Path) -> None:
    net = FloatSketch()
    x = net.add("MatMul", [net.input("x", [4, 8]), net.weight("w1", 8, 8)], "h")
    x = net.add("Sub", [x, net.const("far", np.array(1e3, np.float32))], "s")
    x = net.add("Relu", [x], "dead")
    net.add("MatMul", [x, net.weight("w2", 8, 3)], "y")
    model, samples = net.save(tmp_path / "n.onnx", "y"), samples_of(2, 4, 8)
    assert refused(model, samples) == [CONSTANT_TENSOR]
    done = atc_py.quantize(model, tmp_path / "out.onnx", data=samples, skip=["y_MatMul"])
    assert done.written[0].integer_layers == 1


def test_layer_that_never_sees_data(tmp_path: Path) -> None:
    net = FloatSketch()
    x = net.input("x", ["n", 8])
    starts, ends = net.const("a", np.array([5])), net.const("b", np.array([9]))
    x = net.add("Slice", [x, starts, ends], "rest")
    net.add("MatMul", [x, net.weight("w", 8, 3)], "y")
    assert refused(net.save(tmp_path / "n.onnx", "y"), samples_of(2, 4, 8)) == [NO_VALUES]


def test_finding_names_the_node_in_the_model_of_the_user(tmp_path: Path) -> None:
    model = conv_network(tmp_path / "n.onnx")
    samples = [{"x": np.full((1, 3, 16, 16), 0.5, np.float32)}] * 2
    with pytest.raises(AtcError) as found:
        atc_py.quantize(model, tmp_path / "out.onnx", data=samples)
    (place,) = (each.place for each in found.value.diagnostics)
    assert place is not None
    assert place.file == str(model)
    assert place.node is not None
    assert onnx.load(model).graph.node[place.node].name == place.node_name


def test_scale_that_no_operator_has(tmp_path: Path) -> None:
    model = single(tmp_path / "n.onnx", matrix(8, 3))
    samples = [{"x": matrix(4, 8) * 1e12}]
    assert refused(model, samples, calibrator="min-max") == [SCALE_OUT_OF_RANGE]


def test_inner_values_that_overflow(tmp_path: Path) -> None:
    net = FloatSketch()
    x = net.add("Exp", [net.input("x", [4, 8])], "e")
    net.add("MatMul", [x, net.weight("w", 8, 3)], "y")
    model = net.save(tmp_path / "n.onnx", "y")
    assert refused(model, [{"x": matrix(4, 8) * 100}]) == [VALUES_NOT_FINITE]


def test_weights_that_are_not_finite(tmp_path: Path) -> None:
    weights = matrix(8, 3)
    weights[2, 1] = np.nan
    model = single(tmp_path / "n.onnx", weights)
    assert refused(model, samples_of(1, 4, 8)) == [VALUES_NOT_FINITE]


@pytest.mark.parametrize("form", ["ascend", "qdq"])
def test_quantized_model(tmp_path: Path, form: str) -> None:
    model, samples = conv_network(tmp_path / "n.onnx"), samples_of(2, 1, 3, 16, 16)
    atc_py.quantize(model, tmp_path / "q.onnx", data=samples, format=form)
    assert refused(tmp_path / "q.onnx", samples) == [ALREADY_QUANTIZED]


def test_model_without_layers(tmp_path: Path) -> None:
    net = FloatSketch()
    net.add("Relu", [net.input("x", [4, 8])], "y")
    assert refused(net.save(tmp_path / "n.onnx", "y"), samples_of(1, 4, 8)) == [NO_FLOAT_LAYERS]


def test_products_of_computed_tensors_are_no_layers(tmp_path: Path) -> None:
    net = FloatSketch()
    x = net.input("x", [8, 8])
    net.add("MatMul", [x, x], "y")
    assert refused(net.save(tmp_path / "n.onnx", "y"), samples_of(1, 8, 8)) == [NO_FLOAT_LAYERS]


@pytest.mark.parametrize(
    ("choice", "code"),
    [
        ({"skip": ["c1_Con"]}, NOT_IN_MODEL),
        ({"skip": ["OpType::LSTM"]}, NOT_IN_MODEL),
        ({"skip": ["OpType::Conv", "OpType::Gemm"]}, NO_FLOAT_LAYERS),
        ({"skip_first": 9}, NO_FLOAT_LAYERS),
        ({"skip_last": -1}, BAD_OPTION),
        ({"calibrator": "guess"}, BAD_OPTION),
        ({"weights": "guess"}, BAD_OPTION),
        ({"executor": "guess"}, BAD_OPTION),
        ({"format": "guess"}, BAD_OPTION),
        ({"percentile": 0.0}, BAD_OPTION),
        ({"random": 3}, BAD_OPTION),
    ],
)
def test_option_without_meaning(tmp_path: Path, choice: dict[str, Any], code: Code) -> None:
    model = conv_network(tmp_path / "n.onnx")
    assert refused(model, samples_of(1, 1, 3, 16, 16), **choice) == [code]


def test_no_samples_at_all(tmp_path: Path) -> None:
    assert refused(conv_network(tmp_path / "n.onnx"), []) == [BAD_OPTION]


def test_channels_without_weights_are_exact(tmp_path: Path) -> None:
    weights = matrix(8, 3)
    weights[:, 1] = 0
    model, samples = single(tmp_path / "n.onnx", weights), samples_of(2, 4, 8)
    done = atc_py.quantize(model, tmp_path / "out.onnx", data=samples, format="qdq")
    assert [each.code for each in done.warnings] == [ZERO_CHANNEL]
    assert not run_ort(tmp_path / "out.onnx", samples[0])[0][:, 1].any()


def test_channels_with_small_weights_keep_codes(tmp_path: Path) -> None:
    """A step below 2^-23 becomes 2^-23, not 1: with 1 the channel would be 0."""
    weights = matrix(8, 3)
    weights[:, 1] *= 2e-6
    model, samples = single(tmp_path / "n.onnx", weights), samples_of(2, 4, 8)
    atc_py.quantize(model, tmp_path / "out.onnx", data=samples, format="qdq")
    found, wanted = (run_ort(tmp_path / name, samples[0])[0] for name in ("out.onnx", "n.onnx"))
    assert relative_error(found[:, 1], wanted[:, 1]) < 0.1


def test_data_too_small_for_a_scale_stay_in_floats(tmp_path: Path) -> None:
    net = FloatSketch()
    x = net.add("MatMul", [net.input("x", [4, 8]), net.weight("w1", 8, 8)], "h")
    x = net.add("Mul", [x, net.const("small", np.array(1e-9, np.float32))], "s")
    net.add("MatMul", [x, net.weight("w2", 8, 3)], "y")
    model, samples = net.save(tmp_path / "n.onnx", "y"), samples_of(2, 4, 8)
    done = atc_py.quantize(model, tmp_path / "out.onnx", data=samples)
    assert [each.code for each in done.warnings] == [LAYER_LEFT_FLOAT]
    assert [each.scale is None for each in done.layers] == [False, True]


def test_random_samples_warn(tmp_path: Path) -> None:
    model = conv_network(tmp_path / "n.onnx")
    done = atc_py.quantize(model, tmp_path / "out.onnx", random=2)
    assert [each.code for each in done.warnings] == [RANDOM_SAMPLES]
    assert onnx.load(tmp_path / "out.onnx").producer_name == "atc-py"


def test_weights_too_small_for_a_scale_stay_in_floats(tmp_path: Path) -> None:
    """All codes would be 0, and with them the results."""
    net = FloatSketch()
    x = net.add("MatMul", [net.input("x", ["n", 8]), net.const("w", matrix(8, 6) * 1e-9)], "h")
    net.add("MatMul", [x, net.const("w2", matrix(6, 3) * 1e9)], "y")
    samples = samples_of(3, 4, 8)
    done = atc_py.quantize(net.save(tmp_path / "n.onnx", "y"), tmp_path / "o.onnx", data=samples)
    assert LAYER_LEFT_FLOAT in [each.code for each in done.warnings]
    assert done.written[0].integer_layers == 0


@pytest.mark.parametrize("factor", [1e-4, 1.0, 1e8])
def test_large_and_small_channels_are_balanced_or_left(tmp_path: Path, factor: float) -> None:
    """Smoothing factors compare channels; the magnitude of all of them has no part in it."""
    model = conv_network(tmp_path / "n.onnx")
    samples = [{"x": each["x"] * np.float32(factor)} for each in samples_of(3, 1, 3, 16, 16)]
    done = atc_py.quantize(model, tmp_path / "o.onnx", data=samples)
    assert done.written[0].integer_layers > 0


def test_samples_of_the_other_byte_order_are_read(tmp_path: Path) -> None:
    model = single(tmp_path / "n.onnx", matrix(8, 3))
    samples = samples_of(2, 4, 8)
    swapped = [{"x": each["x"].astype(">f4")} for each in samples]
    for given, name in ((samples, "a"), (swapped, "b")):
        atc_py.quantize(model, tmp_path / f"{name}.onnx", data=given)
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_nodes_named_as_their_results_are_measured(tmp_path: Path) -> None:
    """Onnxruntime takes each name once; nodes without one are written with that of a result."""
    net = FloatSketch()
    x = net.add("MatMul", [net.input("x", [4, 8]), net.weight("w", 8, 6)], "h")
    net.add("MatMul", [x, net.weight("w2", 6, 3)], "y")
    for node in net.nodes:
        node.name = node.output[0]
    model = net.save(tmp_path / "n.onnx", "y")
    samples = samples_of(3, 4, 8)
    done = atc_py.quantize(model, tmp_path / "o.onnx", data=samples, target={"cosine": 0.9})
    assert done.written[0].integer_layers == 2


def test_nodes_of_other_domains_are_no_layers(tmp_path: Path) -> None:
    net = FloatSketch()
    x = net.add("MatMul", [net.input("x", [2, 4]), net.weight("w", 4, 4)], "h")
    net.add("MatMul", [x, "w"], "y")
    model = net.model("y")
    model.graph.node[1].domain = "acme"
    model.opset_import.add(domain="acme", version=1)
    onnx.save(model, tmp_path / "model.onnx")
    found = FloatModel(tmp_path / "model.onnx").found
    assert [layer.name for layer in found.layers] == ["h_MatMul"]
    assert not found.left


def test_layers_are_left_for_the_form_of_their_operands(tmp_path: Path) -> None:
    net = FloatSketch()
    x = net.input("x", [2, 4, 4])
    x = net.add("MatMul", [x, net.weight("stack", 2, 4, 4)], "h")
    x = net.add("Reshape", [x, net.const("rows", np.array([8, 4], np.int64))], "r")
    net.add("Gemm", [x, net.weight("w", 8, 4)], "y", transA=1)
    left = FloatModel(net.save(tmp_path / "model.onnx", "y")).found.left
    assert [reason for _, reason in left] == [STACKED_WEIGHTS, TRANSPOSED_DATA]


def test_number_of_random_samples_is_positive(tmp_path: Path) -> None:
    model = conv_network(tmp_path / "n.onnx")
    with pytest.raises(AtcError, match="--random must be positive, found -1") as caught:
        atc_py.quantize(model, tmp_path / "out.onnx", random=-1)
    assert caught.value.diagnostics[0].code is BAD_OPTION

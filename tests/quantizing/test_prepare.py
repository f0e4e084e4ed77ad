"""Rewrites before calibration: they change no result, and gain what they promise."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from atc_py.pipeline.running.samples import ArraySamples
from atc_py.quantizing.calibration import calibrate
from atc_py.quantizing.layers.float_model import FloatModel
from atc_py.quantizing.options import CalibrationOptions
from atc_py.quantizing.prepare import Prepared, prepare
from tests.quantizing.float_networks import Array, FloatSketch, relative_error, run_ort, samples_of


def uneven(net: FloatSketch, name: str, *shape: int, sign: int = 1) -> str:
    """Return weights whose output channels (axis 0) differ by up to 64."""
    spread = np.exp2(sign * np.linspace(-3, 3, shape[0])).astype(np.float32)
    weights = net.generator.standard_normal(shape).astype(np.float32) * 0.2
    return net.const(name, weights * spread.reshape(-1, *[1] * (len(shape) - 1)))


def norm(net: FloatSketch, x: str, channels: int, output: str) -> str:
    draw = net.generator
    names = [
        net.const(f"{output}_g", draw.uniform(0.5, 2, channels).astype(np.float32)),
        net.const(f"{output}_b", draw.standard_normal(channels).astype(np.float32)),
        net.const(f"{output}_m", draw.standard_normal(channels).astype(np.float32)),
        net.const(f"{output}_v", draw.uniform(0.5, 2, channels).astype(np.float32)),
    ]
    return net.add("BatchNormalization", [x, *names], output)


def norm_network(path: Path) -> Path:
    """Save a Conv in groups, a transposed Conv in groups and one without bias, each normalized."""
    net = FloatSketch()
    x = net.input("x", [1, 4, 8, 8])
    x = net.add("Conv", [x, net.weight("w1", 8, 2, 3, 3), net.weight("b1", 8)], "c1", group=2)
    x = norm(net, x, 8, "n1")
    x = net.add("ConvTranspose", [x, net.weight("w2", 8, 3, 2, 2)], "c2", group=2, strides=[2, 2])
    x = norm(net, x, 6, "n2")
    x = net.add("Conv", [x, net.weight("w3", 5, 6, 1, 1)], "c3")
    norm(net, x, 5, "y")
    return net.save(path, "y")


def pair_network(path: Path) -> Path:
    """Save Conv, Relu, depthwise Conv, Relu, MaxPool, Conv; channels between the first two differ."""
    net = FloatSketch()
    x = net.input("x", [1, 3, 12, 12])
    x = net.add("Conv", [x, uneven(net, "w1", 16, 3, 3, 3), net.weight("b1", 16)], "c1")
    x = net.add("Relu", [x], "r1")
    x = net.add(
        "Conv", [x, uneven(net, "w2", 16, 1, 3, 3, sign=-1), net.weight("b2", 16)], "c2", group=16
    )
    x = net.add("Relu", [x], "r2")
    x = net.add("MaxPool", [x], "p", kernel_shape=[2, 2])
    net.add("Conv", [x, net.weight("w3", 6, 16, 2, 2)], "y")
    return net.save(path, "y")


def norm_products(path: Path, *, written_out: bool) -> Path:
    """Save a layer normalization with outlier channels that three products read."""
    net = FloatSketch(opset=17)
    x = net.input("x", [1, 5, 32])
    gamma = np.ones(32, np.float32)
    gamma[[3, 17]] = 40
    net.const("g", gamma)
    net.weight("b", 32)
    if written_out:
        net.add("ReduceMean", [x], "m", axes=[-1])
        net.add("Sub", [x, "m"], "d")
        net.add("Mul", ["d", "d"], "s")
        net.add("ReduceMean", ["s"], "v", axes=[-1])
        net.add("Add", ["v", net.const("e", np.array(1e-5, np.float32))], "ve")
        net.add("Sqrt", ["ve"], "sd")
        net.add("Div", ["d", "sd"], "z")
        net.add("Mul", ["z", "g"], "zg")
        x = net.add("Add", ["zg", "b"], "n")
    else:
        x = net.add("LayerNormalization", [x, "g", "b"], "n")
    for name in ("q", "k", "y"):
        net.add("MatMul", [x, net.weight(f"w{name}", 32, 16)], name)
    return net.save(path, "q", "k", "y")


def prepared(model: Path, samples: list[dict[str, Array]], **choice: bool) -> Prepared:
    settings = CalibrationOptions(**choice)  # type: ignore[arg-type]
    return prepare(FloatModel(model), model.parent, ArraySamples(samples), settings, ())


def test_normalizations_are_folded(tmp_path: Path) -> None:
    model, samples = norm_network(tmp_path / "n.onnx"), samples_of(2, 1, 4, 8, 8)
    found = prepared(model, samples, equalize=False)
    nodes = onnx.load(found.model.file.path).graph.node
    assert found.folded_norms == 3
    assert {node.op_type for node in nodes} == {"Conv", "ConvTranspose"}
    difference = run_ort(found.model.file.path, samples[0])[0] - run_ort(model, samples[0])[0]
    assert np.abs(difference).max() < 1e-5


def test_folding_can_be_switched_off(tmp_path: Path) -> None:
    found = prepared(norm_network(tmp_path / "n.onnx"), samples_of(1, 1, 4, 8, 8), fold_norms=False)
    nodes = onnx.load(found.model.file.path).graph.node
    assert [node.op_type for node in nodes].count("BatchNormalization") == 3


def test_normalization_that_another_node_reads_around_stays(tmp_path: Path) -> None:
    net = FloatSketch()
    x = net.add("Conv", [net.input("x", [1, 2, 4, 4]), net.weight("w", 3, 2, 1, 1)], "c")
    norm(net, x, 3, "n")
    net.add("Add", ["c", "n"], "y")
    found = prepared(net.save(tmp_path / "n.onnx", "y"), samples_of(1, 1, 2, 4, 4))
    assert found.folded_norms == 0


def test_channels_of_convolutions_are_balanced(tmp_path: Path) -> None:
    model, samples = pair_network(tmp_path / "n.onnx"), samples_of(4, 1, 3, 12, 12)
    found = prepared(model, samples)
    gains = {each.site.tensor: each.gain for each in found.balances}
    assert gains.keys() == {"r1", "p"}
    assert gains["r1"] > 10
    expected = run_ort(model, samples[0])[0]
    assert relative_error(run_ort(found.model.file.path, samples[0])[0], expected) < 1e-5


@pytest.mark.parametrize("written_out", [False, True])
def test_range_moves_from_normalized_data_into_weights(tmp_path: Path, written_out: bool) -> None:
    model = norm_products(tmp_path / "n.onnx", written_out=written_out)
    samples = samples_of(4, 1, 5, 32)
    found = prepared(model, samples)
    assert [each.site.tensor for each in found.balances] == ["n"]
    for left, right in zip(
        run_ort(found.model.file.path, samples[0]), run_ort(model, samples[0]), strict=True
    ):
        assert relative_error(left, right) < 1e-5
    assert prepared(model, samples, smooth=False).balances == ()


@pytest.mark.parametrize("make", [pair_network, norm_products])
def test_balancing_lowers_the_error_of_the_int8_model(tmp_path: Path, make: object) -> None:
    model = tmp_path / "n.onnx"
    if make is pair_network:
        samples = samples_of(8, 1, 3, 12, 12)
        pair_network(model)
    else:
        samples = samples_of(8, 1, 5, 32)
        norm_products(model, written_out=False)
    expected = run_ort(model, samples[0])[-1]
    errors = {}
    for on in (False, True):
        settings = CalibrationOptions(equalize=on, smooth=on, correct_bias=False)
        with calibrate(model, ArraySamples(samples), settings) as found:
            found.written(tmp_path / "q.onnx", form="qdq")
        errors[on] = relative_error(run_ort(tmp_path / "q.onnx", samples[0])[-1], expected)
    assert errors[True] < 0.7 * errors[False]

"""Biases that make up for the mean error of layers."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from atc_py.pipeline.running.samples import ArraySamples
from atc_py.quantizing.calibration import calibrate
from atc_py.quantizing.layers.qdq_nodes import takes_bias
from atc_py.quantizing.options import CalibrationOptions
from tests.quantizing.float_networks import FloatSketch, conv_network, run_ort, samples_of


def skewed_network(path: Path, opset: int, *, biased: bool) -> Path:
    """Save a Conv whose data are positive, so that errors of its weights do not cancel."""
    net = FloatSketch(opset)
    x = net.add("Relu", [net.input("x", [1, 8, 10, 10])], "r")
    inputs = [x, net.weight("w", 6, 8, 3, 3), *([net.weight("b", 6)] if biased else [])]
    net.add("Conv", inputs, "y")
    return net.save(path, "y")


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("executor", ["ort", "sim"])
def test_mean_error_of_each_channel_goes(
    tmp_path: Path, opset: int, biased: bool, executor: str
) -> None:
    model = skewed_network(tmp_path / "n.onnx", opset, biased=biased)
    samples = samples_of(6, 1, 8, 10, 10)
    means = {}
    for on in (False, True):
        settings = CalibrationOptions(correct_bias=on, executor=executor)
        with calibrate(model, ArraySamples(samples), settings) as found:
            found.written(tmp_path / "q.onnx", form="qdq")
        errors = [
            run_ort(tmp_path / "q.onnx", each)[0] - run_ort(model, each)[0] for each in samples
        ]
        means[on] = np.abs(np.mean(errors, axis=(0, 1, 3, 4)))
    assert means[True].max() < 0.2 * means[False].max()


def test_bias_of_gemm_is_corrected_before_its_factor(tmp_path: Path) -> None:
    net = FloatSketch()
    x = net.add("Relu", [net.input("x", [16, 12])], "r")
    net.add("Gemm", [x, net.weight("w", 12, 5), net.weight("b", 5)], "y", beta=0.5)
    model, samples = net.save(tmp_path / "n.onnx", "y"), samples_of(8, 16, 12)
    with calibrate(model, ArraySamples(samples), CalibrationOptions()) as found:
        found.written(tmp_path / "q.onnx", form="qdq")
    errors = [run_ort(tmp_path / "q.onnx", each)[0] - run_ort(model, each)[0] for each in samples]
    assert np.abs(np.mean(errors, axis=(0, 1))).max() < 5e-4


def test_biases_stay_without_correction(tmp_path: Path) -> None:
    model = conv_network(tmp_path / "n.onnx")
    settings = CalibrationOptions(correct_bias=False, equalize=False)
    with calibrate(model, ArraySamples(samples_of(2, 1, 3, 16, 16)), settings) as found:
        found.written(tmp_path / "q.onnx", form="qdq")
    stored = {each.name: each for each in onnx.load(tmp_path / "q.onnx").graph.initializer}
    own = {each.name: each for each in onnx.load(model).graph.initializer}
    for name in ("b1", "b3", "b4"):
        assert (
            numpy_helper.to_array(stored[name]).tolist()
            == numpy_helper.to_array(own[name]).tolist()
        )


@pytest.mark.parametrize(
    ("bias", "shape", "beta", "taken"),
    [
        ("", None, 1.0, True),
        ("b", (1, 3), 1.0, True),
        ("b", (1, 3), 0.0, False),
        ("b", (2, 3), 1.0, False),
        ("b", None, 1.0, False),  # computed
    ],
)
def test_a_gemm_takes_a_bias_where_its_own_is_one_for_all_rows(
    bias: str, shape: tuple[int, ...] | None, beta: float, taken: bool
) -> None:
    consts = {} if shape is None else {"b": SimpleNamespace(shape=shape)}
    node = SimpleNamespace(number=lambda _name, _default: beta)
    layer: Any = SimpleNamespace(is_pool=False, kind="Gemm", bias=bias, node=node, channels=3)
    graph: Any = SimpleNamespace(consts=consts)
    assert takes_bias(graph, layer) is taken

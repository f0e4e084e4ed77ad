"""Quantized networks on the simulated device, compared with onnxruntime's run of the same file.

The device quantizes in float16, so a number right between two codes may get the other one. Inputs
therefore are near codes, and results may be one step of the last scale apart.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from tests.end_to_end import run_with_atc_py, run_with_onnxruntime
from tests.onnx_graph.qdq.quantized_models import Sketch

Array = npt.NDArray[Any]

F, I8, U8, I32, I64 = np.float32, np.int8, np.uint8, np.int32, np.int64
OPSETS = pytest.mark.parametrize("opset", [13, 19, 21])
KINDS = pytest.mark.parametrize(("kind", "zero"), [(I8, 0), (I8, -9), (U8, 120)])
SOCS = pytest.mark.parametrize("soc", ["sim", "Ascend310P3", "Ascend310", "Ascend910B1"])


@pytest.mark.parametrize(("scale", "codes"), [(2e-6, [34, -58, -115]), (2e4, [3, -2, -3])])
@pytest.mark.parametrize(
    "soc", ["sim", "Ascend310", "Ascend310P3", "Ascend910B1", "Ascend950PR_9599"]
)
def test_steps_that_float16_does_not_hold_give_the_codes(
    scale: float, codes: list[int], soc: str, tmp_path: Path
) -> None:
    """The file has the whole factor, 500000 or 0.00005, which is not a normal number of float16."""
    s = Sketch()
    s.output(s.q(s.input("x", [3]), scale, to="y"), I8)
    factor = next(node for node in s.source(tmp_path).nodes if node.op_type == "AscendQuant")
    assert factor.attributes["sqrt_mode"] == 0
    assert factor.attributes["scale"] == pytest.approx(1 / scale, rel=1e-6)
    ours, theirs = s.run(tmp_path, {"x": (np.array(codes) * scale).astype(F)}, soc=soc)
    assert ours["y"].tolist() == theirs["y"].tolist() == codes


class Network(Sketch):
    """A sketch with seeded weights, and data of one kind and zero point throughout."""

    def __init__(self, kind: npt.DTypeLike, zero: int, opset: int = 13) -> None:
        super().__init__(opset)
        self._kind, self._zero = kind, zero
        self.random = np.random.default_rng(opset)

    def pair(self, x: str, scale: float) -> str:
        """Return QuantizeLinear and DequantizeLinear."""
        return self.qdq(x, scale, self._zero, self._kind)

    def hand_out(self, x: str, scale: float) -> None:
        """Make codes the result."""
        self.output(self.q(x, scale, self._zero, self._kind, to="y"), self._kind)

    def weights(self, shape: tuple[int, ...], axis: int, scale: float) -> tuple[str, Array]:
        """Return dequantized weights, and the scale of each channel."""
        scales = np.linspace(scale / 2, scale, shape[axis]).astype(F)
        codes = self.random.integers(-127, 128, shape)
        zeros = np.zeros(shape[axis])
        return self.dq(self.weight(codes, I8), scales, zeros, axis=axis), scales

    def convolution(self, x: str, shape: tuple[int, ...], scale: float, data: float) -> str:
        """Return a convolution with an int32 bias."""
        w, scales = self.weights(shape, 0, scale)
        codes = self.random.integers(-2000, 2000, shape[0])
        own = (F(data) * scales).astype(F)
        b = self.dq(self.weight(codes, I32), own, np.zeros(shape[0]), I32, axis=0)
        return self.op("Conv", x, w, b, pads=[shape[2] // 2] * 4)

    def near_codes(self, shape: tuple[int, ...], scale: float) -> Array:
        """Return numbers up to 0.3 steps away from codes."""
        codes = self.random.integers(-100, 100, shape) + self.random.uniform(-0.3, 0.3, shape)
        return (codes * scale).astype(F)


def within_a_step(ours: Array, theirs: Array) -> None:
    """Check that codes differ by one at most, here and there."""
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    apart = np.abs(ours.astype(np.int64) - theirs.astype(np.int64))
    assert apart.max() <= 1
    assert (apart > 0).mean() < 0.2
    assert np.unique(theirs).size > 5


def residual(kind: npt.DTypeLike, zero: int, opset: int) -> tuple[Network, dict[str, Array]]:
    """Return two convolutions beside a shortcut, pools, and a classifier."""
    n = Network(kind, zero, opset)
    x = n.pair(n.input("x", [1, 4, 8, 8]), 0.02)
    a = n.pair(n.op("Relu", n.convolution(x, (4, 4, 3, 3), 0.004, 0.02)), 0.02)
    b = n.pair(n.convolution(a, (4, 4, 3, 3), 0.004, 0.02), 0.04)
    c = n.pair(n.op("Add", b, x), 0.05)
    p = n.pair(n.op("MaxPool", c, kernel_shape=[2, 2], strides=[2, 2]), 0.05)
    both = n.pair(n.op("Concat", p, p, axis=1), 0.05)
    mean = n.pair(n.op("GlobalAveragePool", both), 0.05)
    # One step of all eight means is 8 * 0.05 * 127 * 0.001, less than half a step of the result.
    w, _ = n.weights((20, 8), 0, 0.001)
    bias = n.weight(n.random.standard_normal(20) * 2)
    n.hand_out(n.op("Gemm", n.op("Flatten", mean), w, bias, transB=1), 0.11)
    return n, {"x": n.near_codes((1, 4, 8, 8), 0.02)}


@KINDS
@OPSETS
def test_a_residual_network(tmp_path: Path, kind: npt.DTypeLike, zero: int, opset: int) -> None:
    network, feeds = residual(kind, zero, opset)
    assert [each.outcome.value for each in network.folded(tmp_path).source.quantized] == [
        "integer"
    ] * 3
    ours, theirs = network.run(tmp_path, feeds)
    within_a_step(ours["y"], theirs["y"])


@SOCS
@KINDS
def test_a_residual_network_on_socs(
    tmp_path: Path, kind: npt.DTypeLike, zero: int, soc: str
) -> None:
    network, feeds = residual(kind, zero, 13)
    ours, theirs = network.run(tmp_path, feeds, soc=soc)
    within_a_step(ours["y"], theirs["y"])


@KINDS
def test_a_network_without_channels_at_opset_10(
    tmp_path: Path, kind: npt.DTypeLike, zero: int
) -> None:
    n = Network(kind, zero, 10)
    x = n.pair(n.input("x", [1, 3, 8, 8]), 0.02)
    w = n.dq(n.weight(n.random.integers(-127, 128, (4, 3, 3, 3)), I8), 0.004)
    y = n.op("Conv", x, w, n.weight(n.random.standard_normal(4)), pads=[1] * 4)
    n.hand_out(n.op("Relu", y), 0.05)
    ours, theirs = n.run(tmp_path, {"x": n.near_codes((1, 3, 8, 8), 0.02)})
    within_a_step(ours["y"], theirs["y"])


@KINDS
@OPSETS
def test_attention(tmp_path: Path, kind: npt.DTypeLike, zero: int, opset: int) -> None:
    n, depth, heads, steps = Network(kind, zero, opset), 16, 2, 6
    x = n.pair(n.input("x", [1, steps, depth]), 0.02)

    def projected(perm: list[int]) -> str:
        w, _ = n.weights((depth, depth), 1, 0.004)
        y = n.op("Add", n.op("MatMul", x, w), n.weight(n.random.standard_normal(depth) / 4))
        shape = n.weight([1, steps, heads, depth // heads], I64)
        return n.op("Transpose", n.op("Reshape", n.pair(y, 0.03), shape), perm=perm)

    query, key, value = (projected(perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    scores = n.pair(n.op("MatMul", query, key), 0.1)
    shares = n.op("Softmax", n.op("Mul", scores, n.weight(0.35)), axis=-1)
    n.hand_out(n.op("MatMul", n.pair(shares, 1 / 128), value), 0.03)
    reported = n.folded(tmp_path).source.quantized
    assert [each.outcome.value for each in reported] == ["integer"] * 5
    ours, theirs = n.run(tmp_path, {"x": n.near_codes((1, steps, depth), 0.02)})
    within_a_step(ours["y"], theirs["y"])


# Models that onnxruntime's static quantization writes ------------------------------------------


def exported() -> tuple[onnx.ModelProto, list[Array]]:
    """Return a small network in floats, and data to calibrate with."""
    n = Network(I8, 0, 13)
    x = n.input("x", [1, 3, 12, 12])

    def weight(*shape: int) -> str:
        return n.weight(n.random.standard_normal(shape) / np.sqrt(np.prod(shape[1:])))

    a = n.op("Relu", n.op("Conv", x, weight(8, 3, 3, 3), n.weight(np.ones(8))))
    b = n.op("Conv", a, weight(8, 8, 3, 3), n.weight(np.linspace(-1, 1, 8)), pads=[1] * 4)
    c = n.op("Add", a, b)
    d = n.op("AveragePool", n.op("LeakyRelu", c, alpha=0.1), kernel_shape=[2, 2], strides=[2, 2])
    e = n.op("Concat", d, n.op("Sigmoid", d), axis=1)
    f = n.op("Flatten", n.op("GlobalAveragePool", n.op("MaxPool", e, kernel_shape=[2, 2])))
    g = n.op("Gemm", f, weight(12, 16), n.weight(np.linspace(-1, 1, 12)), transB=1)
    n.output(n.op("MatMul", g, weight(12, 10), to="y"))
    return n.model(), [n.random.standard_normal((1, 3, 12, 12)).astype(F) for _ in range(4)]


class Reader(CalibrationDataReader):  # type: ignore[misc]
    """Returns the data in a row."""

    def __init__(self, data: list[Array]) -> None:
        self._data: Iterator[Array] = iter(data)

    def get_next(self) -> dict[str, Array] | None:
        """Return the next input; None at the end."""
        x = next(self._data, None)
        return None if x is None else {"x": x}


@pytest.mark.parametrize("form", [QuantFormat.QDQ, QuantFormat.QOperator])
@pytest.mark.parametrize("kind", [QuantType.QUInt8, QuantType.QInt8])
@pytest.mark.parametrize("by_channel", [False, True])
def test_what_onnxruntime_quantizes(
    tmp_path: Path, form: QuantFormat, kind: QuantType, *, by_channel: bool
) -> None:
    model, data = exported()
    onnx.save(model, tmp_path / "float.onnx")
    path = tmp_path / "quantized.onnx"
    quantize_static(
        tmp_path / "float.onnx",
        path,
        Reader(data),
        quant_format=form,
        activation_type=kind,
        weight_type=QuantType.QInt8,
        per_channel=by_channel,
    )
    quantized = onnx.load(path)
    ours = run_with_atc_py(quantized, {"x": data[0]}, tmp_path)
    theirs = run_with_onnxruntime(quantized, {"x": data[0]})
    real = run_with_onnxruntime(model, {"x": data[0]})["y"]
    # No farther from onnxruntime than quantization itself took it from the floats.
    lost = np.abs(theirs["y"] - real).max()
    assert np.abs(ours["y"] - theirs["y"]).max() <= lost
    assert lost < 0.1 * np.ptp(real)
    from atc_py.onnx_graph.reading.read import read_model

    reported = read_model(path).fold({}).source.quantized
    assert [each.outcome.value for each in reported] == ["integer"] * 4

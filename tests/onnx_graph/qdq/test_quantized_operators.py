"""QLinearConv and its like, of ONNX and of onnxruntime; MatMulInteger and ConvInteger."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from atc_py.onnx_graph.rewriting import qdq
from atc_py.onnx_graph.rewriting.qdq import importing, products
from atc_py.onnx_graph.source import Outcome
from tests.onnx_graph.qdq.quantized_models import (
    Sketch,
    attributes_of,
    const_of,
    node_of,
    operators,
)

Array = npt.NDArray[Any]

F, I8, U8, I32 = np.float32, np.int8, np.uint8, np.int32
KINDS = pytest.mark.parametrize(("kind", "zero"), [(U8, 100), (I8, -7)])
MICROSOFT = "com.microsoft"


def numbers(shape: tuple[int, ...], kind: npt.DTypeLike, seed: int = 0) -> Array:
    """Return codes over their whole range."""
    limits = np.iinfo(np.dtype(kind))
    generator = np.random.default_rng(seed)
    return generator.integers(limits.min, limits.max + 1, shape).astype(kind)


def test_every_operator_that_is_rewritten_is_met_by_its_name() -> None:
    """Graphs without such a name are not rewritten at all."""
    opened = {operator for _, operator in importing._OPENED}
    for operator in opened | importing._HELD | products._SUM_OPERATORS:
        assert qdq._QUANTIZING.search(operator), operator


def compared(s: Sketch, tmp_path: Path, feeds: dict[str, Array], steps: int = 1) -> None:
    """Hold codes and int32 sums against onnxruntime's."""
    ours, theirs = s.run(tmp_path, feeds)
    for name, expected in theirs.items():
        assert ours[name].dtype == expected.dtype
        apart = np.abs(ours[name].astype(np.int64) - expected.astype(np.int64))
        assert apart.max() <= steps, name
        assert steps == 0 or (apart > 0).mean() < 0.1
        assert np.unique(expected).size > 3


def linear_convolution(
    kind: npt.DTypeLike, zero: int, scales: Any, opset: int = 13, *, bias: bool = True
) -> Sketch:
    """Return qLinearConv of codes that are fed."""
    s = Sketch(opset)
    x, count = s.input("x", [1, 4, 6, 6], kind), np.shape(scales)
    w = s.weight(numbers((6, 4, 3, 3), I8), I8)
    inputs = [x, *s.scales(0.02, zero, kind), w, *s.scales(scales, np.zeros(count), I8)]
    inputs += s.scales(0.5, zero, kind)
    if bias:
        inputs.append(s.weight(np.arange(-3000, 3000, 1000), I32))
    s.output(s.op("QLinearConv", *inputs, to="y", pads=[1] * 4), kind)
    return s


@KINDS
@pytest.mark.parametrize("opset", [10, 13])
@pytest.mark.parametrize("channels", [False, True])
def test_qlinearconv(
    tmp_path: Path, kind: npt.DTypeLike, zero: int, opset: int, *, channels: bool
) -> None:
    scales = np.linspace(0.005, 0.01, 6) if channels else 0.01
    s = linear_convolution(kind, zero, scales, opset)
    folded = s.folded(tmp_path)
    assert [(each.op_type, each.outcome) for each in folded.source.quantized] == [
        ("QLinearConv", Outcome.INTEGER)
    ]
    model = folded.to_source()
    assert {node.index for node in model.nodes} == {0}
    assert {node.name for node in model.nodes} == {"QLinearConv_0"}
    expected = np.arange(-3000, 3000, 1000)
    assert const_of(node_of(model, "Conv"), 2).tolist() == expected.tolist()
    compared(s, tmp_path, {"x": numbers((1, 4, 6, 6), kind)})


def test_qlinearconv_without_bias(tmp_path: Path) -> None:
    compared(
        linear_convolution(U8, 3, 0.01, bias=False), tmp_path, {"x": numbers((1, 4, 6, 6), U8)}
    )


@pytest.mark.parametrize(
    ("kind", "zero", "other", "middle"),
    [(U8, 100, I8, 0), (U8, 100, U8, 120), (I8, -7, I8, 0), (I8, 0, I8, 9)],
)
def test_qlinearmatmul(
    tmp_path: Path, kind: npt.DTypeLike, zero: int, other: npt.DTypeLike, middle: int
) -> None:
    s = Sketch()
    w = s.weight(numbers((12, 7), other), other)
    inputs = [s.input("x", [5, 12], kind), *s.scales(0.02, zero, kind)]
    inputs += [w, *s.scales(0.01, middle, other), *s.scales(0.4, zero, kind)]
    s.output(s.op("QLinearMatMul", *inputs, to="y"), kind)
    assert [each.op_type for each in s.folded(tmp_path).source.quantized] == ["QLinearMatMul"]
    compared(s, tmp_path, {"x": numbers((5, 12), kind)})


@KINDS
@pytest.mark.parametrize("form", ["plain", "channels", "alpha", "no bias", "floats"])
def test_qgemm(tmp_path: Path, kind: npt.DTypeLike, zero: int, form: str) -> None:
    s = Sketch()
    channels = form == "channels"
    scales = np.linspace(0.005, 0.01, 7) if channels else 0.01
    turned = int(form != "channels")
    w = s.weight(numbers((7, 12) if turned else (12, 7), I8), I8)
    inputs = [s.input("x", [5, 12], kind), *s.scales(0.02, zero, kind), w]
    inputs += s.scales(scales, np.zeros(np.shape(scales)), I8)
    inputs.append("" if form == "no bias" else s.weight(np.arange(-3000, 4000, 1000), I32))
    if form != "floats":
        inputs += s.scales(0.4, zero, kind)
    alpha = 0.5 if form == "alpha" else 1.0
    y = s.op("QGemm", *inputs, domain=MICROSOFT, to="y", alpha=alpha, transB=turned)
    s.output(y, F if form == "floats" else kind)
    model = s.source(tmp_path)
    assert "Gemm" in operators(model)
    assert attributes_of(node_of(model, "Gemm")) == {"transB": turned}
    feeds = {"x": numbers((5, 12), kind)}
    if form == "floats":
        ours, theirs = s.run(tmp_path, feeds)
        np.testing.assert_allclose(ours["y"], theirs["y"], rtol=2e-3, atol=2e-3)
    else:
        compared(s, tmp_path, feeds)


def linear(op: str, kind: npt.DTypeLike, zero: int, operands: int, **more: Any) -> Sketch:
    """Return one of onnxruntime's operators on codes that are fed, with a scale each."""
    s = Sketch()
    scales = (0.03, 0.02)
    inputs: list[str] = []
    for position in range(operands):
        x = s.input(f"x{position}", more.pop("shape", [1, 4, 6, 6]), kind)
        inputs += [x, *s.scales(scales[position], zero + position, kind)]
    scale = more.pop("scale", 0.05)
    result = s.scales(scale, zero, kind)
    inputs = [*result, *inputs] if op == "QLinearConcat" else [*inputs, *result]
    s.output(s.op(op, *inputs, domain=MICROSOFT, to="y", **more), kind)
    return s


OPERATORS: dict[str, tuple[int, dict[str, Any], str]] = {
    "QLinearAdd": (2, {}, "Add"),
    "QLinearMul": (2, {}, "Mul"),
    "QLinearConcat": (2, {"axis": 1}, "Concat"),
    "QLinearGlobalAveragePool": (1, {"channels_last": 0, "scale": 0.01}, "GlobalAveragePool"),
    "QLinearAveragePool": (1, {"kernel_shape": [2, 2], "strides": [2, 2]}, "AveragePool"),
    "QLinearSigmoid": (1, {"scale": 1 / 128}, "Sigmoid"),
    "QLinearLeakyRelu": (1, {"alpha": 0.1}, "LeakyRelu"),
}


@KINDS
@pytest.mark.parametrize("op", OPERATORS)
def test_operators_of_onnxruntime(tmp_path: Path, op: str, kind: npt.DTypeLike, zero: int) -> None:
    operands, more, inside = OPERATORS[op]
    s = linear(op, kind, zero, operands, **more)
    model = s.source(tmp_path)
    assert inside in operators(model)
    assert "channels_last" not in attributes_of(node_of(model, inside))
    names = [f"x{position}" for position in range(operands)]
    compared(s, tmp_path, {name: numbers((1, 4, 6, 6), kind, len(name)) for name in names})


def softmax(opset: int) -> Sketch:
    """Return qLinearSoftmax with an attribute of the name of the model's opset."""
    s = Sketch()
    x = [s.input("x", [3, 10], U8), *s.scales(0.05, 100, U8)]
    node = s.op("QLinearSoftmax", *x, *s.scales(1 / 256, 0, U8), domain=MICROSOFT, to="y", axis=-1)
    s.set(node, "opset", opset)
    s.output(node, U8)
    return s


def test_qlinearsoftmax(tmp_path: Path) -> None:
    s = softmax(13)
    assert attributes_of(node_of(s.source(tmp_path), "Softmax")) == {"axis": -1}
    compared(s, tmp_path, {"x": numbers((3, 10), U8)})


def test_what_means_something_else_is_not_opened(tmp_path: Path) -> None:
    last = linear("QLinearGlobalAveragePool", U8, 3, 1, channels_last=1)
    for s, op in ((softmax(11), "QLinearSoftmax"), (last, "QLinearGlobalAveragePool")):
        assert [node.op_type for node in s.view(tmp_path).nodes] == [op]


def test_computed_parameters_are_not_opened(tmp_path: Path) -> None:
    s = Sketch()
    x = [s.input("x", [3, 10], U8), s.input("s", []), s.weight(0, U8)]
    s.output(s.op("QLinearSigmoid", *x, *s.scales(1 / 256, 0, U8), domain=MICROSOFT), U8)
    assert [node.op_type for node in s.view(tmp_path).nodes] == ["QLinearSigmoid"]


def test_quantization_of_onnxruntime_s_domain(tmp_path: Path) -> None:
    s = Sketch()
    x = s.q(s.input("x", [3, 10]), 0.5, 3, U8, domain=MICROSOFT)
    s.output(s.dq(x, 0.5, 3, U8, domain=MICROSOFT))
    assert operators(s.source(tmp_path)) == ["AscendQuant", "AscendAntiQuant"]


# Sums -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(
    ("a", "b"), [((I8, 0), (I8, 0)), ((U8, 0), (U8, 0)), ((U8, 7), (I8, -9)), ((U8, 7), (U8, 200))]
)
def test_matmulinteger_is_exact(
    tmp_path: Path, a: tuple[Any, int], b: tuple[Any, int], *, constant: bool
) -> None:
    s = Sketch()
    right = numbers((12, 7), b[0])
    feeds = {"a": numbers((2, 5, 12), a[0])}
    if not constant:
        feeds["b"] = right
    inputs = [
        s.input("a", [2, 5, 12], a[0]),
        s.weight(right, b[0]) if constant else s.input("b", [12, 7], b[0]),
        s.weight(a[1], a[0]),
        s.weight(b[1], b[0]),
    ]
    s.output(s.op("MatMulInteger", *inputs, to="y"), I32)
    assert [each.outcome for each in s.folded(tmp_path).source.quantized] == [Outcome.INTEGER]
    compared(s, tmp_path, feeds, steps=0)


@pytest.mark.parametrize(("kind", "zero"), [(U8, 0), (U8, 7), (I8, -3), (I8, 0)])
@pytest.mark.parametrize("weights", [(I8, 0), (U8, 128)])
def test_convinteger_is_exact(
    tmp_path: Path, kind: npt.DTypeLike, zero: int, weights: tuple[Any, int]
) -> None:
    s = Sketch()
    w = s.weight(numbers((3, 4, 3, 3), weights[0]), weights[0])
    x = s.input("x", [1, 4, 6, 6], kind)
    inputs = [x, w, s.weight(zero, kind), s.weight(weights[1], weights[0])]
    s.output(s.op("ConvInteger", *inputs, to="y", pads=[1] * 4), I32)
    data = numbers((1, 4, 6, 6), kind)
    if np.dtype(kind) == np.dtype(weights[0]) == U8:
        compared(s, tmp_path, {"x": data}, steps=0)
        return
    # onnxruntime has no ConvInteger of int8 data, and 1.23 none of int8 weights.
    from tests.end_to_end import run_with_atc_py

    ours = run_with_atc_py(s.model(), {"x": data}, tmp_path)["y"]
    wide = np.pad(data.astype(np.int64) - zero, [(0, 0), (0, 0), (1, 1), (1, 1)])
    taps = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (2, 3))
    real = numbers((3, 4, 3, 3), weights[0]).astype(np.int64) - weights[1]
    assert ours.tolist() == np.einsum("nchwij,ocij->nohw", taps, real).tolist()


@pytest.mark.parametrize(("a", "b"), [(U8, U8), (U8, I8), (I8, U8), (I8, I8)])
@pytest.mark.parametrize("constants", ["", "a", "b"])
def test_matmulinteger_with_a_zero_point_per_column_is_exact(
    tmp_path: Path, a: npt.DTypeLike, b: npt.DTypeLike, constants: str
) -> None:
    """ONNX's reference takes the zero points away as numpy broadcasts them."""
    from tests.end_to_end import run_with_atc_py

    for left, right, zeros in (([3, 4], [4, 2], [2]), ([2, 3, 4], [2, 4, 5], [1, 1, 5])):
        s = Sketch()
        data = {"a": numbers(tuple(left), a), "b": numbers(tuple(right), b, 1)}
        feeds = {name: codes for name, codes in data.items() if name not in constants}
        names = [
            s.input(name, list(codes.shape), codes.dtype)
            if name in feeds
            else s.weight(codes, codes.dtype)
            for name, codes in data.items()
        ]
        zero = numbers(tuple(zeros), b, 2)
        s.output(s.op("MatMulInteger", *names, s.weight(5, a), s.weight(zero, b), to="y"), I32)
        exact = (data["a"].astype(np.int64) - 5) @ (data["b"].astype(np.int64) - zero)
        ours = run_with_atc_py(s.model(), feeds, tmp_path)["y"]
        assert ours.tolist() == exact.tolist()


def test_sums_of_codes_with_a_zero_point_per_row_stay(tmp_path: Path) -> None:
    s = Sketch()
    w = s.weight(numbers((12, 3), U8), U8)
    zeros = s.weight([1, 2, 3, 4, 5], U8), s.weight(0, U8)
    s.output(s.op("MatMulInteger", s.input("a", [5, 12], U8), w, *zeros, to="y"), I32)
    view = s.view(tmp_path)
    assert [node.op_type for node in view.nodes] == ["MatMulInteger"]
    (reported,) = view.quantized
    assert reported.outcome is Outcome.KEPT
    assert reported.reason is not None
    assert "no AscendDequant follows that could carry them" in reported.reason.en

"""The int32 sums of imported layers, of all forms of parameters, against exact arithmetic."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.onnx_graph.qdq.integer_machine import convolution, sums_of, transposed_convolution
from tests.onnx_graph.qdq.quantized_models import Sketch

Array = npt.NDArray[Any]

I8, U8, I32 = np.int8, np.uint8, np.int32
EXAMPLES = settings(max_examples=40, deadline=None)


@dataclass(frozen=True)
class Form:
    """The form in which a layer is quantized."""

    kind: Any
    zero: int
    weight_kind: Any
    weight_zeros: Array
    scales: Array
    bias: str
    seed: int

    @property
    def generator(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    def codes(self, shape: tuple[int, ...], kind: Any, stream: int) -> Array:
        limits = np.iinfo(kind)
        generator = np.random.default_rng([self.seed, stream])
        return generator.integers(limits.min, limits.max + 1, shape).astype(kind)


CHANNELS = 4
SCALE = np.float32(0.02)


@st.composite
def forms(draw: st.DrawFn) -> Form:
    """Return signs, zero points, scales for each channel or for all, biases."""
    kind, weight_kind = draw(st.sampled_from([I8, U8])), draw(st.sampled_from([I8, U8]))
    low, high = np.iinfo(weight_kind).min, np.iinfo(weight_kind).max
    middle = 128 if weight_kind is U8 else 0
    zero = st.one_of(st.just(middle), st.integers(int(low), int(high)))
    by_channel = draw(st.booleans())
    count = CHANNELS if by_channel else 1
    zeros = np.array(draw(st.lists(zero, min_size=count, max_size=count)))
    scales = np.array(draw(st.lists(st.floats(0.001, 0.1), min_size=count, max_size=count)))
    limits = np.iinfo(kind)
    return Form(
        kind,
        draw(st.one_of(st.just(0), st.integers(int(limits.min), int(limits.max)))),
        weight_kind,
        zeros if by_channel else zeros[0],
        (scales if by_channel else scales[0]).astype(np.float32),
        draw(st.sampled_from(["", "float", "int32"])),
        draw(st.integers(0, 2**16)),
    )


def quantized(s: Sketch, form: Form, weights: Array, axis: int) -> str:
    """Return the weights, dequantized along an axis where they have a scale for each channel."""
    more: dict[str, Any] = {"axis": axis} if form.scales.ndim else {}
    name = s.weight(weights, form.weight_kind)
    return s.dq(name, form.scales, form.weight_zeros, form.weight_kind, **more)


def biases(s: Sketch, form: Form) -> tuple[list[str], Array]:
    """Return the bias as inputs of a layer, and as integers."""
    scale = SCALE.astype(np.float64) * np.broadcast_to(form.scales, CHANNELS).astype(np.float64)
    if form.bias == "float":
        real = form.generator.normal(size=CHANNELS).astype(np.float32)
        return [s.weight(real)], np.rint(real / scale).astype(np.int64)
    if form.bias == "int32":
        codes = form.generator.integers(-(2**20), 2**20, CHANNELS)
        own = (SCALE * np.broadcast_to(form.scales, CHANNELS)).astype(np.float32)
        return [s.dq(s.weight(codes, I32), own, np.zeros(CHANNELS), I32, axis=0)], codes
    return [], np.zeros(CHANNELS, np.int64)


def real_weights(form: Form, weights: Array, axis: int) -> Array:
    """Return weights less their zero points."""
    zeros = form.weight_zeros
    if zeros.ndim:
        zeros = zeros.reshape([-1 if at == axis else 1 for at in range(weights.ndim)])
    return weights.astype(np.int64) - zeros


@EXAMPLES
@given(forms(), st.sampled_from([1, 2]), st.sampled_from([1, 2]), st.integers(0, 2))
def test_sums_of_a_convolution(
    tmp_path_factory: pytest.TempPathFactory, form: Form, group: int, stride: int, pad: int
) -> None:
    s = Sketch()
    x = form.codes((1, 4, 5, 5), form.kind, 1)
    weights = form.codes((CHANNELS, 4 // group, 3, 3), form.weight_kind, 2)
    data = s.dq(s.input("x", x.shape, form.kind), SCALE, form.zero, form.kind)
    extra, bias = biases(s, form)
    pads, strides = [pad, pad, 0, pad], [stride, stride]
    w = quantized(s, form, weights, 0)
    s.output(s.op("Conv", data, w, *extra, pads=pads, strides=strides, group=group))
    found = sums_of(s.source(tmp_path_factory.mktemp("conv")), {"x": x})
    around = [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])]
    wide = np.pad(x.astype(np.int64) - form.zero, around)
    expected = convolution(wide, real_weights(form, weights, 0), strides, group)
    assert found.tolist() == (expected + bias.reshape(-1, 1, 1)).tolist()


@EXAMPLES
@given(forms(), st.sampled_from([1, 2, 3]))
def test_sums_of_a_transposed_convolution(
    tmp_path_factory: pytest.TempPathFactory, form: Form, stride: int
) -> None:
    s = Sketch()
    x = form.codes((1, 3, 4, 4), form.kind, 1)
    weights = form.codes((3, CHANNELS, 2, 2), form.weight_kind, 2)
    data = s.dq(s.input("x", x.shape, form.kind), SCALE, form.zero, form.kind)
    extra, bias = biases(s, form)
    w = quantized(s, form, weights, 1)
    s.output(s.op("ConvTranspose", data, w, *extra, strides=[stride] * 2))
    found = sums_of(s.source(tmp_path_factory.mktemp("transposed")), {"x": x})
    wide = x.astype(np.int64) - form.zero
    expected = transposed_convolution(wide, real_weights(form, weights, 1), stride)
    assert found.tolist() == (expected + bias.reshape(-1, 1, 1)).tolist()


@EXAMPLES
@given(forms(), st.booleans(), st.booleans())
def test_sums_of_a_gemm(
    tmp_path_factory: pytest.TempPathFactory,
    form: Form,
    trans_a: bool,
    trans_b: bool,
) -> None:
    s = Sketch()
    x, weights = form.codes((3, 6), form.kind, 1), form.codes((6, CHANNELS), form.weight_kind, 2)
    real = real_weights(form, weights, 1)
    if trans_a:
        x = x.T
    if trans_b:
        weights = weights.T
    data = s.dq(s.input("x", x.shape, form.kind), SCALE, form.zero, form.kind)
    extra, bias = biases(s, form)
    w = quantized(s, form, weights, 0 if trans_b else 1)
    s.output(s.op("Gemm", data, w, *extra, transA=int(trans_a), transB=int(trans_b)))
    found = sums_of(s.source(tmp_path_factory.mktemp("gemm")), {"x": x})
    left = (x.T if trans_a else x).astype(np.int64) - form.zero
    assert found.tolist() == (left @ real + bias).tolist()


@EXAMPLES
@given(forms(), st.sampled_from([(3, 6), (2, 3, 6), (2, 4, 6), (2, 4, 3, 6)]))
def test_sums_of_a_product_with_weights(
    tmp_path_factory: pytest.TempPathFactory, form: Form, shape: tuple[int, ...]
) -> None:
    s = Sketch()
    x, weights = form.codes(shape, form.kind, 1), form.codes((6, CHANNELS), form.weight_kind, 2)
    data = s.dq(s.input("x", shape, form.kind), SCALE, form.zero, form.kind)
    s.output(s.op("MatMul", data, quantized(s, form, weights, 1)))
    found = sums_of(s.source(tmp_path_factory.mktemp("matmul")), {"x": x})
    expected = (x.astype(np.int64) - form.zero) @ real_weights(form, weights, 1)
    # Rows come one below the other where AscendDequant would take axis 1 for the channels.
    assert found.reshape(expected.shape).tolist() == expected.tolist()


@EXAMPLES
@given(forms(), st.integers(-128, 127), st.sampled_from(["left", "right", "none"]))
def test_sums_of_a_product_of_two(
    tmp_path_factory: pytest.TempPathFactory, form: Form, zero: int, constant: str
) -> None:
    s = Sketch()
    a, b = form.codes((2, 3, 6), form.kind, 1), form.codes((2, 6, CHANNELS), I8, 2)
    left, right = (
        s.weight(array, kind) if constant == side else s.input(name, array.shape, kind)
        for name, side, array, kind in (("a", "left", a, form.kind), ("b", "right", b, I8))
    )
    s.output(s.op("MatMul", s.dq(left, SCALE, form.zero, form.kind), s.dq(right, 0.5, zero, I8)))
    feeds = {"a": a, "b": b}
    found = sums_of(s.source(tmp_path_factory.mktemp("two")), feeds)
    expected = (a.astype(np.int64) - form.zero) @ (b.astype(np.int64) - zero)
    assert found.tolist() == expected.tolist()


def test_the_comparison_can_fail(tmp_path_factory: pytest.TempPathFactory) -> None:
    s = Sketch()
    data = s.dq(s.input("x", (1, 2), I8), 0.5, 3)
    s.output(s.op("MatMul", data, s.dq(s.weight([[1], [2]], I8), 0.5)))
    model = s.source(tmp_path_factory.mktemp("fail"))
    x = np.array([[5, 6]], I8)
    assert sums_of(model, {"x": x}).tolist() == [[8]]
    assert sums_of(model, {"x": x + I8(1)}).tolist() != [[8]]

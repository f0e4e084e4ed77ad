"""Quantized layers that stay in floats, and quantization that stays as it is, each with a reason."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import atc_py
from atc_py.onnx_graph.source import Outcome, QuantizedNode
from tests.onnx_graph.qdq.quantized_models import Sketch, operators

I8, U8, I16, I32 = np.int8, np.uint8, np.int16, np.int32


def data(
    s: Sketch, shape: tuple[int | str, ...] = (1, 2, 4, 4), scale: Any = 0.5, zero: int = 0
) -> str:
    """Return quantized data."""
    return s.qdq(s.input("x", shape), scale, zero)


def filters(s: Sketch, scale: Any = 0.5, **more: Any) -> str:
    """Return quantized filters."""
    return s.dq(s.weight(np.ones((2, 2, 3, 3)), I8), scale, np.zeros(np.shape(scale)), **more)


def unquantized_data(s: Sketch) -> str:
    return s.op("Conv", s.input("x", (1, 2, 4, 4)), filters(s))


def data_by_channel(s: Sketch) -> str:
    scales, zeros = [0.5, 0.25], [0, 0]
    x = s.q(s.input("x", (1, 2, 4, 4)), scales, zeros, axis=1)
    return s.op("Conv", s.dq(x, scales, zeros, axis=1), filters(s))


def unquantized_weights(s: Sketch) -> str:
    return s.op("Conv", data(s), s.weight(np.ones((2, 2, 3, 3))))


def fed_weights(s: Sketch) -> str:
    return s.op("Conv", data(s), s.input("w", (2, 2, 3, 3)))


def computed_weights(s: Sketch) -> str:
    return s.op("Conv", data(s), s.qdq(s.input("w", (2, 2, 3, 3)), 0.5))


def weights_by_input(s: Sketch) -> str:
    return s.op("Conv", data(s), filters(s, [0.5, 0.25], axis=1))


def fed_bias(s: Sketch) -> str:
    return s.op("Conv", data(s), filters(s), s.input("b", (2,)))


def large_bias(s: Sketch) -> str:
    return s.op("Conv", data(s), filters(s), s.weight([0.0, 1e9]))


def large_sums(s: Sketch) -> str:
    x = s.dq(s.input("x", (1, 2, 4, 4), I8), 0.5, -128)
    bias = s.dq(s.weight([0, 2**31 - 1], I32), 0.25, 0, I32)
    return s.op("Conv", x, filters(s), bias)


def tiny_product(s: Sketch) -> str:
    return s.op("Conv", s.qdq(s.input("x", (1, 2, 4, 4)), 2.0**-20), filters(s, 2.0**-26))


def huge_product(s: Sketch) -> str:
    return s.op("Conv", s.qdq(s.input("x", (1, 2, 4, 4)), 256.0), filters(s, 256.0))


def volumes(s: Sketch) -> str:
    w = s.dq(s.weight(np.ones((2, 2, 2, 3, 3)), I8), 0.5)
    return s.op("Conv", data(s, (1, 2, 4, 4, 4)), w, dilations=[2, 1, 1])


def volumes_with_offset(s: Sketch) -> str:
    w = s.dq(s.weight(np.ones((2, 2, 2, 3, 3)), I8), 0.5)
    return s.op("Conv", data(s, (1, 2, 4, 4, 4), zero=3), w)


def one_side(s: Sketch) -> str:
    return s.op("MatMul", data(s, (2, 3)), s.input("w", (3, 4)))


def rows_of_left_weights(s: Sketch) -> str:
    a = s.dq(s.weight(np.ones((2, 3)), I8), [0.5, 0.25], [0, 0], axis=0)
    return s.op("MatMul", a, data(s, (3, 4)))


def vector(s: Sketch) -> str:
    return s.op("MatMul", data(s, (2, 3), zero=1), s.qdq(s.input("v", (3,)), 0.5))


def vector_by_stack(s: Sketch) -> str:
    w = s.dq(s.weight(np.ones((2, 3, 4)), I8), 0.5)
    return s.op("MatMul", data(s, (3,), zero=1), w)


def rows_of_data(s: Sketch) -> str:
    inputs = [s.input("x", (2, 3), U8), *s.scales([0.5, 0.25], [1, 2], U8)]
    inputs += [s.weight(np.ones((3, 4)), I8), *s.scales(0.5, 0, I8), *s.scales(1.0, 0, U8)]
    y = s.op("QLinearMatMul", *inputs)
    return s.dq(y, 1.0, 0, U8)


def by_channel(s: Sketch, weights: tuple[int, ...]) -> str:
    return s.dq(s.weight(np.ones(weights), I8), [0.5, 0.25, 0.5, 1.0], [0] * 4, axis=-1)


def open_rows(s: Sketch) -> str:
    return s.op("MatMul", data(s, ("n", "m", 3)), by_channel(s, (3, 4)))


def no_rows(s: Sketch) -> str:
    return s.op("MatMul", data(s, (0, "m", 3)), by_channel(s, (3, 4)))


def stacked_channels(s: Sketch) -> str:
    return s.op("MatMul", data(s, (2, 4, 3)), by_channel(s, (2, 3, 4)))


def open_sums(s: Sketch) -> str:
    return s.op("MatMul", data(s, (2, "k"), zero=1), s.qdq(s.input("v", ("k", 3)), 0.5, 1))


def unknown_axes(s: Sketch) -> str:
    x = s.op("Reshape", s.input("x", (2, 3)), s.input("dims", ("r",), np.int64))
    return s.op("MatMul", s.qdq(x, 0.5, 1), s.qdq(s.input("v", (3, 4)), 0.5, 1))


CASES: dict[str, tuple[Callable[[Sketch], str], str]] = {
    "unquantized data": (unquantized_data, "its data is not quantized"),
    "data by channel": (data_by_channel, "its data is quantized per channel"),
    "unquantized weights": (unquantized_weights, "its weights are not quantized"),
    "fed weights": (fed_weights, "its weights are computed at run time"),
    "computed weights": (computed_weights, "its weights are computed at run time"),
    "weights by input": (weights_by_input, "quantized along axis 1, its channels are along axis 0"),
    "fed bias": (fed_bias, "its bias is computed at run time"),
    "large bias": (large_bias, "its bias leaves int32: 4e+09"),
    "large sums": (large_sums, "its bias leaves int32: 2.14749e+09"),
    "tiny product": (tiny_product, "is 1.42e-14, its results are beyond float16"),
    "huge product": (huge_product, "is 6.55e+04, its results are beyond float16"),
    "volumes": (volumes, "it is a 3-D convolution that is transposed or dilated"),
    "volumes with offset": (volumes_with_offset, "the zero point of its data is not 0"),
    "one side": (one_side, "one of its operands is not quantized as a whole"),
    "rows of left weights": (rows_of_left_weights, "its data is quantized per channel"),
    "vector": (vector, "one of its operands is a vector"),
    "vector by stack": (vector_by_stack, "one of its operands is a vector"),
    "rows of data": (rows_of_data, "its data is quantized per channel"),
}


OPEN: dict[str, tuple[Callable[[Sketch], str], str]] = {
    "open rows": (open_rows, "more than one dim of its result is open"),
    "no rows": (no_rows, "its result has no elements"),
    "stacked channels": (stacked_channels, "a scale per channel and are not a matrix"),
    "open sums": (open_sums, "its zero points are summed up over a dim that is open"),
    "unknown axes": (unknown_axes, "it is not known how many axes"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_layer_without_integer_form_stays_in_floats(tmp_path: Path, case: str) -> None:
    make, reason = CASES[case]
    s = Sketch()
    s.output(make(s))
    folded = s.folded(tmp_path)
    (reported,) = folded.source.quantized
    assert reported.outcome is Outcome.FLOAT
    assert reported.reason is not None
    assert reason in reported.reason.en
    assert reported.reason.zh
    names = operators(folded.to_source())
    assert reported.op_type.removeprefix("QLinear") in names
    assert "AscendDequant" not in names
    assert "DequantizeLinear" not in names


def test_layers_in_floats_have_the_numbers_of_the_file(tmp_path: Path) -> None:
    s = Sketch()
    s.output(weights_by_input(s))
    x = (np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4) - 16) / 2
    ours, theirs = s.run(tmp_path, {"x": x})
    for name, expected in theirs.items():
        np.testing.assert_allclose(ours[name], expected, rtol=2e-3)


def test_groups_that_do_not_divide_open_channels_are_refused(tmp_path: Path) -> None:
    """Where channels are known the types contradict each other, and no model is converted."""
    s = Sketch()
    w = s.dq(s.weight(np.ones((2, 1, 3, 3)), I8), 0.5)
    x = s.qdq(s.input("x", (1, "c", 4, 4)), 0.5)
    s.output(s.op("ConvTranspose", x, w, group=4))
    onnx.save(s.model(), tmp_path / "n.onnx")
    done = atc_py.quantize_model(tmp_path / "n.onnx", tmp_path / "o.onnx")
    (node,) = done.nodes
    assert node.outcome is Outcome.FLOAT
    assert node.reason is not None
    assert "its groups do not divide its channels" in node.reason.en


def test_layers_that_are_folded_are_not_reported(tmp_path: Path) -> None:
    s = Sketch()
    y = s.op(
        "MatMul", s.dq(s.weight(np.ones((2, 2)), I8), 0.5), s.dq(s.weight(np.ones((2, 2)), I8), 1.0)
    )
    s.output(s.op("Add", y, s.qdq(s.input("x", (2, 2)), 0.5)))
    folded = s.folded(tmp_path)
    assert folded.source.quantized == ()
    assert "MatMul" not in operators(folded.to_source())


# What has no counterpart ------------------------------------------------------------------------


def of_int16(s: Sketch) -> str:
    return s.qdq(s.input("x", (2, 4)), 0.5, 0, I16)


def with_computed_scale(s: Sketch) -> str:
    scale, zero = s.input("s", ()), s.weight(0, I8)
    x = s.op("QuantizeLinear", s.input("x", (2, 4)), scale, zero)
    return s.op("DequantizeLinear", x, scale, zero)


def in_blocks(s: Sketch) -> str:
    scales, zeros = np.ones((2, 2)), np.zeros((2, 2))
    x = s.q(s.input("x", (2, 4)), scales, zeros, axis=1, block_size=2)
    return s.dq(x, scales, zeros, axis=1, block_size=2)


def of_scale_zero(s: Sketch) -> str:
    return s.qdq(s.input("x", (2, 4)), [0.5, 0.0, 1.0, 1.0], [0, 0, 0, 0])


def of_subnormal_scale(s: Sketch) -> str:
    return s.q(s.input("x", (2, 4)), 1e-40)


def of_computed_int32(s: Sketch) -> str:
    return s.dq(s.input("x", (2, 4), I32), 0.5, 0, I32)


KEPT: dict[str, tuple[Callable[[Sketch], str], str]] = {
    "int16": (of_int16, "its codes are int16; the device has only int8"),
    "computed scale": (with_computed_scale, "its scale or zero point is computed at run time"),
    "blocks": (in_blocks, "it quantizes in blocks"),
    "scale zero": (
        of_scale_zero,
        "its scale is 0.0; a positive float32 or float16 is needed",
    ),
    "subnormal scale": (of_subnormal_scale, "its scale is too small"),
    "computed int32": (of_computed_int32, "it reads int32 that is computed at run time"),
}


def kept(reported: tuple[QuantizedNode, ...]) -> list[tuple[str, str]]:
    """Return operators and reasons of what stays as it is."""
    return [
        (each.op_type, each.reason.en if each.reason else "")
        for each in reported
        if each.outcome is Outcome.KEPT
    ]


@pytest.mark.parametrize("case", KEPT)
def test_quantization_without_counterpart_stays(tmp_path: Path, case: str) -> None:
    make, reason = KEPT[case]
    s = Sketch(21)
    s.output(make(s))
    view = s.view(tmp_path)
    found = kept(view.quantized)
    names = [node.op_type for node in view.nodes]
    assert [op for op, _ in found] == names
    assert all(reason in why for _, why in found), found


def from_what_stays(s: Sketch) -> str:
    x = s.q(s.input("x", (1, 2, 4, 4)), 0.5, 0, I16)
    return s.op("Conv", s.dq(x, 0.5, 0, I16), filters(s))


def by_weights_that_stay(s: Sketch) -> str:
    return s.op("Conv", data(s), s.dq(s.weight(np.ones((2, 2, 3, 3)), I16), 0.5, 0, I16))


def product_of_what_stays(s: Sketch) -> str:
    x = s.q(s.input("x", (2, 3)), 0.5, 0, I16)
    return s.op("MatMul", s.dq(x, 0.5, 0, I16), s.dq(s.weight(np.ones((3, 4)), I8), 0.5))


@pytest.mark.parametrize("make", [from_what_stays, by_weights_that_stay, product_of_what_stays])
def test_a_layer_after_a_node_that_cannot_be_rewritten_says_so(
    make: Callable[[Sketch], str], tmp_path: Path
) -> None:
    s = Sketch(21)
    s.output(make(s))
    found = s.view(tmp_path).quantized
    (why,) = [each.reason for each in found if each.outcome is Outcome.FLOAT]
    assert why is not None
    assert why.en == "it reads a DequantizeLinear that cannot be rewritten"


@pytest.mark.parametrize(
    ("scale", "zero", "axis", "advice"),
    [(-1.0, 0, 1, "write positive, finite scales"), ([0.5, 0.5], [0, 0], 7, "along an axis that")],
)
def test_hint_depends_on_the_fault(
    scale: Any, zero: Any, axis: int, advice: str, tmp_path: Path
) -> None:
    s = Sketch(13)
    s.output(s.dq(s.input("q", (1, 2, 4, 4), I8), scale, zero, axis=axis))
    (found,) = s.view(tmp_path).quantized
    assert found.help is not None
    assert advice in found.help.en
    assert found.help.zh


def test_int4_is_named(tmp_path: Path) -> None:
    s = Sketch(21)
    packed = helper.make_tensor("w", TensorProto.INT4, [4], [1, 2, 3, 4])
    s.foreign(packed)
    s.output(s.op("Add", s.input("x", (4,)), s.op("DequantizeLinear", "w", s.weight(0.5))))
    ((op, why),) = kept(s.view(tmp_path).quantized)
    assert op == "DequantizeLinear"
    assert "its codes are int4" in why


def test_what_can_be_folded_by_other_means_is_folded(tmp_path: Path) -> None:
    s = Sketch(21)
    codes = s.weight([[1, 2, 3, 4]], I8)
    scales = s.weight([[1.0, 2.0]])
    table = s.op("DequantizeLinear", codes, scales, axis=1, block_size=2)
    s.output(s.op("Add", s.qdq(s.input("x", (1, 4)), 0.5), table))
    assert operators(s.source(tmp_path)) == ["AscendQuant", "AscendAntiQuant", "Add"]


@pytest.mark.parametrize("case", OPEN)
def test_product_of_open_operands_names_the_dims_that_are_not_known(
    case: str, tmp_path: Path
) -> None:
    make, reason = OPEN[case]
    s = Sketch()
    s.output(make(s))
    onnx.save(s.model(), tmp_path / "n.onnx")
    done = atc_py.quantize_model(tmp_path / "n.onnx", tmp_path / "o.onnx")
    reasons = [each.reason.en for each in done.nodes if each.op_type == "MatMul" and each.reason]
    assert [reason in each for each in reasons] == [True], reasons

"""Layers on int8: the nodes that stand for them, weights, biases and scale words to the number."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from atc_py.onnx_graph.source import Outcome
from atc_py.tensor.dtypes import DType
from atc_py.tensor.scale_words import decode_graph
from tests.onnx_graph.qdq.quantized_models import (
    Sketch,
    attributes_of,
    const_of,
    node_of,
    operators,
)

I8, U8, I32 = np.int8, np.uint8, np.int32
W = np.array([[[[1, 2], [3, 4]]], [[[-5, 6], [7, -8]]]], I8)
"""Two filters of one channel, 2x2; their sums are 10 and 0."""


def convolution(
    zero: int = 0,
    kind: npt.DTypeLike = I8,
    bias: str = "",
    scales: Any = 0.25,
    opset: int = 13,
) -> Sketch:
    """Return data of scale 0.5, filters W, and a bias of 1 and -3.3."""
    s = Sketch(opset)
    x = s.qdq(s.input("x", [1, 1, 4, 4]), 0.5, zero, kind)
    more: dict[str, Any] = {"axis": 0} if np.ndim(scales) else {}
    w = s.dq(s.weight(W, I8), scales, np.zeros(np.shape(scales)), **more)
    biases: list[str] = []
    if bias == "float":
        biases = [s.weight([1.0, -3.3])]
    elif bias == "int32":
        own = np.broadcast_to(np.float32(0.5) * np.float32(scales), 2)
        biases = [s.dq(s.weight([8, -26], I32), own, [0, 0], I32, axis=0)]
    elif bias == "other int32":
        biases = [s.dq(s.weight([100, -330], I32), 0.01, 0, I32)]
    s.output(s.op("Conv", x, w, *biases, to="y"))
    return s


def test_a_convolution_becomes_quant_layer_dequant(tmp_path: Path) -> None:
    folded = convolution(bias="float").folded(tmp_path)
    model = folded.to_source()
    assert operators(model) == ["AscendQuant", "Conv", "AscendDequant"]
    quant, layer, dequant = model.nodes
    assert attributes_of(quant) == {
        "scale": 2.0,
        "offset": 0.0,
        "sqrt_mode": 0,
        "round_mode": "Round",
        "dst_type": "INT8",
    }
    assert [value.dtype for value in layer.inputs if value] == [DType.INT8, DType.INT8, DType.INT32]
    assert [value.dtype for value in layer.outputs if value] == [DType.INT32]
    assert const_of(layer, 1).tolist() == W.tolist()
    # 1 / 0.125 = 8, -3.3 / 0.125 = -26.4
    assert const_of(layer, 2).tolist() == [8, -26]
    assert attributes_of(dequant) == {"dtype": 0, "sqrt_mode": 0, "relu_flag": 0}
    words = const_of(dequant, 1)
    assert words.dtype == np.uint64
    assert words.tolist() == [0x3E000000]  # 0.125
    assert [(each.name, each.dtype) for each in model.outputs] == [("y", DType.FLOAT32)]
    (reported,) = folded.source.quantized
    assert (reported.index, reported.name, reported.op_type) == (3, "Conv_3", "Conv")
    assert (reported.outcome, reported.reason) == (Outcome.INTEGER, None)


def test_nodes_carry_index_and_name_of_what_they_replace(tmp_path: Path) -> None:
    model = convolution(bias="float").source(tmp_path)
    assert [(node.index, node.name) for node in model.nodes] == [
        (0, "QuantizeLinear_0"),
        (3, "Conv_3"),
        (3, "Conv_3"),
    ]


def test_scales_of_channels_are_words_of_channels(tmp_path: Path) -> None:
    model = convolution(scales=np.array([0.25, 0.5], np.float32), bias="float").source(tmp_path)
    words = decode_graph(const_of(node_of(model, "AscendDequant"), 1))
    assert words.scale.tolist() == [0.125, 0.25]
    assert (words.shift.tolist(), words.offset_w.tolist()) == ([0, 0], [0, 0])
    assert const_of(node_of(model, "Conv"), 2).tolist() == [8, -13]  # -3.3 / 0.25 = -13.2


@pytest.mark.parametrize("scales", [0.25, np.array([0.25, 0.3], np.float32)])
def test_an_int32_bias_of_the_layer_s_scale_is_taken_as_it_is(tmp_path: Path, scales: Any) -> None:
    model = convolution(bias="int32", scales=scales).source(tmp_path)
    assert const_of(node_of(model, "Conv"), 2).tolist() == [8, -26]


def test_an_int32_bias_of_another_scale_is_rounded_anew(tmp_path: Path) -> None:
    model = convolution(bias="other int32").source(tmp_path)
    assert const_of(node_of(model, "Conv"), 2).tolist() == [8, -26]


@pytest.mark.parametrize(
    ("zero", "kind", "offset"), [(5, I8, 5), (-7, I8, -7), (133, U8, 5), (0, U8, -128)]
)
def test_the_zero_point_of_the_data_is_the_offset_of_its_quant_and_not_in_the_bias(
    tmp_path: Path, zero: int, kind: npt.DTypeLike, offset: int
) -> None:
    model = convolution(zero, kind, "float").source(tmp_path)
    assert attributes_of(node_of(model, "AscendQuant"))["offset"] == offset
    assert const_of(node_of(model, "Conv"), 2).tolist() == [8, -26]
    model = convolution(zero, kind, "").source(tmp_path)
    assert attributes_of(node_of(model, "AscendQuant"))["offset"] == offset
    assert len(node_of(model, "Conv").inputs) == 2


def test_without_bias_and_zero_point_there_is_no_bias(tmp_path: Path) -> None:
    assert len(node_of(convolution().source(tmp_path), "Conv").inputs) == 2


def weighted(weights: Any, kind: npt.DTypeLike, zero: Any, data_zero: int = 0) -> Sketch:
    """Return a convolution of one channel with filters of 1x1."""
    s = Sketch()
    x = s.qdq(s.input("x", [1, 1, 2, 2]), 0.5, data_zero)
    array = np.array(weights, kind).reshape(-1, 1, 1, 1)
    scales = np.ones(np.shape(zero), np.float32)
    more: dict[str, Any] = {"axis": 0} if np.ndim(zero) else {}
    s.output(s.op("Conv", x, s.dq(s.weight(array, kind), scales, zero, kind, **more)))
    return s


@pytest.mark.parametrize(
    ("weights", "kind", "zero", "codes", "offset_w"),
    [
        ([128, 255, 0], U8, 128, [0, 127, -128], [0]),  # 128 is the middle
        ([100, 200], U8, 150, [-50, 50], [0]),  # less 150, they are int8
        ([255, 10], U8, 127, [127, -118], [-1]),  # 128 is one too many
        ([0, 255], U8, 100, [-128, 127], [-28]),  # -100 and 155 are not
        ([10, 20], I8, 5, [5, 15], [0]),
        ([-128, 127], I8, 1, [-128, 127], [1]),
        ([10, -128], I8, [3, 1], [10, -128], [3, 1]),  # one channel does not fit
        ([10, -100], I8, [3, 1], [7, -101], [0, 0]),
    ],
)
def test_zero_points_of_weights(
    tmp_path: Path, weights: list[int], kind: npt.DTypeLike, zero: Any, codes: list[int],
    offset_w: list[int],
) -> None:  # fmt: skip
    model = weighted(weights, kind, zero, data_zero=3).source(tmp_path)
    layer = node_of(model, "Conv")
    assert const_of(layer, 1).reshape(-1).tolist() == codes
    words = decode_graph(const_of(node_of(model, "AscendDequant"), 1))
    assert words.offset_w.tolist() == offset_w
    assert len(layer.inputs) == 2


def test_weights_that_are_quantized_in_the_model_are_worked_out(tmp_path: Path) -> None:
    s = Sketch()
    x = s.qdq(s.input("x", [1, 1, 2, 2]), 0.5)
    # Halves go to the even number: 0.5 and 1.5 to 0 and 2; what is too large is cut off.
    w = s.weight(np.array([0.25, 0.75, -100.0, 1.0]).reshape(4, 1, 1, 1))
    s.output(s.op("Conv", x, s.dq(s.q(w, 0.5, 0), 0.5, 0)))
    layer = node_of(s.source(tmp_path), "Conv")
    assert const_of(layer, 1).reshape(-1).tolist() == [0, 2, -128, 2]


def test_transposed_weights_keep_their_channels(tmp_path: Path) -> None:
    # As exporters write Linear: the weights (out, in) with a scale for each row, transposed.
    s = Sketch()
    x = s.qdq(s.input("x", [3, 4]), 0.5)
    array = np.arange(8).reshape(2, 4)
    w = s.dq(s.weight(array, I8), [0.25, 0.5], [0, 0], axis=0)
    s.output(s.op("MatMul", x, s.op("Transpose", w, perm=[1, 0])))
    model = s.source(tmp_path)
    assert operators(model) == ["AscendQuant", "MatMul", "AscendDequant"]
    assert const_of(node_of(model, "MatMul"), 1).tolist() == array.T.tolist()
    words = decode_graph(const_of(node_of(model, "AscendDequant"), 1))
    assert words.scale.tolist() == [0.125, 0.25]


def test_a_transposed_convolution_has_its_channels_on_axis_1(tmp_path: Path) -> None:
    s = Sketch()
    x = s.qdq(s.input("x", [1, 2, 4, 4]), 0.5, 2)
    array = np.arange(2 * 3 * 2 * 2).reshape(2, 3, 2, 2)
    w = s.dq(s.weight(array, I8), [0.25, 0.5, 1.0], [0, 0, 0], axis=1)
    s.output(s.op("ConvTranspose", x, w))
    model = s.source(tmp_path)
    assert operators(model) == ["AscendQuant", "ConvTranspose", "AscendDequant"]
    assert len(node_of(model, "ConvTranspose").inputs) == 2
    words = decode_graph(const_of(node_of(model, "AscendDequant"), 1))
    assert words.scale.tolist() == [0.125, 0.25, 0.5]


def gemm(addend: str = "row", zero: int = 0, **attributes: Any) -> Sketch:
    """Return a Gemm of data of scale 0.5 and weights of scale 0.25."""
    s = Sketch()
    x = s.qdq(s.input("x", [2, 3]), 0.5, zero)
    array = np.array([[1, -2], [3, 4], [5, 6]])
    stored = array.T if attributes.get("transB") else array
    axis = 0 if attributes.get("transB") else 1
    w = s.dq(s.weight(stored, I8), [0.25, 0.5], [0, 0], axis=axis)
    addends: dict[str, Callable[[], list[str]]] = {
        "row": lambda: [s.weight([1.0, 2.0])],
        "matrix": lambda: [s.weight([[1.0, 2.0]])],
        "one": lambda: [s.weight(1.0)],
        "whole": lambda: [s.weight([[1.0, 2.0], [3.0, 4.0]])],
        "column": lambda: [s.weight([[1.0], [2.0]])],
        "computed": lambda: [s.input("c", [2, 2])],
        "none": list,
    }
    s.output(s.op("Gemm", x, w, *addends[addend](), to="y", **attributes))
    return s


def test_gemm_with_alpha_and_beta(tmp_path: Path) -> None:
    model = gemm(alpha=0.5, beta=2.0, transB=1).source(tmp_path)
    layer = node_of(model, "Gemm")
    assert attributes_of(layer) == {"transB": 1}
    words = decode_graph(const_of(node_of(model, "AscendDequant"), 1))
    assert words.scale.tolist() == [0.0625, 0.125]
    assert const_of(layer, 2).tolist() == [32, 32]  # 2 * 1 / 0.0625, 2 * 2 / 0.125


@pytest.mark.parametrize(
    ("addend", "bias"), [("row", [8, 8]), ("matrix", [8, 8]), ("one", [8, 4]), ("none", None)]
)
def test_gemm_takes_an_addend_of_one_row_as_its_bias(
    tmp_path: Path, addend: str, bias: list[int] | None
) -> None:
    for zero in (0, 2):
        model = gemm(addend, zero).source(tmp_path)
        assert operators(model) == ["AscendQuant", "Gemm", "AscendDequant"]
        layer = node_of(model, "Gemm")
        if bias is None:
            assert len(layer.inputs) == 2
        else:
            assert const_of(layer, 2).tolist() == bias


@pytest.mark.parametrize("addend", ["whole", "column", "computed"])
def test_gemm_adds_any_other_addend_in_floats(tmp_path: Path, addend: str) -> None:
    model = gemm(addend, 2).source(tmp_path)
    assert operators(model) == ["AscendQuant", "Gemm", "AscendDequant", "Add"]
    assert len(node_of(model, "Gemm").inputs) == 2
    scaled = gemm(addend, beta=3.0).source(tmp_path)
    assert operators(scaled)[-1] == "Add"
    assert ("Mul" in operators(scaled)) is (addend == "computed")  # else it is folded


def test_float16_models_get_float16_results(tmp_path: Path) -> None:
    s = Sketch(19)
    s.input("x", [1, 1, 2, 2], np.float16)
    scale = s.weight(0.5, np.float16)
    zero = s.weight(0, I8)
    x = s.op("DequantizeLinear", s.op("QuantizeLinear", "x", scale, zero), scale, zero)
    w = s.op("DequantizeLinear", s.weight(W[:, :, :1, :1], I8), scale, zero)
    s.output(s.op("Conv", x, w), np.float16)
    model = s.source(tmp_path)
    assert attributes_of(node_of(model, "AscendDequant"))["dtype"] == 1
    assert model.outputs[0].dtype is DType.FLOAT16

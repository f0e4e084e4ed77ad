"""Quantized activations: what is merged, what becomes real numbers again, what moves as codes."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from atc_py.onnx_graph.rewriting.qdq.movement import MOVING
from atc_py.spec import specifications
from atc_py.tensor.dtypes import DType
from tests.onnx_graph.qdq.quantized_models import (
    Sketch,
    attributes_of,
    const_of,
    node_of,
    operators,
)

I8, U8, I32, I64 = np.int8, np.uint8, np.int32, np.int64
KINDS = pytest.mark.parametrize(("kind", "zero"), [(I8, 0), (I8, -3), (U8, 131)])


@KINDS
def test_quantize_and_dequantize(tmp_path: Path, kind: npt.DTypeLike, zero: int) -> None:
    s = Sketch()
    s.output(s.qdq(s.input("x", [2, 3]), 0.25, zero, kind))
    model = s.source(tmp_path)
    assert operators(model) == ["AscendQuant", "AscendAntiQuant"]
    offset = float(zero - 128 if kind is U8 else zero)
    assert attributes_of(model.nodes[0]) == {
        "scale": 4.0,
        "offset": offset,
        "sqrt_mode": 0,
        "round_mode": "Round",
        "dst_type": "INT8",
    }
    assert attributes_of(model.nodes[1]) == {
        "scale": 0.25,
        "offset": offset,
        "sqrt_mode": 0,
        "dtype": 0,
    }


@pytest.mark.parametrize(
    ("scale", "quant", "anti"),
    [
        (2.0**-14, (16384.0, 0), (2.0**-14, 0)),
        (2.0**-15, (32768.0, 0), (math.sqrt(2.0**-15), 1)),
        (2.0**-16, (65536.0, 0), (math.sqrt(2.0**-16), 1)),
        (2.0**14, (2.0**-14, 0), (2.0**14, 0)),
        (2.0**15, (2.0**-15, 0), (2.0**15, 0)),
        (2.0**16, (2.0**-16, 0), (math.sqrt(2.0**16), 1)),
    ],
)
def test_factors_are_whole_for_quantization_and_roots_for_the_way_back(
    tmp_path: Path, scale: float, quant: tuple[float, int], anti: tuple[float, int]
) -> None:
    s = Sketch()
    s.output(s.qdq(s.input("x", [2, 3]), scale))
    found = [attributes_of(node) for node in s.source(tmp_path).nodes]
    numbers = [(each["scale"], each["sqrt_mode"]) for each in found]
    assert numbers == [pytest.approx(quant, rel=1e-7), pytest.approx(anti, rel=1e-7)]


@pytest.mark.parametrize("scale", [1e-12, 1e12])
@KINDS
def test_factors_that_have_no_root_either_are_multiplications(
    tmp_path: Path, scale: float, kind: npt.DTypeLike, zero: int
) -> None:
    s = Sketch()
    s.output(s.qdq(s.input("x", [4]), scale, zero, kind))
    model = s.source(tmp_path)
    assert operators(model) == ["Mul", "AscendQuant", "AscendAntiQuant", "Mul"]
    offset = zero - 128 if kind is U8 else zero
    assert [attributes_of(node)["offset"] for node in model.nodes[1:3]] == [offset, offset]
    x = np.array([-1.0, 0.3, 2.0, 500.0], np.float32) * np.float32(scale)
    ours, theirs = s.run(tmp_path, {"x": x}, precision_mode="must_keep_origin_dtype")
    for name, expected in theirs.items():
        np.testing.assert_allclose(ours[name], expected, rtol=1e-6)


def test_equal_quantizations_of_a_tensor_are_one(tmp_path: Path) -> None:
    s = Sketch()
    x = s.input("x", [2, 3])
    for to in ("a", "b"):
        s.output(s.q(x, 0.25, 1, to=to), I8)
    s.output(s.q(x, 0.25, 2, to="c"), I8)
    model = s.source(tmp_path)
    assert operators(model) == ["AscendQuant", "AscendQuant", "Identity"]
    assert [node.outputs[0].name for node in model.nodes if node.outputs[0]] == ["a", "c", "b"]


def test_all_readers_of_real_numbers_share_them(tmp_path: Path) -> None:
    s = Sketch()
    x = s.qdq(s.input("x", [2, 3]), 0.25)
    s.output(s.op("Add", s.op("Relu", x), s.op("Sigmoid", x)))
    model = s.source(tmp_path)
    assert operators(model) == ["AscendQuant", "AscendAntiQuant", "Relu", "Sigmoid", "Add"]


def test_quantizing_again_with_the_same_parameters_does_nothing(tmp_path: Path) -> None:
    s = Sketch()
    x = s.qdq(s.qdq(s.input("x", [2, 3]), 0.25, 130, U8), 0.25, 2, I8)
    s.output(x)
    assert operators(s.source(tmp_path)) == ["AscendQuant", "AscendAntiQuant"]


def test_quantizing_again_with_other_parameters_is_done(tmp_path: Path) -> None:
    s = Sketch()
    s.output(s.qdq(s.qdq(s.input("x", [2, 3]), 0.25), 0.5))
    names = ["AscendQuant", "AscendAntiQuant"]
    assert operators(s.source(tmp_path)) == names * 2


def test_absent_zero_points_are_zero_of_uint8(tmp_path: Path) -> None:
    s = Sketch()
    x, scale = s.input("x", [2, 3]), s.weight(0.5)
    q = s.op("QuantizeLinear", x, scale)
    s.output(s.op("DequantizeLinear", q, scale))
    found = [attributes_of(node)["offset"] for node in s.source(tmp_path).nodes]
    assert found == [-128.0, -128.0]


def test_output_dtype_stands_for_the_zero_point(tmp_path: Path) -> None:
    s = Sketch(21)
    x, scale = s.input("x", [2, 3]), s.weight(0.5)
    s.output(s.op("QuantizeLinear", x, scale, output_dtype=3, to="y"), I8)
    model = s.source(tmp_path)
    assert attributes_of(node_of(model, "AscendQuant"))["offset"] == 0.0
    assert model.outputs[0].dtype is DType.INT8


def test_parameters_may_come_from_constant_nodes(tmp_path: Path) -> None:
    s = Sketch()
    x = s.input("x", [2, 3])
    scale = s.op("Identity", s.op("Constant", value_float=0.5))
    s.output(s.op("DequantizeLinear", s.op("QuantizeLinear", x, scale), scale))
    assert operators(s.source(tmp_path)) == ["AscendQuant", "AscendAntiQuant"]


def test_dequantized_constants_that_no_layer_takes_are_folded(tmp_path: Path) -> None:
    s = Sketch()
    x = s.input("x", [2, 3])
    table = s.dq(s.weight([[1, 2, 3]], I8), [0.5, 1.0, 2.0], [1, 0, 0], axis=1)
    s.output(s.op("Add", x, table))
    model = s.source(tmp_path)
    assert operators(model) == ["Add"]
    assert const_of(model.nodes[0], 1).tolist() == [[0.0, 2.0, 6.0]]


# Edges ------------------------------------------------------------------------------------------


def test_fed_int8_is_taken_as_it_is(tmp_path: Path) -> None:
    s = Sketch()
    s.output(s.dq(s.input("x", [2, 3], I8), 0.5, 3))
    model = s.source(tmp_path)
    assert operators(model) == ["AscendAntiQuant"]
    assert attributes_of(model.nodes[0])["offset"] == 3.0


def test_fed_uint8_becomes_int8(tmp_path: Path) -> None:
    s = Sketch()
    s.output(s.dq(s.input("x", [256], U8), 0.5, 7, U8))
    model = s.source(tmp_path)
    assert operators(model) == ["Cast", "Sub", "AscendQuant", "AscendAntiQuant"]
    quant, anti = (attributes_of(node) for node in model.nodes[2:])
    assert (quant["scale"], quant["offset"], anti["offset"]) == (1.0, -121.0, -121.0)
    every = np.arange(256, dtype=U8)
    ours, theirs = s.run(tmp_path, {"x": every})
    for name, expected in theirs.items():
        assert ours[name].tolist() == expected.tolist()


def test_uint8_that_is_an_output_is_uint8(tmp_path: Path) -> None:
    s = Sketch()
    s.output(s.q(s.input("x", [256]), 1.0, 0, U8, to="y"), U8)
    model = s.source(tmp_path)
    assert operators(model) == ["AscendQuant", "Cast", "Add", "Cast"]
    assert model.outputs[0].dtype is DType.UINT8
    ours, _ = s.run(tmp_path, {"x": np.arange(256, dtype=np.float32)})
    assert ours["y"].tolist() == list(range(256))


@pytest.mark.parametrize(
    ("zero", "padding", "gets_one"),
    [
        (5, {"pads": [1] * 4}, True),
        (5, {"auto_pad": "SAME_UPPER"}, True),
        (0, {"pads": [1] * 4}, False),
        (5, {"pads": [0] * 4}, True),
        (5, {"auto_pad": "VALID"}, True),
    ],
)
def test_data_without_an_ascend_quant_gets_one_where_a_layer_has_to_know_its_zero_point(
    tmp_path: Path, zero: int, padding: dict[str, Any], *, gets_one: bool
) -> None:
    s = Sketch()
    x = s.dq(s.input("x", [1, 1, 4, 4], I8), 0.5, zero)
    w = s.dq(s.weight(np.ones((1, 1, 3, 3)), I8), 0.5)
    s.output(s.op("Conv", x, w, **padding))
    model = s.source(tmp_path)
    layer = ["Conv", "AscendDequant"]
    assert operators(model) == (["Cast", "Sub", "AscendQuant", *layer] if gets_one else layer)
    if gets_one:
        # Padding counts as the offset of this one, and the compiler folds it into the bias.
        assert attributes_of(node_of(model, "AscendQuant"))["offset"] == zero


def test_data_that_is_moved_after_its_ascend_quant_needs_no_other(tmp_path: Path) -> None:
    s = Sketch()
    x = s.qdq(s.input("x", [1, 4, 4, 1]), 0.5, 5)
    w = s.dq(s.weight(np.ones((1, 1, 3, 3)), I8), 0.5)
    s.output(s.op("Conv", s.op("Transpose", x, perm=[0, 3, 1, 2]), w, pads=[1] * 4))
    assert operators(s.source(tmp_path)) == ["AscendQuant", "Transpose", "Conv", "AscendDequant"]


def test_channels_of_data_are_scaled_in_floats(tmp_path: Path) -> None:
    s = Sketch()
    scales, zeros = np.array([0.25, 0.5, 1.0], np.float32), np.array([1, 0, -2])
    q = s.q(s.input("x", [2, 3]), scales, zeros, axis=1)
    s.output(s.dq(q, scales, zeros, axis=-1, to="y"))
    model = s.source(tmp_path)
    names = ["Mul", "Add", "AscendQuant", "AscendAntiQuant", "Sub", "Mul"]
    assert operators(model) == names
    x = np.array([[0.25, 3.5, -7.0], [5.0, -2.5, 200.0]], np.float32)
    ours, theirs = s.run(tmp_path, {"x": x})
    assert ours["y"].tolist() == theirs["y"].tolist()


def test_a_bias_that_passes_through_is_constant_still(tmp_path: Path) -> None:
    # onnxruntime's quantization leaves such nodes where layers shared a bias.
    s = Sketch()
    x = s.qdq(s.input("x", [1, 1, 4, 4]), 0.5)
    w = s.dq(s.weight(np.ones((2, 1, 3, 3)), I8), 0.5)
    bias = s.op("Identity", s.dq(s.weight([4, 8], I32), 0.25, 0, I32))
    s.output(s.op("Conv", x, w, bias))
    model = s.source(tmp_path)
    assert operators(model) == ["AscendQuant", "Conv", "AscendDequant"]
    assert const_of(node_of(model, "Conv"), 2).tolist() == [4, 8]


# Movement ---------------------------------------------------------------------------------------


def test_what_moves_codes_is_listed_for_int8() -> None:
    library = specifications(None)
    for op in MOVING:
        spec = library.find(op)
        assert spec is not None
        data = spec.inputs[0]
        more = data.beyond.dtypes if data.beyond else ()
        assert data.dtypes == "any" or DType.INT8 in (*data.dtypes, *more), op


def moved(kind: npt.DTypeLike, zero: int) -> Sketch:
    """Return every way in which codes move, with a pair of quantization between all."""
    s = Sketch()

    def pair(x: str) -> str:
        return s.qdq(x, 0.25, zero, kind)

    x = pair(s.input("x", [2, 4, 6]))
    x = pair(s.op("Transpose", x, perm=[0, 2, 1]))
    x = pair(s.op("Reshape", x, s.weight([2, 3, 8], I64)))
    s.op("Split", x, s.weight([3, 5], I64), axis=2, to=["a", "b"])
    x = pair(s.op("Concat", pair("b"), pair("a"), axis=2))
    x = pair(s.op("Gather", x, s.weight([1, 0], I64), axis=1))
    x = pair(s.op("Unsqueeze", x, s.weight([0], I64)))
    x = pair(s.op("Slice", x, *(s.weight([n], I64) for n in (1, 2, 1))))
    x = pair(s.op("Squeeze", x, s.weight([0], I64)))
    x = pair(s.op("Tile", x, s.weight([2, 1, 1], I64)))
    s.output(s.op("Flatten", x, to="y"))
    return s


@KINDS
def test_codes_are_moved(tmp_path: Path, kind: npt.DTypeLike, zero: int) -> None:
    s = moved(kind, zero)
    names = operators(s.source(tmp_path))
    assert names == [
        "AscendQuant", "Transpose", "Reshape", "Split", "Concat", "Gather", "Unsqueeze", "Slice",
        "Squeeze", "Tile", "AscendAntiQuant", "Flatten",
    ]  # fmt: skip
    x = (np.arange(48, dtype=np.float32).reshape(2, 4, 6) - 20) * 0.25
    ours, theirs = s.run(tmp_path, {"x": x})
    assert ours["y"].tolist() == theirs["y"].tolist()


def test_concat_of_unlike_parameters_stays_in_floats(tmp_path: Path) -> None:
    s = Sketch()
    x = s.input("x", [2, 3])
    y = s.op("Concat", s.qdq(x, 0.25), s.qdq(x, 0.5), axis=0)
    s.output(s.q(y, 0.5, to="y"), I8)
    names = operators(s.source(tmp_path))
    assert names == [*["AscendQuant"] * 2, *["AscendAntiQuant"] * 2, "Concat", "AscendQuant"]


def test_a_table_is_looked_up_in_codes(tmp_path: Path) -> None:
    s = Sketch()
    table = s.dq(s.weight(np.arange(12).reshape(4, 3), I8), 0.5)
    rows = s.op("Gather", table, s.input("i", [2], I64))
    s.output(s.q(rows, 0.5, to="y"), I8)
    model = s.source(tmp_path)
    assert operators(model) == ["Gather", "Identity"]
    assert model.nodes[0].inputs[0] is not None
    assert model.nodes[0].inputs[0].dtype is DType.INT8


@KINDS
def test_codes_that_the_file_moves_itself(tmp_path: Path, kind: npt.DTypeLike, zero: int) -> None:
    s = Sketch()
    q = s.q(s.input("x", [1, 2, 4, 4]), 0.25, zero, kind)
    most = s.op("MaxPool", q, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    turned = s.op("Transpose", most, perm=[0, 2, 3, 1])
    s.output(s.dq(turned, 0.25, zero, kind, to="y"))
    s.output(s.op("Reshape", turned, s.weight([4, 2], I64), to="z"), kind)
    names = operators(s.source(tmp_path))
    assert names[:5] == ["AscendQuant", "AscendAntiQuant", "MaxPool", "AscendQuant", "Transpose"]
    assert names.count("AscendAntiQuant") == 2
    x = (np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4) - 20) * 0.25
    ours, theirs = s.run(tmp_path, {"x": x})
    for name, expected in theirs.items():
        assert (ours[name].dtype, ours[name].tolist()) == (expected.dtype, expected.tolist())


def test_other_readers_of_codes_get_what_the_file_has(tmp_path: Path) -> None:
    s = Sketch()
    q = s.q(s.input("x", [2, 3]), 0.25, 100, U8)
    s.output(s.op("Equal", q, q, to="same"), np.bool_)
    s.output(s.dq(q, 0.25, 100, U8))
    model = s.source(tmp_path)
    read = [value.dtype for value in node_of(model, "Equal").inputs if value]
    assert read == [DType.UINT8, DType.UINT8]


def test_a_model_without_quantization_is_left_alone(tmp_path: Path, monkeypatch: Any) -> None:
    from atc_py.onnx_graph.rewriting.qdq import importing

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(importing, "open_operators", never)
    monkeypatch.setattr(importing, "fold_graph", never)
    s = Sketch()
    s.output(s.op("Relu", s.input("x", [2, 3])))
    folded = s.folded(tmp_path)
    assert folded.source.quantized == ()
    assert operators(folded.to_source()) == ["Relu"]

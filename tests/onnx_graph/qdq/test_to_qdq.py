"""The deploy form back to QuantizeLinear and DequantizeLinear: the nodes and their numbers."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from atc_py.diag.codes import NO_QDQ_FORM
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.rewriting.qdq.ascend import inverse
from atc_py.onnx_graph.rewriting.qdq.real_layers import _quotient
from atc_py.onnx_graph.rewriting.qdq.rewriting import rewrite_file
from atc_py.options.compile_options import QuantBias
from atc_py.tensor.scale_words import HardwareWords, encode_hardware
from tests.end_to_end import run_with_onnxruntime
from tests.onnx_graph import onnx_files
from tests.onnx_graph.qdq.deploy_models import (
    QUANT,
    STEP,
    ZERO,
    dequant,
    inputs_of,
    layer_model,
    operands,
    operators,
    rewritten,
    words,
)
from tests.sampling import examples

Array = npt.NDArray[Any]

node = helper.make_node
FOLDED, UNFOLDED = QuantBias.FOLDED, QuantBias.UNFOLDED
FLOAT = onnx_files.FLOAT
RANDOM = np.random.default_rng(7)


# Nodes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "scale"),
    [({"scale": 4.0}, 0.25), ({"scale": 4.0, "sqrt_mode": 1}, 1 / 16), ({"scale": 3.0}, 1 / 3)],
)
def test_quant_and_anti_quant_become_the_pair(
    attributes: dict[str, Any], scale: float, tmp_path: Path
) -> None:
    nodes = [
        node("AscendQuant", ["x"], ["q"], offset=-3.0, **attributes),
        node("AscendAntiQuant", ["q"], ["y"], scale=0.5, offset=7.0, sqrt_mode=1),
    ]
    found = rewritten(onnx_files.model(nodes, {"x": (FLOAT, [2, 3])}, ["y"]), tmp_path)
    assert operators(found) == ["QuantizeLinear", "DequantizeLinear"]
    step, zero = inputs_of(found, "q")
    assert (step.item(), step.dtype.name, step.shape) == (np.float32(scale).item(), "float32", ())
    assert (zero.item(), zero.dtype.name) == (-3, "int8")
    step, zero = inputs_of(found, "y")
    assert (step.item(), zero.item()) == (0.25, 7)


@pytest.mark.parametrize(("convention", "folded"), [(FOLDED, ZERO), (UNFOLDED, 0), (None, 0)])
def test_a_convolution_gets_its_bias_back(
    convention: QuantBias | None, folded: int, tmp_path: Path
) -> None:
    w = RANDOM.integers(-100, 100, (2, 3, 3, 3)).astype(np.int8)
    b = np.array([500, -500], np.int32)
    layer = node("Conv", ["q", "w", "b"], ["sum"], "conv", pads=[1, 1, 1, 1])
    proto = layer_model(layer, {"w": w, "b": b}, [1, 3, 5, 5], [0.5, 0.125])
    found = rewritten(proto, tmp_path, quant_bias=convention)
    assert operators(found) == ["QuantizeLinear", *["DequantizeLinear"] * 3, "Conv"]
    assert [each.name for each in found.graph.node][-1] == "conv"
    data, weights, bias = operands(found, "Conv")
    assert [float(each) for each in data] == [STEP, ZERO]
    assert np.array_equal(weights[0], w)
    assert weights[1].tolist() == [2.0, 0.5]
    assert bias[0].tolist() == (b + folded * w.astype(int).sum(axis=(1, 2, 3))).tolist()
    assert bias[1].tolist() == [0.5, 0.125]


def test_a_bias_that_made_up_for_the_zero_point_alone_goes(tmp_path: Path) -> None:
    w = RANDOM.integers(-100, 100, (4, 3)).astype(np.int8)
    b = (-ZERO * w.astype(int).sum(axis=1)).astype(np.int32)
    layer = node("Gemm", ["q", "w", "b"], ["sum"], transB=1)
    proto = layer_model(layer, {"w": w, "b": b}, [2, 3], [0.5])
    found = rewritten(proto, tmp_path, quant_bias=FOLDED)
    assert not operands(found, "Gemm")[2][0].any()
    layer = node("MatMul", ["q", "v"], ["product"])
    add = node("Add", ["product", "b"], ["sum"])
    proto = layer_model(layer, {"v": w.T.copy(), "b": b}, [2, 3], [0.5])
    proto.graph.node.insert(2, add)
    found = rewritten(proto, tmp_path, quant_bias=FOLDED)
    assert operators(found)[-1] == "MatMul"
    again = rewritten(proto, tmp_path, quant_bias=UNFOLDED)
    assert operators(again)[-2:] == ["DequantizeLinear", "Add"]
    assert inputs_of(again, again.graph.node[-1].input[1])[0].tolist() == b.tolist()


def test_offset_w_is_the_zero_point_of_the_weights(tmp_path: Path) -> None:
    w = RANDOM.integers(-100, 100, (3, 2)).astype(np.int8)
    proto = layer_model(node("MatMul", ["q", "w"], ["sum"]), {"w": w}, [2, 3], [0.5, 1], [5, -6])
    unfolded = rewritten(proto, tmp_path)
    assert operators(unfolded)[-1] == "MatMul"
    assert operands(unfolded, "MatMul")[1][2].tolist() == [5, -6]
    found = rewritten(proto, tmp_path, quant_bias=FOLDED)
    _, weights = operands(found, "MatMul")
    assert weights[2].tolist() == [5, -6]
    assert weights[2].dtype == np.int8
    assert found.graph.node[-1].op_type == "Add"
    added = inputs_of(found, found.graph.node[-1].input[1])[0]
    assert added.tolist() == (ZERO * (w.astype(int) - [5, -6]).sum(axis=0)).tolist()


@pytest.mark.parametrize("offset", [0, 12])
def test_hardware_words_have_no_offset_of_weights(offset: int, tmp_path: Path) -> None:
    w = np.ones((3, 2), np.int8)
    proto = layer_model(node("MatMul", ["q", "w"], ["sum"]), {"w": w}, [2, 3], [0.5, 1])
    parts = HardwareWords(
        np.array([0.5, 1], np.float32),
        shift=np.ones(2, np.int64),
        offset=np.full(2, offset),
        relu=np.zeros(2, bool),
        signed=np.ones(2, bool),
    )
    proto.graph.initializer[1].CopyFrom(numpy_helper.from_array(encode_hardware(parts), "d"))
    if offset:
        onnx_files.fails(lambda: rewritten(proto, tmp_path), NO_QDQ_FORM)
    else:
        assert not operands(rewritten(proto, tmp_path), "MatMul")[1][2].any()


def test_float16_factors_are_squared_with_sqrt_mode(tmp_path: Path) -> None:
    last, factors = dequant(np.array([0.5], np.float16), sqrt_mode=1)
    w = np.ones((3, 2), np.int8)
    nodes = [QUANT, node("MatMul", ["q", "w"], ["sum"]), last]
    proto = onnx_files.model(nodes, {"x": (FLOAT, [2, 3])}, ["y"], {"w": w, **factors})
    assert operands(rewritten(proto, tmp_path), "MatMul")[1][1] == np.float32(0.25 / STEP)


def test_flags_of_a_dequantization_become_nodes(tmp_path: Path) -> None:
    last, factors = dequant(words([0.5]), relu_flag=1, dtype=1)
    w = np.ones((3, 2), np.int8)
    nodes = [QUANT, node("MatMul", ["q", "w"], ["sum"]), last]
    proto = onnx_files.model(
        nodes, {"x": (TensorProto.FLOAT16, [2, 3])}, ["y"], {"w": w, **factors}
    )
    found = rewritten(proto, tmp_path)
    assert operators(found)[:2] == ["Cast", "QuantizeLinear"]
    assert operators(found)[-2:] == ["Relu", "Cast"]
    y = run_with_onnxruntime(found, {"x": np.ones((2, 3), np.float16)})["y"]
    assert y.dtype == np.float16
    # x is 4 steps, and 3 of them times 0.5 are summed up.
    assert y.tolist() == [[6.0, 6.0]] * 2
    # Without the offset folded in the device has codes of 1 in their place.
    found = rewritten(proto, tmp_path, quant_bias=FOLDED)
    y = run_with_onnxruntime(found, {"x": np.ones((2, 3), np.float16)})["y"]
    assert y.tolist() == [[1.5, 1.5]] * 2


def test_requant_becomes_a_pair(tmp_path: Path) -> None:
    parts = HardwareWords(
        np.array([0.5, 0.25], np.float32),
        shift=np.ones(2, np.int64),
        offset=np.full(2, 9),
        relu=np.zeros(2, bool),
        signed=np.ones(2, bool),
    )
    w = RANDOM.integers(-9, 9, (3, 2)).astype(np.int8)
    nodes = [
        QUANT,
        node("MatMul", ["q", "w"], ["sum"]),
        node("AscendRequant", ["sum", "r"], ["p"], relu_flag=1),
        node("AscendAntiQuant", ["p"], ["y"], scale=1.0, offset=0.0),
    ]
    proto = onnx_files.model(
        nodes, {"x": (FLOAT, [2, 3])}, ["y"], {"w": w, "r": encode_hardware(parts)}
    )
    found = rewritten(proto, tmp_path)
    x = RANDOM.standard_normal((2, 3)).astype(np.float32) * 8
    codes = np.clip(np.rint(x / STEP) + ZERO, -128, 127).astype(int)
    sums = np.maximum((codes - ZERO) @ w.astype(int) * np.array([0.5, 0.25]), 0)
    wanted = np.clip(np.rint(sums) + 9, -128, 127)
    assert np.array_equal(run_with_onnxruntime(found, {"x": x})["y"], wanted)


def test_int8_keeps_its_steps_through_movement(tmp_path: Path) -> None:
    w = np.ones((6, 2), np.int8)
    nodes = [
        QUANT,
        node("Flatten", ["q"], ["flat"]),
        node("MatMul", ["flat", "w"], ["sum"]),
        dequant(words([0.5]))[0],
    ]
    proto = onnx_files.model(nodes, {"x": (FLOAT, [2, 3, 2])}, ["y"], {"w": w, "d": words([0.5])})
    data, _ = operands(rewritten(proto, tmp_path), "MatMul")
    assert [float(each) for each in data] == [STEP, ZERO]


def test_sums_that_other_nodes_read_stay_integers(tmp_path: Path) -> None:
    w = RANDOM.integers(-9, 9, (3, 2)).astype(np.int8)
    nodes = [
        QUANT,
        node("MatMul", ["q", "w"], ["sum"]),
        node("Neg", ["sum"], ["less"]),
        node("AscendDequant", ["less", "d"], ["y"]),
        node("Identity", ["sum"], ["s"]),
    ]
    proto = onnx_files.model(
        nodes, {"x": (FLOAT, [2, 3])}, ["y", "s"], {"w": w, "d": words([0.5, 0.25])}
    )
    proto.graph.node[2].op_type = "Abs"
    found = rewritten(proto, tmp_path)
    assert operators(found)[1:] == ["MatMulInteger", "Abs", "DequantizeLinear", "Identity"]
    x = RANDOM.standard_normal((2, 3)).astype(np.float32)
    sums = np.clip(np.rint(x / STEP) + ZERO, -128, 127).astype(int) @ w.astype(int)
    outputs = run_with_onnxruntime(found, {"x": x})
    assert np.array_equal(outputs["s"], sums)
    assert np.array_equal(outputs["y"], (np.abs(sums) * [0.5, 0.25]).astype(np.float32))


def met(offsets: list[float]) -> onnx.ModelProto:
    """Return codes of two AscendQuants, joined, by weights of ones."""
    nodes = [
        node("AscendQuant", ["x"], ["p"], scale=4.0, offset=offsets[0]),
        node("AscendQuant", ["x"], ["r"], scale=2.0, offset=offsets[1]),
        node("Concat", ["p", "r"], ["q"], axis=1),
        node("MatMul", ["q", "w"], ["sum"], "product"),
        dequant(words([0.5]))[0],
    ]
    consts = {"w": np.ones((6, 2), np.int8), "d": words([0.5])}
    return onnx_files.model(nodes, {"x": (FLOAT, [2, 3])}, ["y"], consts)


def test_data_of_one_offset_have_it_whatever_their_scales(tmp_path: Path) -> None:
    found = rewritten(met([-3.0, -3.0]), tmp_path)
    y = run_with_onnxruntime(found, {"x": np.ones((2, 3), np.float32)})["y"]
    assert y.tolist() == [[0.5 * (3 * 4 + 3 * 2)] * 2] * 2


def test_data_of_several_offsets_are_refused_where_one_is_folded_in(tmp_path: Path) -> None:
    error = onnx_files.fails(lambda: rewritten(met([-3.0, 5.0]), tmp_path), NO_QDQ_FORM)
    (finding,) = error.diagnostics
    assert finding.message == "MatMul must have data with a single offset, found -3 and 5"
    found = rewritten(met([-3.0, 5.0]), tmp_path, quant_bias=FOLDED)
    y = run_with_onnxruntime(found, {"x": np.ones((2, 3), np.float32)})["y"]
    assert y.tolist() == [[0.5 * (3 * (4 - 3) + 3 * (2 + 5))] * 2] * 2


@pytest.mark.parametrize(("convention", "one"), [(FOLDED, 4 - 3), (UNFOLDED, 4)])
def test_sums_that_are_moved_before_they_are_dequantized_lose_the_offset(
    convention: QuantBias, one: int, tmp_path: Path
) -> None:
    nodes = [
        QUANT,
        node("MatMul", ["q", "w"], ["product"]),
        node("Transpose", ["product"], ["sum"], perm=[1, 0]),
        dequant(words([0.5]))[0],
    ]
    consts = {"w": np.ones((3, 2), np.int8), "d": words([0.5])}
    proto = onnx_files.model(nodes, {"x": (FLOAT, [1, 3])}, ["y"], consts)
    found = rewritten(proto, tmp_path, quant_bias=convention)
    assert "MatMulInteger" in operators(found)
    y = run_with_onnxruntime(found, {"x": np.ones((1, 3), np.float32)})["y"]
    assert y.tolist() == [[0.5 * 3 * one]] * 2


# Numbers ----------------------------------------------------------------------------------------


@given(st.floats(2.0**-20, 2.0**20, width=32))
@examples(200)
def test_a_factor_comes_back_from_its_inverse_where_float32_has_one(factor: float) -> None:
    found = inverse(factor, lambda scale: np.float32(1 / np.float64(scale)))
    again = 1 / np.float64(found)
    assert abs(again / factor - 1) <= 2.0**-23


@given(
    st.lists(st.floats(2.0**-20, 1, width=32), min_size=1, max_size=5),
    st.floats(2.0**-12, 1, width=32),
)
@examples(200)
def test_a_shared_factor_comes_back_or_is_a_little_larger(
    factors: list[float], step: float
) -> None:
    wanted = np.array(factors, np.float64)
    product = (_quotient(wanted, np.float32(step)) * step).astype(np.float32)
    assert (product >= wanted.astype(np.float32)).all()
    assert (product / wanted <= 1 + 2.0**-22).all()


@settings(examples(25), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_layers_compute_what_the_device_does(data: st.DataObject, tmp_path: Path) -> None:
    seed = data.draw(st.integers(0, 2**32 - 1))
    generator = np.random.default_rng(seed)
    kind = data.draw(st.sampled_from(["Conv", "ConvTranspose", "Gemm", "MatMul"]))
    per_channel, biased = data.draw(st.booleans()), data.draw(st.booleans())
    channels, depth = 4, 6
    shape, x_shape = {
        "Conv": ((channels, depth, 3, 3), (1, depth, 5, 5)),
        "ConvTranspose": ((depth, channels, 2, 2), (1, depth, 5, 5)),
        "Gemm": ((channels, depth), (3, depth)),
        "MatMul": ((depth, channels), (3, depth)),
    }[kind]
    w = generator.integers(-128, 128, shape).astype(np.int8)
    bias = generator.integers(-5000, 5000, channels).astype(np.int32)
    scale = generator.uniform(0.001, 0.01, channels if per_channel else 1)
    offset_w = generator.integers(-9, 9, scale.size)
    of_kind: dict[str, Any] = {"Gemm": {"transB": 1}, "Conv": {"pads": [0, 1, 0, 1]}}
    attributes = of_kind.get(kind, {})
    has_bias = biased and kind != "MatMul"
    layer = node(kind, ["q", "w", *(["b"] if has_bias else [])], ["sum"], **attributes)
    consts: dict[str, Array] = {"w": w, **({"b": bias} if has_bias else {})}
    proto = layer_model(layer, consts, x_shape, scale.tolist(), offset_w.tolist())
    x = generator.standard_normal(x_shape).astype(np.float32) * 10
    convention = data.draw(st.sampled_from([UNFOLDED, FOLDED]))
    back = rewritten(proto, tmp_path, quant_bias=convention)
    found = run_with_onnxruntime(back, {"x": x})["y"]
    wanted = device_sums(kind, x, w, np.broadcast_to(offset_w, channels))
    if convention is UNFOLDED:
        axis = {"Conv": 0, "ConvTranspose": 1, "Gemm": 0, "MatMul": 1}[kind]
        rows = np.moveaxis(w.astype(int), axis, 0).reshape(channels, -1)
        apart = rows - np.broadcast_to(offset_w, channels)[:, None]
        wanted = wanted - along(ZERO * apart.sum(axis=1), wanted.ndim)
    wanted = wanted + along(bias if has_bias else np.zeros(channels), wanted.ndim)
    factors = along(np.broadcast_to(scale.astype(np.float32), channels), wanted.ndim)
    # Sums of codes, each at most 255, in float32: their own rounding, and that of two scales.
    bound = 255 * 137 * depth * 9 * scale.max() * 2.0**-20
    assert np.abs(found - wanted * factors).max() < bound


def along(values: Array, rank: int) -> Array:
    """Return values of channels, shaped to broadcast over a result."""
    return values.reshape((-1, 1, 1)) if rank == 4 else values


def device_sums(kind: str, x: Array, w: Array, offset_w: Array) -> Array:
    """Return the int32 sums of a layer without bias, padded with the zero point of the data."""
    codes = np.clip(np.rint(x / np.float32(STEP)) + ZERO, -128, 127).astype(np.int64)
    axis = {"Conv": 0, "ConvTranspose": 1, "Gemm": 0, "MatMul": 1}[kind]
    apart = w.astype(np.int64) - offset_w.reshape([-1 if at == axis else 1 for at in range(w.ndim)])
    if kind in {"Gemm", "MatMul"}:
        return np.asarray(codes @ (apart.T if kind == "Gemm" else apart))
    if kind == "Conv":
        padded = np.pad(codes, ((0, 0), (0, 0), (0, 0), (1, 1)), constant_values=ZERO)
    else:
        padded = np.pad(codes, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=ZERO)
        apart = apart.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1]
    windows = np.lib.stride_tricks.sliding_window_view(padded, apart.shape[2:], (2, 3))
    sums: Array = np.einsum("nchwij,ocij->nohw", windows, apart)
    return sums


# What runtimes take ------------------------------------------------------------------------------


CODES = np.array([-9, 3, 8, 127], np.int8).reshape(1, 4, 1, 1)
ON_CODES: dict[str, tuple[int, int, onnx.NodeProto, dict[str, Array]]] = {
    "moved before 13": (8, 12, node("DepthToSpace", ["q"], ["c"], blocksize=2), {}),
    "moved": (8, 18, node("SpaceToDepth", ["q"], ["c"], blocksize=2), {}),
    "triangle": (14, 18, node("Trilu", ["q"], ["c"]), {}),
    "largest": (8, 18, node("MaxPool", ["q"], ["c"], kernel_shape=[2, 2]), {}),
    "larger": (8, 18, node("Max", ["q", "k"], ["c"]), {"k": CODES}),
    "kinds": (11, 18, node("Unique", ["q"], ["c"]), {}),
    "products": (12, 18, node("Einsum", ["q"], ["c"], equation="abcd->adcb"), {}),
    "sums": (8, 13, node("Add", ["q", "k"], ["c"]), {"k": CODES}),
    "slopes": (9, 18, node("PRelu", ["q", "k"], ["c"]), {"k": CODES}),
    "pieces": (11, 18, node("SplitToSequence", ["q"], ["c"], axis=1), {}),
}
"""Nodes on codes, from the opset to the opset for which they are written."""

REFUSED = {
    ("slopes", "sums"),
    *((case, "codes") for case in ("products", "sums", "slopes", "pieces")),
}


@pytest.mark.parametrize("at", [0, 1], ids=["oldest", "newest"])
@pytest.mark.parametrize("read", ["codes", "sums"])
@pytest.mark.parametrize("case", ON_CODES)
def test_onnxruntime_takes_what_is_written(case: str, read: str, at: int, tmp_path: Path) -> None:
    *opsets, layer, consts = ON_CODES[case]
    nodes, numbers = [QUANT, layer], dict(consts)
    if read == "sums":
        w = RANDOM.integers(-9, 9, (4, 4, 1, 1)).astype(np.int8)
        nodes[1:1] = [node("Conv", ["q", "w"], ["sums"], "conv")]
        nodes[0] = node("AscendQuant", ["x"], ["q"], "quant", scale=1 / STEP, offset=0.0)
        layer = onnx.NodeProto.FromString(layer.SerializeToString())
        layer.input[0] = "sums"
        nodes[2] = layer
        numbers = {name: value.astype(np.int32) for name, value in consts.items()} | {"w": w}
    proto = onnx_files.model(
        nodes, {"x": (FLOAT, [1, 4, 4, 4])}, ["c"], numbers, opsets={"": opsets[at]}
    )
    path = onnx_files.save(proto, tmp_path)
    if (case, read) in REFUSED:
        write = partial(rewrite_file, read_model(path), tmp_path / "qdq.onnx", "qdq")
        onnx_files.fails(write, NO_QDQ_FORM)
        return
    rewrite_file(read_model(path), tmp_path / "qdq.onnx", "qdq")
    session = onnxruntime.InferenceSession(tmp_path / "qdq.onnx")
    x = RANDOM.integers(-100, 100, (1, 4, 4, 4)).astype(np.float32)
    result = np.asarray(session.run(None, {"x": x})[0])
    assert result.dtype == (np.int8 if read == "codes" else np.int32)


AXES = [
    node("Squeeze", ["h"], ["y"], axes=[0]),
    node("Unsqueeze", ["h"], ["y"], axes=[0, -1]),
    node("Split", ["h"], ["y", "z"], axis=1, split=[1, 1]),
    node("ReduceSum", ["h"], ["y"], axes=[1], keepdims=0),
]


@pytest.mark.parametrize("last", AXES, ids=lambda each: each.op_type)
def test_attributes_that_became_inputs_are_written_as_those(
    last: onnx.NodeProto, tmp_path: Path
) -> None:
    w = RANDOM.integers(-9, 9, (2, 3, 3, 3)).astype(np.int8)
    layer = node("Conv", ["q", "w"], ["sum"])
    proto = layer_model(layer, {"w": w}, [1, 3, 5, 5], [0.5, 0.125], opsets={"": 11})
    proto.graph.node[-1].output[0] = "h"
    proto.graph.node.append(last)
    found = rewritten(proto, tmp_path)
    assert found.opset_import[0].version == 13
    wider = onnx_files.model(
        [*found.graph.node[:-1]], {"x": (FLOAT, [1, 3, 5, 5])}, ["h"],
        {each.name: numpy_helper.to_array(each) for each in found.graph.initializer},
    )  # fmt: skip
    x = {"x": RANDOM.standard_normal((1, 3, 5, 5)).astype(np.float32)}
    h = run_with_onnxruntime(wider, x)["h"]
    wanted = {
        "Squeeze": h[0], "Unsqueeze": h[None, ..., None], "Split": h[:, :1],
        "ReduceSum": h.sum(axis=1),
    }[last.op_type]  # fmt: skip
    np.testing.assert_allclose(run_with_onnxruntime(found, x)["y"], wanted, rtol=1e-6)

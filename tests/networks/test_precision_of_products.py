"""A convolution in the modes that differ on the cube, against rounded operands in float64."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import atc_py

Array = npt.NDArray[Any]

F16, BF16, F32 = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32)
HF32 = "HF32"
"""float32 with 12 bits of significand, of which convolutions on newer SoCs are."""

UNITS = {F16: 2.0**-10, BF16: 2.0**-7}
"""One unit in the last place, for values in [1, 2)."""

TERMS = 16 * 3 * 3 + 1
"""Products and the bias of one sum. Summed up in float32 in any order they are off by at most
TERMS * 2^-24 of the sum of their magnitudes (Higham 2002, section 4.2)."""

CASES = [
    ("force_fp16", "Ascend310P3", F16, F16, F16),
    ("force_fp32", "Ascend310P3", F16, F32, F32),
    ("cube_fp16in_fp32out", "Ascend910B3", F16, F32, F32),
    ("must_keep_origin_dtype", "sim", F32, F32, F32),
    ("must_keep_origin_dtype", "Ascend910B3", HF32, F32, F32),
    ("allow_fp32_to_fp16", "Ascend910B3", F16, F16, F16),
    ("allow_mix_precision", "Ascend910B3", F16, F16, F16),
    ("allow_mix_precision_bf16", "Ascend910B3", BF16, F32, BF16),
    ("allow_fp32_to_bf16", "Ascend910B3", HF32, F32, F32),
    ("allow_mix_precision_bf16", "Ascend310B1", BF16, F32, BF16),
    ("force_fp32", "Ascend310", F16, F16, F16),
]
"""Mode and SoC; dtypes of the operands, of the bias and of the result."""

X, W = [1, 16, 9, 9], [8, 16, 3, 3]


def convolution(weights: Array, bias: Array, kind: int = TensorProto.FLOAT) -> onnx.ModelProto:
    """Return a convolution with a bias."""
    x = helper.make_tensor_value_info("x", kind, X)
    y = helper.make_tensor_value_info("y", kind, [1, 8, 7, 7])
    held = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b")]
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["y"], name="conv")]
    graph = helper.make_graph(nodes, "conv", [x], [y], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def on_grid(array: Array, dtype: np.dtype[Any] | str) -> Array:
    """Return float64 values on the grid of `dtype`."""
    if isinstance(dtype, str):
        significands, exponents = np.frexp(array.astype(np.float64))
        rounded: Array = np.ldexp(np.rint(significands * 2**12), exponents - 12)
        return rounded
    return array.astype(dtype).astype(np.float64)


@pytest.mark.parametrize(("mode", "soc", "taken", "added", "given"), CASES)
def test_convolution_is_that_of_the_rounded_operands(
    mode: str,
    soc: str,
    taken: np.dtype[Any] | str,
    added: np.dtype[Any],
    given: np.dtype[Any],
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(3)
    x, w, b = (rng.standard_normal(shape).astype(np.float32) for shape in (X, W, [8]))
    onnx.save(convolution(w, b), tmp_path / "conv.onnx")
    atc_py.convert(tmp_path / "conv.onnx", tmp_path / "conv.om", soc=soc, precision_mode=mode)
    with atc_py.load(tmp_path / "conv.om") as model:
        found = model.run({"x": x})["y"]
    exact = convolution(on_grid(w, taken), on_grid(b, added), TensorProto.DOUBLE)
    (sums,) = ReferenceEvaluator(exact).run(None, {"x": on_grid(x, taken)})
    expected = on_grid(np.asarray(sums), given)
    parts = [np.abs(on_grid(each, taken)) for each in (w, b)]
    size = convolution(parts[0], parts[1], TensorProto.DOUBLE)
    (magnitudes,) = ReferenceEvaluator(size).run(None, {"x": np.abs(on_grid(x, taken))})
    bound = TERMS * 2.0**-24 * np.asarray(magnitudes)
    if given is F32:
        assert (np.abs(found - expected) <= bound).all()
        return
    assert (np.abs(found - expected) <= UNITS[given] * np.exp2(np.floor(exponent(expected)))).all()
    assert np.array_equal(on_grid(found, given), found.astype(np.float64))
    assert np.mean(found == expected) > 0.99


def exponent(values: Array) -> Array:
    """Return the exponents of `values`, those below 2^-14 as 2^-14."""
    return np.log2(np.maximum(np.abs(values), 2.0**-14))


@pytest.mark.parametrize("mode", ["force_fp32", "cube_fp16in_fp32out"])
def test_sums_of_float16_operands_are_not_those_of_float32(mode: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    x, w, b = (rng.standard_normal(shape).astype(np.float32) for shape in (X, W, [8]))
    onnx.save(convolution(w, b), tmp_path / "conv.onnx")
    results: list[Array] = []
    for each in (mode, "must_keep_origin_dtype"):
        atc_py.convert(tmp_path / "conv.onnx", tmp_path / "conv.om", precision_mode=each)
        with atc_py.load(tmp_path / "conv.om") as model:
            results.append(model.run({"x": x})["y"])
    assert np.abs(results[0] - results[1]).max() > TERMS * 2.0**-20


def test_file_in_bfloat16_compiles_for_a_soc_without_it(tmp_path: Path) -> None:
    """Keep in rows what is bfloat16: such a SoC has no TransData for it."""
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], name="conv")],
        "bfloat16",
        [
            helper.make_tensor_value_info("x", TensorProto.BFLOAT16, X),
            helper.make_tensor_value_info("w", TensorProto.BFLOAT16, W),
        ],
        [helper.make_tensor_value_info("y", TensorProto.BFLOAT16, [1, 8, 7, 7])],
    )
    opsets = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "m.onnx")
    rng = np.random.default_rng(0)
    feeds = {name: rng.integers(-3, 4, shape).astype(BF16) for name, shape in (("x", X), ("w", W))}
    atc_py.convert(tmp_path / "m.onnx", tmp_path / "m.om", precision_mode="allow_fp32_to_fp16")
    with atc_py.load(tmp_path / "m.om") as model:
        (found,) = model.run(feeds).values()
    x, w = (feeds[name].astype(np.float64) for name in ("x", "w"))
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    wanted = np.einsum("nchwij,ocij->nohw", windows, w)
    np.testing.assert_array_equal(found, wanted.astype(BF16))

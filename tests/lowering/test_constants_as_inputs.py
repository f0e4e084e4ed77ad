"""Constants give what the same numbers give as inputs: folding by ONNX's reference, and the device.

The reference is wrong in some forms of operators; those must be left to the device.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import helper, numpy_helper

import atc_py
from atc_py.diag import AtcError
from atc_py.spec import OpSpec, library
from atc_py.tensor.dtypes import DType
from tests.end_to_end import one_node_model
from tests.lowering.precise import KEEP, compiled
from tests.spec.one_node import build

Array = NDArray[Any]

DRAWN = {"Multinomial", "RandomUniform"}
"""Operators whose results are drawn."""

SPECS = [s for s in library().all() if s.example.inputs and not s.custom and s.op not in DRAWN]
NAN, INF = np.nan, np.inf


def numbers(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return small integers; many floats, whose squares add up to more than float16 holds."""
    generator = np.random.default_rng(list(shape))
    if dtype.kind in "iub":
        return generator.integers(0, 2 if dtype.kind == "b" else 3, shape).astype(dtype)
    return np.asarray(generator.standard_normal(shape) * 60).astype(dtype)


def run(model: onnx.ModelProto, feeds: Mapping[str, Array], folder: Path) -> dict[str, Array]:
    """Return the outputs, under the built-in specifications."""
    path = folder / "model.onnx"
    onnx.save(model, path)
    atc_py.convert(path, folder / "model.om", precision_mode=KEEP)
    with atc_py.load(folder / "model.om") as loaded:
        return loaded.run(feeds)


def of_constants(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> onnx.ModelProto:
    """Return the model with what is fed inside it."""
    folded = onnx.ModelProto()
    folded.CopyFrom(model)
    del folded.graph.input[:]
    weights = (numpy_helper.from_array(array, name) for name, array in feeds.items())
    folded.graph.initializer.extend(weights)
    return folded


def compare(found: Mapping[str, Array], expected: Mapping[str, Array]) -> None:
    """Check for equality but for a few roundings."""
    for name, wanted in expected.items():
        assert (found[name].dtype, found[name].shape) == (wanted.dtype, wanted.shape)
        if wanted.dtype.kind in "iub":
            np.testing.assert_array_equal(found[name], wanted)
            continue
        info = ml_dtypes.finfo(wanted.dtype)  # type: ignore[no-untyped-call]
        one, other = found[name].astype(np.float64), wanted.astype(np.float64)
        reach = float(np.abs(other[np.isfinite(other)]).max(initial=0.0))
        np.testing.assert_allclose(one, other, rtol=4 * float(info.eps), atol=1e-6 * reach)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.op)
def test_constants_give_what_inputs_give(spec: OpSpec, tmp_path: Path) -> None:
    first = spec.inputs[0]
    listed = spec.dtypes_of(first) or (DType.FLOAT32,)
    chosen = [dtype for dtype in (DType.FLOAT32, DType.FLOAT16, DType.INT32) if dtype in listed]
    for dtype in chosen or listed[:1]:
        model = build(spec, spec.opsets[-1], dtypes={first.name: dtype})
        feeds = {}
        for each in model.graph.input:
            kind = each.type.tensor_type
            shape = tuple(dim.dim_value for dim in kind.shape.dim)
            feeds[each.name] = numbers(shape, helper.tensor_dtype_to_np_dtype(kind.elem_type))
        try:
            expected = run(model, feeds, tmp_path)
        except AtcError:
            continue  # the mode has no kernel for the dtype
        compare(run(of_constants(model, feeds), {}, tmp_path), expected)


FORMS: dict[str, tuple[str, dict[str, Array], dict[str, Any], list[float]]] = {
    "log-softmax far below": (
        "LogSoftmax", {"x": np.array([0, -1000], np.float32)}, {"axis": 0}, [0, -1000]),
    "norm of integers": (
        "ReduceL2", {"x": np.array([3 * 10**9, 4 * 10**9])}, {"axes": [0]}, [5 * 10**9]),
    "norm of halves": (
        "ReduceL2", {"x": np.array([3000, 4000], np.float16)}, {"axes": [0]}, [5000]),
    "mean of halves": (
        "ReduceMean", {"x": np.array([60000, 60000], np.float16)}, {"axes": [0]}, [60000]),
    "cast of what is no number": (
        "Cast", {"x": np.array([NAN, INF, -1e9, 300.7], np.float32)}, {"to": onnx.TensorProto.INT8},
        [0, 127, -128, 127]),
    "maximum beside NaN": (
        "MaxPool", {"x": np.array([1, NAN, 2], np.float32).reshape(1, 1, 1, 3)}, {"kernel_shape": [1, 2]},
        [NAN, NAN]),
    "products of infinities": (
        "Conv", {"x": np.array([INF, 1], np.float32).reshape(1, 1, 1, 2), "w": np.zeros((1, 1, 1, 1), np.float32)},
        {}, [NAN, 0]),
    "last of a length with a fraction": (
        "Resize",
        {"x": np.array([0, 10, 20, 30], np.float32), "roi": np.array([], np.float32), "scales": np.array([1.3], np.float32)},
        {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
        [0, 7.5, 15, 22.5, 30]),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_what_the_reference_gets_wrong_is_left_to_the_device(form: str) -> None:
    op_type, operands, attributes, expected = FORMS[form]
    opset = 11 if op_type == "Resize" else 13
    model = one_node_model(op_type, {}, opset, constants=operands, **attributes)
    (found,) = compiled(model, {}).values()
    np.testing.assert_array_equal(found.reshape(-1), np.array(expected, found.dtype))


def test_recurrent_layer_of_constants_reads_its_lengths() -> None:
    """Check zeros after the end of a sequence; the reference knows no sequence_lens."""
    x = np.ones((3, 1, 2), np.float32)
    constants = {
        "x": x,
        "w": np.full((1, 12, 2), 0.5, np.float32),
        "r": np.full((1, 12, 3), 0.25, np.float32),
        "b": np.zeros((1, 24), np.float32),
        "lengths": np.array([1], np.int32),
    }
    model = one_node_model("LSTM", {}, 13, constants=constants, outputs=1, hidden_size=3)
    (found,) = compiled(model, {}).values()
    assert (found[0] != 0).all()
    assert (found[1:] == 0).all()

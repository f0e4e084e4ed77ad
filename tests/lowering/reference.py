"""A model of one node held to a formula in double or exact integers, and to onnxruntime.

The formula sees the operands in the dtype that the precision mode computes in. Results may then
be apart by what `tests.device.tolerances` allows a single rounding; a chain of nodes says how
many it has.
"""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as errors

from atc_py.tensor.dtypes import DType
from tests.device.tolerances import assert_close
from tests.end_to_end import run_with_atc_py, run_with_onnxruntime

Array = NDArray[Any]


KEEP = "must_keep_origin_dtype"
MODES = (KEEP, "force_fp16")

_NARROWED = {DType.FLOAT32, DType.BFLOAT16}
_RELATIVE = 2e-5
"""Share of an output's largest magnitude by which float32 may differ from onnxruntime."""


def run_in_mode(model: onnx.ModelProto, feeds: Mapping[str, Array], mode: str) -> Array:
    """Return the only output of `model`, under the built-in specifications."""
    with tempfile.TemporaryDirectory() as folder:
        (found,) = run_with_atc_py(model, feeds, Path(folder), precision_mode=mode).values()
    return found


def agree_with_formula(
    model: onnx.ModelProto, feeds: Mapping[str, Array], formula: Callable[..., Any]
) -> None:
    """Check that both modes give what `formula` makes of the operands."""
    for mode in MODES:
        found = run_in_mode(model, feeds, mode)
        operands = [operand(array, mode) for array in feeds.values()]
        with np.errstate(all="ignore"):
            expected = np.asarray(formula(*operands))
        assert_close(*comparable(found, expected, mode))


def agree_with_onnxruntime(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> None:
    """Check that both give the same with nothing narrowed, where onnxruntime has a kernel."""
    try:
        (expected,) = run_with_onnxruntime(model, feeds).values()
    except errors.NotImplemented:
        return
    found = run_in_mode(model, feeds, KEEP)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    if expected.dtype == np.float32:
        reach = float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0))
        np.testing.assert_allclose(found, expected, rtol=0, atol=_RELATIVE * reach)
    else:
        assert_close(found, expected, DType.from_numpy(expected.dtype))


def operand(array: Array, mode: str) -> Array:
    """Return an operand as `mode` computes with it: floats in double, the rest as it is."""
    dtype = DType.from_numpy(array.dtype)
    if not dtype.is_float:
        return array
    if mode != KEEP and dtype in _NARROWED:
        with np.errstate(over="ignore"):
            array = array.astype(np.float16)
    return array.astype(np.float64)


def comparable(found: Array, expected: Array, mode: str) -> tuple[Array, Array, DType]:
    """Return the operands of `assert_close`: a narrowed result is compared as float16."""
    dtype = DType.from_numpy(found.dtype)
    if mode != KEEP and dtype is DType.FLOAT32:
        with np.errstate(over="ignore"):
            narrow = found.astype(np.float16)
        return narrow, expected, DType.FLOAT16
    if not dtype.is_float:
        assert expected.dtype == found.dtype
    return found, expected, dtype

"""Cube operators that take 16-bit floats and return the float32 sums."""

import ml_dtypes
import numpy as np
import pytest

from atc_py.tensor.dtypes import DType
from tests.device.models import Array, run_operator
from tests.device.nodes import refusal

F16, F32 = np.float16, np.float32
PLAIN = {"transpose_x1": False, "transpose_x2": False, "offset_x": 0}


@pytest.mark.parametrize("dtype", [F16, ml_dtypes.bfloat16])
def test_sums_are_not_rounded_to_the_operands_dtype(dtype: type) -> None:
    a: Array = np.array([[1.0, 2.0**-6]], dtype)
    bias = np.array([2.0**-20], F32)
    (found,) = run_operator("MatMulV2", [a, a.T.copy(), bias], [(DType.FLOAT32, [1, 1])], PLAIN)
    assert found.dtype == F32
    assert found[0, 0] == 1 + 2.0**-12 + 2.0**-20


def test_bias_of_float32_sums_is_float32() -> None:
    a, bias = np.ones((1, 1), F16), np.ones(1, F16)
    text = refusal("MatMulV2", [a, a, bias], [(DType.FLOAT32, [1, 1])], PLAIN)
    assert "bias must be float32 with float32 sums, found float16" in text


def test_operands_of_float32_sums_have_one_dtype() -> None:
    a, b = np.ones((1, 1), F16), np.ones((1, 1), F32)
    text = refusal("MatMulV2", [a, b], [(DType.FLOAT32, [1, 1])], PLAIN)
    assert "inputs must have the same dtype" in text

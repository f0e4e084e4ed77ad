"""Comparisons, logic, choices and bits on onnxruntime."""

import numpy as np
import pytest

from atc_py.tensor.dtypes import DType
from tests.device.models import INTEGERS, Array
from tests.device.ort.single import agree
from tests.device.ort.units import FLOATS, numbers

BOOL = DType.BOOL


def values(dtype: DType) -> Array:
    """Return numbers with the ends of the range, and NaN and infinities of floats."""
    if dtype.is_float:
        return numbers(dtype)[-60:]
    limits = np.iinfo(dtype.numpy)
    small = np.arange(0 if limits.min == 0 else -20, 70).astype(dtype.numpy)
    ends = np.array([limits.min, limits.min + 1, limits.max // 2, limits.max], dtype.numpy)
    return np.concatenate([small, ends])


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("op", ["Equal", "Greater", "GreaterEqual", "Less", "LessEqual"])
def test_comparisons_are_equal(op: str, dtype: DType) -> None:
    x = values(dtype)
    agree(op, [x[:, None], x], [(BOOL, (x.size, x.size))])


def test_bools_are_compared_and_combined() -> None:
    x = np.array([True, False])
    for op in ("Equal", "LogicalAnd", "LogicalOr"):
        agree(op, [x[:, None], x], [(BOOL, (2, 2))])
    agree("LogicalNot", [x], [(BOOL, (2,))])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["IsInf", "IsNan"])
def test_special_values_are_found(op: str, dtype: DType) -> None:
    x = numbers(dtype)
    agree(op, [x], [(BOOL, x.shape)])


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, BOOL])
def test_choices_are_equal(dtype: DType) -> None:
    x = np.array([True, False, True]) if dtype is BOOL else values(dtype)
    chosen = np.arange(x.size) % 3 == 0
    agree("SelectV2", [chosen, x, x[::-1].copy()], [(dtype, x.shape)])
    agree("SelectV2", [chosen[:, None], x, x[:1]], [(dtype, (x.size, x.size))])


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", ["BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift"])
def test_bits_of_two_are_equal(op: str, dtype: DType) -> None:
    x = values(dtype)
    agree(op, [x[:, None], x], [(dtype, (x.size, x.size))])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_inverted_bits_are_equal(dtype: DType) -> None:
    x = values(dtype)
    agree("Invert", [x], [(dtype, x.shape)])

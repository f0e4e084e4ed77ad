"""Triangles, diagonals, bits and questions about elements: their corners, and what kernels refuse."""

import numpy as np
import pytest

from atc_py.tensor.dtypes import DType
from tests.device.models import Array, Attributes, run_operator
from tests.device.nodes import refusal

F16, F32, I8, I32, BOOL = DType.FLOAT16, DType.FLOAT32, DType.INT8, DType.INT32, DType.BOOL
X = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)
DIAGONALS = (-(2**40), -5, -3, -1, 0, 1, 3, 4, 2**40)


@pytest.mark.parametrize("upper", [0, 1])
def test_triangle_begins_at_any_diagonal(upper: int) -> None:
    cut = np.triu if upper else np.tril
    for k in DIAGONALS:
        number = np.array(k, np.int64)
        for constants in ([1], []):  # known, or in the run
            (y,) = run_operator("Trilu", [X, number], [(F32, X.shape)], {"upper": upper}, constants)
            np.testing.assert_array_equal(y, cut(X, int(np.clip(k, -9, 9))))


def test_number_that_is_cut_off_leaves_zero_whatever_it_is() -> None:
    x = np.array([[np.nan, 1], [-np.inf, np.nan]], np.float16)
    (y,) = run_operator("Trilu", [x], [(F16, (2, 2))], {"upper": 1})
    np.testing.assert_array_equal(y, np.array([[np.nan, 1], [0, np.nan]], np.float16))
    assert not np.signbit(y[1, 0])


@pytest.mark.parametrize("k", [-3, -1, 0, 2, 5])
def test_diagonals_are_put_into_matrices(k: int) -> None:
    length = max(0, min(3 + min(k, 0), 5 - max(k, 0)))
    diagonal = np.arange(1, 2 * length + 1, dtype=np.float32).reshape(2, length)
    numbers = [np.array(number, np.int32) for number in (k, 3, 5)]
    inputs: list[Array | None] = [diagonal, *numbers, np.array(-1, np.float32)]
    (y,) = run_operator("MatrixDiagV2", inputs, [(F32, (2, 3, 5))], constants=[1, 2, 3])
    expected = np.full((2, 3, 5), -1, np.float32)
    for at in range(length):
        expected[:, at - min(k, 0), at + max(k, 0)] = diagonal[:, at]
    np.testing.assert_array_equal(y, expected)


def _numbers(*values: int) -> list[Array]:
    return [np.array(value, np.int32) for value in values]


REFUSED: list[tuple[str, list[Array], tuple[DType, tuple[int, ...]], Attributes, str]] = [
    ("Trilu", [X[0, 0]], (F32, (4,)), {"upper": 1}, "x must have 2 axes or more"),
    ("Trilu", [X, np.zeros(2, np.int64)], (F32, X.shape), {}, "k must be one number, found int64 2"),
    ("Trilu", [X, np.ones(1, np.float32)], (F32, X.shape), {}, "k must be an integer, found float32 1"),
    (
        "MatrixDiagV2", [X[0, 0], *_numbers(0, 3, 3), np.array(0, np.float32)], (F32, (3, 3)), {},
        "diagonals of 3 elements are needed, found float32 4",
    ),
    (
        "MatrixDiagV2", [X[0, 0], *_numbers(0, -4, 4), np.array(0, np.float32)], (F32, (4, 4)), {},
        "needs rows and columns, found -4 and 4",
    ),
    (
        "MatrixDiagV2", [X[0, 0], *_numbers(0, 4, 4), np.array(0, np.int8)], (F32, (4, 4)), {},
        "inputs must have the same dtype",
    ),
    (
        "MatrixDiagV2", [X[0, 0], np.zeros(2, np.int32), *_numbers(4, 4), np.array(0, np.float32)],
        (F32, (4, 4)), {}, "k must be one integer, found int32 2",
    ),
    ("BitwiseAnd", [X, X], (F32, X.shape), {}, "computes integers, found float32"),
    ("Invert", [X > 0], (BOOL, X.shape), {}, "computes integers, found bool"),
    ("LeftShift", [np.zeros(3, np.int8), np.zeros(2, np.int8)], (I8, (3,)), {}, "broadcast"),
    ("IsInf", [np.zeros(3, np.int32)], (BOOL, (3,)), {}, "computes floats, found int32"),
    ("IsNan", [X[0, 0]], (F32, (4,)), {}, "the result is bool 4"),
    ("Tan", [np.zeros(3, np.int8)], (I8, (3,)), {}, "computes floats, found int8"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "inputs", "output", "attributes", "reason"), REFUSED)
def test_bad_node_is_refused(
    op: str,
    inputs: list[Array],
    output: tuple[DType, tuple[int, ...]],
    attributes: Attributes,
    reason: str,
) -> None:
    constants = range(1, len(inputs)) if op in {"MatrixDiagV2", "Trilu"} else ()
    assert reason in refusal(op, inputs, [output], attributes, list(constants))

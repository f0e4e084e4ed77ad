"""Reductions, positions, running sums, largest elements: what kernels do alone, and refuse."""

import numpy as np
import pytest

from atc_py.diag import AtcError
from atc_py.tensor.dtypes import DType
from tests.device.models import Array, Attributes, random_array, run_operator
from tests.device.nodes import refusal
from tests.failures import in_one_item

X = random_array(1, (2, 3))
TRUTHS = np.ones((2, 3), bool)
F32, I32, I64, BOOL = DType.FLOAT32, DType.INT32, DType.INT64, DType.BOOL


@in_one_item(
    ("op", "x", "attributes", "reason"),
    [
        ("ReduceSumD", X, {"axes": [2]}, "axis must be in [-2, 1], found 2"),
        ("ReduceSumD", X, {"axes": [1, -1]}, "axes must differ, found [1, 1]"),
        ("ReduceSumD", TRUTHS, {"axes": [1]}, "computes numbers, found bool"),
        ("ReduceMeanD", np.ones((2, 3), np.int32), {"axes": [1]}, "computes floats, found int32"),
        ("LpNorm", X, {"axes": [1], "p": 3}, "p must be 1 or 2, found 3"),
        ("LpNorm", TRUTHS, {"axes": [1]}, "computes numbers, found bool"),
        ("SquareSumV1", X, {"axis": [-3]}, "axis must be in [-2, 1], found -3"),
        ("ArgMaxD", X, {"dimension": 2}, "axis must be in [-2, 1], found 2"),
        ("ArgMinD", X, {"dimension": 1, "dtype": "float32"}, "must be integers, found float32"),
        ("ArgMaxD", X[:, :0], {"dimension": 1}, "axis 1 must have elements"),
        ("CumsumD", X, {"axis": 2}, "axis must be in [-2, 1], found 2"),
        ("CumsumD", TRUTHS, {"axis": 1}, "computes numbers, found bool"),
    ],
)
def test_bad_node_is_refused(op: str, x: Array, attributes: Attributes, reason: str) -> None:
    assert reason in refusal(op, [x], [(DType.from_numpy(x.dtype), (2,))], attributes)


def test_result_of_another_shape_is_refused() -> None:
    found = refusal("ReduceMaxD", [X], [(F32, (2,))], {"axes": [1], "keep_dims": True})
    assert found == "the result is float32 2x1, but float32 2 is declared"


@pytest.mark.parametrize(
    ("k", "constants", "reason"),
    [
        (4, [1], "k must be in [0, 3], found 4"),
        (-1, [1], "k must be in [0, 3], found -1"),
    ],
)
def test_count_of_top_k_is_held_to_the_axis(k: int, constants: list[int], reason: str) -> None:
    types = [(F32, (2, 2)), (I32, (2, 2))]
    assert reason in refusal("TopK", [X, np.array([k])], types, None, constants)


def test_axis_that_the_run_gives_is_held_to_the_rank() -> None:
    types = [(F32, (2, 3))]
    assert "axis must be one integer" in refusal("Cumsum", [X, np.zeros(2, np.int64)], types)
    assert "axis must be one integer" in refusal("Cumsum", [X, np.zeros((), np.float32)], types)
    with pytest.raises(AtcError, match=r"axis must be in \[-2, 1\], found 5"):
        run_operator("Cumsum", [X, np.array(5)], types)


@pytest.mark.parametrize(
    ("op", "dtype", "expected"),
    [
        ("ReduceMaxD", F32, -np.inf),
        ("ReduceMinD", F32, np.inf),
        ("ReduceMaxD", I32, -(2**31)),
        ("ReduceMinD", I32, 2**31 - 1),
        ("ReduceMaxD", BOOL, False),
        ("ReduceSumD", F32, 0),
        ("ReduceProdD", I64, 1),
    ],
)
def test_reduction_of_nothing(op: str, dtype: DType, expected: float) -> None:
    x = np.zeros((2, 0), dtype.numpy)
    (y,) = run_operator(op, [x], [(dtype, (2,))], {"axes": [1]})
    assert y.tolist() == [expected] * 2


def test_largest_of_truths_is_whether_one_is_true() -> None:
    x = np.array([[True, False], [False, False]])
    (y,) = run_operator("ReduceMaxD", [x], [(BOOL, (2,))], {"axes": [1]})
    assert y.tolist() == [True, False]


def test_norm_is_at_least_epsilon() -> None:
    x = np.array([[0, 0], [3, 4]], np.float32)
    (y,) = run_operator("LpNorm", [x], [(F32, (2,))], {"axes": [1], "epsilon": 0.5})
    assert y.tolist() == [0.5, 5]


def test_square_of_float16_does_not_overflow_between() -> None:
    x = np.full((1, 4), 30000, np.float16)
    (y,) = run_operator("LpNorm", [x], [(DType.FLOAT16, (1,))], {"axes": [1]})
    assert y.item() == 60000


def test_top_0_is_nothing() -> None:
    types = [(F32, (2, 0)), (I32, (2, 0))]
    values, positions = run_operator("TopK", [X, np.array([0])], types, None, [1])
    assert values.size == positions.size == 0

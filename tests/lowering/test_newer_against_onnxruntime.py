"""Functions, logic and matrices that only the list of CANN 9.0 has, against onnxruntime."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.tensor.dtypes import DType
from tests.device.tolerances import assert_close
from tests.end_to_end import run_with_onnxruntime
from tests.lowering.newer_list import Case, feeds_of, model_of, run_on_list

Array = NDArray[Any]

INF, NAN = np.inf, np.nan
RANDOM = np.random.default_rng(8)
X = RANDOM.uniform(-4, 4, (2, 3, 5)).astype(np.float32)
SPECIAL = np.array([0.0, -0.0, 0.5, -0.5, 3.0, -3.0, 1e30, INF, -INF, NAN], np.float32)


def case(op_type: str, *inputs: Array, **given: Any) -> Case:
    """Return a node without a formula of its own."""
    return Case(op_type, inputs, np.asarray, given)


def integers(dtype: type[Any], *shape: int) -> Array:
    """Return integers of the dtype's whole range."""
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def functions() -> Iterator[Case]:
    """Yield functions of floats, and questions about them."""
    yield case("Tan", X / 4)
    for x in (X, SPECIAL):
        yield case("HardSwish", x)
        yield case("IsNaN", x)
        for lambd, bias in ((0.5, 0.0), (1.5, 0.25), (0.0, -1.0)):
            yield case("Shrink", x, lambd=lambd, bias=bias)
        for (negative, positive), dtype in itertools.product(
            itertools.product((0, 1), repeat=2), (np.float32, np.float64)
        ):
            signs = {"detect_negative": negative, "detect_positive": positive}
            yield case("IsInf", x.astype(dtype), **signs)


def bits() -> Iterator[Case]:
    """Yield arithmetic of bits and truth values."""
    for op_type in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        for dtype in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint64):
            yield case(op_type, integers(dtype, 2, 3, 4), integers(dtype, 3, 1))
    yield from (case("BitwiseNot", integers(dtype, 7)) for dtype in (np.int8, np.uint16, np.int64))
    for dtype, way in itertools.product(
        (np.uint8, np.uint16, np.uint32, np.uint64), ("LEFT", "RIGHT")
    ):
        by = RANDOM.integers(0, np.iinfo(dtype).bits, (3, 1)).astype(dtype)
        yield case("BitShift", integers(dtype, 3, 4), by, direction=way)
    yield case("Xor", X[0] > 0, X[1] > 0)
    yield case("Xor", X > 0, X[0, :1] > 1)


def matrices() -> Iterator[Case]:
    """Yield triangles and unit matrices."""
    for dtype, upper in itertools.product((np.float32, np.int64, np.float64, np.bool_), (0, 1)):
        yield case("Trilu", (X * 2).astype(dtype), upper=upper)
        yield case("Trilu", (X[:, 0] * 2).astype(dtype), upper=upper)
    for dtype, shape in itertools.product(
        (np.float32, np.int64, np.int32), ((3, 3), (2, 5), (5, 2))
    ):
        yield case("EyeLike", np.zeros(shape, dtype))
        yield case("EyeLike", np.zeros(shape, dtype), dtype=6)


@pytest.mark.parametrize("cases", [functions, bits, matrices])
def test_results_are_those_of_onnxruntime(cases: Any) -> None:
    nodes = list(cases())
    expected = run_with_onnxruntime(model_of(nodes, 18), feeds_of(nodes)).values()
    for found, wanted in zip(run_on_list(nodes, 18), expected, strict=True):
        assert_close(found, wanted, DType.from_numpy(wanted.dtype))

"""Bounds of Clip that are absent, at each opset and in each float dtype: what infinities become."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.tensor.dtypes import DType
from tests.end_to_end import one_node_model
from tests.lowering.precise import KEEP, NARROW, compiled

Array = NDArray[Any]

F16, F32, BF16 = DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16
INF, NAN = np.inf, np.nan
LINE = np.array([-INF, -7e4, -65504.0, -1.0, -0.0, 1.0, 65504.0, 7e4, INF, NAN])


def clipped(opset: int, dtype: DType, low: float | None, high: float | None, mode: str) -> Array:
    """Return `LINE`, clipped by bounds that may be absent."""
    with np.errstate(over="ignore"):
        x = LINE.astype(dtype.numpy)
    given: dict[str, Any] = {name: n for name, n in (("min", low), ("max", high)) if n is not None}
    if opset < 11:
        model = one_node_model("Clip", {"x": x}, opset, **given)
    else:
        order = ["x", *(name if name in given else "" for name in ("min", "max"))]
        bounds = {name: np.array(n).astype(dtype.numpy) for name, n in given.items()}
        model = one_node_model("Clip", {"x": x}, opset, constants=bounds, order=order)
    (found,) = compiled(model, {"x": x}, mode).values()
    return found


@pytest.mark.parametrize("bounds", [(None, None), (0.0, None), (None, 6.0)])
@pytest.mark.parametrize("opset", [6, 8, 10, 11])
def test_infinities_pass_an_absent_bound(
    opset: int, bounds: tuple[float | None, float | None]
) -> None:
    """Check absent bounds, the limits of float32, which 16 bits hold as infinities."""
    for dtype, mode in ((F16, KEEP), (F16, NARROW), (BF16, KEEP), (F32, NARROW)):
        if dtype is BF16 and opset > 10:
            continue  # onnx infers no shape of it there
        found = clipped(opset, dtype, *bounds, mode).astype(np.float64)
        with np.errstate(over="ignore"):
            narrow = np.float16 if mode == NARROW else dtype.numpy
            line = LINE.astype(narrow).astype(np.float64)
        low, high = (-INF if bounds[0] is None else bounds[0]), bounds[1]
        np.testing.assert_array_equal(found, line.clip(low, INF if high is None else high))


@pytest.mark.parametrize("opset", [12, 13])
def test_absent_bound_is_a_limit_of_the_dtype_itself_as_of_opset_12(opset: int) -> None:
    with np.errstate(over="ignore"):
        line = LINE.astype(np.float16).astype(np.float64)
    found = clipped(opset, F16, None, None, KEEP).astype(np.float64)
    np.testing.assert_array_equal(found, line.clip(-65504, 65504))
    # In a model of float32 the limits are those of float32, whatever a mode computes in.
    found = clipped(opset, F32, None, None, NARROW).astype(np.float64)
    np.testing.assert_array_equal(found, line)


@pytest.mark.parametrize("opset", [6, 10, 11, 13])
def test_absent_bound_of_float32_is_its_largest_number(opset: int) -> None:
    largest = float(np.finfo(np.float32).max)
    found = clipped(opset, F32, None, 1.0, KEEP)
    np.testing.assert_array_equal(
        found[[0, 1, -2, -1]], np.array([-largest, -7e4, 1.0, NAN], np.float32)
    )


def test_bound_beyond_float16_bounds_nothing() -> None:
    found = clipped(13, F32, -1e6, 1e6, NARROW)
    np.testing.assert_array_equal(
        found[[0, 1, -3, -2]], np.array([-INF, -INF, INF, INF], np.float32)
    )

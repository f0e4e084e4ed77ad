"""Functions of each element that only the list of CANN 9.0 has, against their definitions."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.lowering.newer_list import Case, hold_to_formulas, opsets_of

Array = NDArray[Any]

INF, NAN = np.inf, np.nan
FLOATS = (np.float16, np.float32)
SPECIAL = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 3.0, -3.0, 1e-7, -1e-7, 60000.0, -60000.0]


def floats(dtype: type[Any], bounds: tuple[float, float] = (-9, 9)) -> list[Array]:
    """Return a tensor of three axes, special numbers in a vector, one number, and none."""
    generator = np.random.default_rng(4)
    special = [*(n for n in SPECIAL if bounds[0] <= n <= bounds[1]), INF, -INF, NAN]
    return [
        generator.uniform(*bounds, (2, 3, 5)).astype(dtype),
        np.array(special, dtype),
        np.array(0.75, dtype),
        np.zeros((0, 3), dtype),
    ]


def _hard_swish(x: Array) -> Array:
    return np.asarray(x * np.clip(x / 6 + 0.5, 0, 1))


def _shrink(lambd: float, bias: float) -> Any:
    return lambda x: np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0))


@pytest.mark.parametrize("opset", opsets_of("HardSwish"))
def test_hard_swish_is_x_times_its_gate(opset: int) -> None:
    cases = [Case("HardSwish", [x], _hard_swish) for dtype in FLOATS for x in floats(dtype)]
    hold_to_formulas(cases, opset)


@pytest.mark.parametrize("opset", opsets_of("Tan"))
def test_tan_is_the_tangent(opset: int) -> None:
    cases = [Case("Tan", [x], np.tan) for dtype in FLOATS for x in floats(dtype, (-1.5, 1.5))]
    angles = np.arange(-9, 10, dtype=np.int32)
    cases.append(Case("Tan", [angles], lambda x: np.trunc(np.tan(x)).astype(np.int32)))
    hold_to_formulas(cases, opset)


@pytest.mark.parametrize("opset", opsets_of("Shrink"))
def test_shrink_moves_what_it_keeps_toward_zero(opset: int) -> None:
    attributes: list[dict[str, float]] = [
        {},
        {"lambd": 1.5},
        {"bias": 0.25},
        {"lambd": 0.0, "bias": -1.0},
        {"lambd": -0.5, "bias": 0.5},
    ]
    cases = [
        Case("Shrink", [x], _shrink(given.get("lambd", 0.5), given.get("bias", 0.0)), given)
        for given in attributes
        for dtype in FLOATS
        for x in floats(dtype)
    ]
    hold_to_formulas(cases, opset)

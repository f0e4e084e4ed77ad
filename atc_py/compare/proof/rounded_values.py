"""Steps of float dtypes, and data moved by one."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOAT32_STEP = 2.0**-23
_BFLOAT16_STEP = 2.0**-7


def is_float(dtype: np.dtype[Any]) -> bool:
    """True for numpy's own floats, and for bfloat16."""
    return dtype.kind == "f" or dtype.name == "bfloat16"


def step_of(dtype: np.dtype[Any]) -> float:
    """The step of a float dtype at 1; that of float32 for other dtypes."""
    if dtype.name == "bfloat16":
        return _BFLOAT16_STEP
    return float(np.finfo(dtype).eps) if dtype.kind == "f" else FLOAT32_STEP


def moved(values: NDArray[Any], seed: int, least: float = 0.0) -> NDArray[Any]:
    """Floats moved by one step, up or down at random; other data as they are.

    Args:
        values: the data.
        seed: of the directions.
        least: the part of each value that it moves by at least.
    """
    if not is_float(values.dtype):
        return values
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], values.shape)
    share = max(step_of(values.dtype), least)
    with np.errstate(all="ignore"):
        return np.asarray(values * (1 + signs * share)).astype(values.dtype)

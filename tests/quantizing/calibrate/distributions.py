"""Values as layers have them: the distributions on which calibrators are compared."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.quantizing.calibrate.value_range import ActivationScale

NAMES = (
    "gauss",
    "relu gauss",
    "laplace",
    "relu laplace",
    "student t3",
    "gelu",
    "hswish",
    "outliers",
    "softmax",
)


def values(name: str, count: int = 200_000, seed: int = 1) -> NDArray[np.float32]:
    """Return `count` values of a distribution; for softmax the next multiple of 64 below."""
    rng = np.random.default_rng(seed)
    gauss = rng.standard_normal(count)
    laplace = rng.laplace(size=count)
    found: NDArray[Any]
    match name:
        case "gauss":
            found = gauss
        case "relu gauss":
            found = np.maximum(gauss, 0)
        case "laplace":
            found = laplace
        case "relu laplace":
            found = np.maximum(laplace, 0)
        case "student t3":
            found = rng.standard_t(3, count)
        case "gelu":
            found = gauss * 0.5 * (1 + np.array([math.erf(x) for x in gauss / math.sqrt(2)]))
        case "hswish":
            found = gauss * np.clip(gauss + 3, 0, 6) / 6
        case "outliers":
            found = np.where(rng.random(count) < 0.001, 40 * gauss, gauss)
        case "softmax":
            powers = np.exp(rng.standard_normal((count // 64, 64)))
            found = powers / powers.sum(axis=1, keepdims=True)
        case _:
            raise ValueError(name)
    return found.astype(np.float32).ravel()


def f32(numbers: Any) -> NDArray[np.float32]:
    """Return numbers in lists as an array of float32."""
    return np.array(numbers, np.float32)


def fake_quantized(array: NDArray[Any], found: ActivationScale) -> NDArray[np.float32]:
    """The values that the codes of an array stand for: (sat(round(x / s) + o) - o) * s."""
    scale = np.float32(found.scale)
    steps = np.rint(array.astype(np.float32, copy=False) / scale)
    kept: NDArray[np.float32] = np.clip(steps, -128 - found.offset, 127 - found.offset) * scale
    return kept

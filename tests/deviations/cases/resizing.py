"""Resize: positions that CANN's kernels take elements from."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.deviations.case import DeviatingNode, DeviationCase, deviation

Array = npt.NDArray[Any]
Place = Callable[[int, int, int], float]

_RANDOM = np.random.default_rng(7)
IMAGE = _RANDOM.standard_normal((1, 2, 4, 6)).astype(np.float32)
NO_NUMBERS = np.empty(0, np.float32)
ROI = np.array([0, 0, 0.25, 0.25, 1, 1, 0.75, 0.75], np.float32)


def resize(
    coordinates: str,
    scales: Sequence[float] = (1, 1, 2, 2),
    opset: int = 11,
    x: Array = IMAGE,
    roi: Array = NO_NUMBERS,
    **attributes: Any,
) -> DeviatingNode:
    constants = {"roi": roi, "scales": np.array(scales, np.float32)}
    given = {"coordinate_transformation_mode": coordinates, **attributes}
    return DeviatingNode("Resize", opset, (x,), given, constants)


def at_opset_10(mode: str, *scales: float) -> DeviatingNode:
    constants = {"scales": np.array(scales, np.float32)}
    return DeviatingNode("Resize", 10, (IMAGE,), {"mode": mode}, constants)


def floor_of_step(i: int, size: int, count: int) -> float:
    return i * size // count


def floor_of_half(i: int, size: int, count: int) -> float:
    return (2 * i + 1) * size // (2 * count)


def even_of_corners(i: int, size: int, count: int) -> float:
    return round(i * (size - 1) / (count - 1))


def upper_of_corners(i: int, size: int, count: int) -> float:
    return (2 * i * (size - 1) + count - 1) // (2 * (count - 1))


def place_of_step(i: int, size: int, count: int) -> float:
    return i * size / count


def place_of_half(i: int, size: int, count: int) -> float:
    return (i + 0.5) * size / count - 0.5


def taken(height: int, width: int, place: Place) -> Callable[[Array], Array]:
    """Return the formula of a result whose elements are at places in X, between two of which they mix."""

    def along(x: Array, axis: int, count: int) -> Array:
        size = x.shape[axis]
        parts = []
        for i in range(count):
            at = min(max(place(i, size, count), 0), size - 1)
            low = int(at)
            high = min(low + 1, size - 1)
            parts.append(x.take(low, axis) * (1 - (at - low)) + x.take(high, axis) * (at - low))
        return np.stack(parts, axis)

    return lambda x: along(along(x, 2, height), 3, width)


def three_times(coordinates: str, **attributes: Any) -> DeviatingNode:
    return resize(coordinates, (1, 1, 3, 3), **attributes)


for _generation, _list, _row, _hit, _near, _cann in (
    (
        5,
        "base",
        "nearest-mode-ignored",
        three_times("asymmetric"),
        three_times("asymmetric", nearest_mode="floor"),
        taken(12, 18, floor_of_step),
    ),
    (
        6,
        "cann-9.0",
        "nearest-mode-ignored",
        resize("half_pixel", (1, 1, 0.75, 0.5)),
        resize("half_pixel"),
        taken(3, 3, floor_of_step),
    ),
    (
        7,
        "cann-9.0",
        "nearest-mode-ignored",
        resize("pytorch_half_pixel", (1, 1, 0.5, 0.5)),
        resize("pytorch_half_pixel", (1, 1, 0.5, 0.5), nearest_mode="round_prefer_ceil"),
        taken(2, 3, floor_of_half),
    ),
    (
        8,
        "base",
        "nearest-mode-ignored-half-pixel",
        resize("align_corners", (1, 1, 1.75, 1), nearest_mode="ceil"),
        resize("align_corners", (1, 1, 2.5, 1), nearest_mode="round_prefer_floor"),
        taken(7, 6, even_of_corners),
    ),
    (
        9,
        "cann-9.0",
        "nearest-mode-ignored-half-pixel",
        resize("half_pixel", (1, 1, 0.5, 0.5)),
        resize("half_pixel", (1, 1, 0.5, 0.5), nearest_mode="round_prefer_ceil"),
        taken(2, 3, floor_of_half),
    ),
    (
        5,
        "base",
        "linear-as-asymmetric",
        resize("half_pixel", mode="linear"),
        resize("pytorch_half_pixel", mode="linear"),
        taken(8, 12, place_of_step),
    ),
    (
        6,
        "base",
        "linear-as-asymmetric",
        at_opset_10("linear", 1, 1, 1.4, 1),
        at_opset_10("linear", 1, 1, 1.5, 1),
        taken(5, 6, place_of_step),
    ),
    (
        7,
        "cann-9.0",
        "linear-as-asymmetric",
        resize("pytorch_half_pixel", (1, 1, 0.25, 1), mode="linear"),
        resize("align_corners", (1, 1, 0.25, 1), mode="linear"),
        taken(1, 6, place_of_half),
    ),
    (
        9,
        "cann-9.0",
        "linear-as-asymmetric",
        resize(
            "tf_crop_and_resize",
            (1, 1, 2, 2),
            mode="linear",
            roi=ROI,
        ),
        resize("align_corners", mode="linear"),
        taken(8, 12, place_of_step),
    ),
    (
        9,
        "base",
        "linear-at-opset-10",
        at_opset_10("linear", 1, 1, 2, 2),
        at_opset_10("nearest", 1, 1, 2, 2),
        None,
    ),
    (
        5,
        "base",
        "four-dims-only",
        resize("asymmetric", (1, 1, 2), x=IMAGE[0]),
        resize("asymmetric"),
        None,
    ),
    (
        9,
        "cann-9.0",
        "four-dims-only",
        resize("asymmetric", (1, 1, 2), x=IMAGE[0]),
        resize("asymmetric", (1, 1, 2), x=IMAGE[0], mode="linear"),
        None,
    ),
    (
        6,
        "cann-9.0",
        "four-dims-only-linear",
        resize("asymmetric", (1, 1, 2), x=IMAGE[0], mode="linear"),
        resize("asymmetric", mode="linear"),
        None,
    ),
    (
        5,
        "base",
        "batch-and-channels-kept",
        resize("asymmetric", (1, 2, 2, 2)),
        resize("asymmetric"),
        None,
    ),
    (
        9,
        "cann-9.0",
        "batch-and-channels-kept",
        resize("asymmetric", (2, 1, 2, 2)),
        resize("asymmetric", (1, 2, 2, 2), mode="linear"),
        None,
    ),
    (
        6,
        "base",
        "batch-and-channels-kept-linear",
        resize("asymmetric", (1, 2, 2, 2), mode="linear"),
        resize("asymmetric", mode="linear"),
        None,
    ),
):
    deviation(DeviationCase(f"Resize/{_row}", _generation, _hit, _near, _cann, _list))
deviation(
    DeviationCase(
        "Resize/nearest-mode-ignored-ties-up",
        9,
        resize("align_corners", (1, 1, 1.75, 1)),
        resize("align_corners", (1, 1, 1.75, 1), nearest_mode="round_prefer_ceil"),
        taken(7, 6, upper_of_corners),
        "cann-9.0",
        soc="Ascend950PR_9599",
    )
)

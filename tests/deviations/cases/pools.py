"""Pools: paddings, large windows and windows that begin in the padding."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.deviations.case import DeviatingNode, DeviationCase, deviation

Array = npt.NDArray[Any]
Pooled = tuple[Array, Mapping[str, Any]]

_RANDOM = np.random.default_rng(11)
IMAGE = _RANDOM.standard_normal((1, 2, 6, 7)).astype(np.float32)
SIGNAL = _RANDOM.standard_normal((1, 2, 6)).astype(np.float32)
LARGE = _RANDOM.standard_normal((1, 2, 18, 18)).astype(np.float32)
VOLUME = _RANDOM.standard_normal((1, 2, 4, 4, 4)).astype(np.float32)
LOW = np.where(np.arange(18) < 17, -np.inf, LARGE).astype(np.float16)
"""Windows in the first column see nothing but -inf, and padding."""

WINDOW = [16, 16]
PADS = {"kernel_shape": WINDOW, "pads": [1, 1, 1, 1]}
LOWER = {"kernel_shape": [2, 2], "auto_pad": "SAME_LOWER"}
EVEN = {"kernel_shape": [3, 3], "auto_pad": "SAME_LOWER"}
SAME = {"kernel_shape": WINDOW, "auto_pad": "SAME_UPPER"}
WHOLE = {"kernel_shape": [18, 18], "strides": [18, 18], "auto_pad": "SAME_UPPER"}
OVERHANG = {"kernel_shape": [2, 2], "strides": [3, 3], "pads": [0, 0, 1, 1], "ceil_mode": 1}
"""On 6 elements, the third window would begin at the seventh one, which is padding."""

CUBE = {"kernel_shape": [2, 2, 2], "auto_pad": "SAME_UPPER"}


def slid(
    x: Array, window: int, before: int, after: int, fill: float, reduce: Callable[..., Array]
) -> Array:
    """Return the windows of a square, one element apart, on an image in its padding."""
    padded = np.pad(x, [(0, 0), (0, 0), *[(before, after)] * 2], constant_values=fill)
    rows, columns = (size - window + 1 for size in padded.shape[2:])
    result = np.empty((*x.shape[:2], rows, columns), x.dtype)
    for row, column in product(range(rows), range(columns)):
        part = padded[:, :, row : row + window, column : column + window]
        result[:, :, row, column] = reduce(part, axis=(2, 3))
    return result


def norm(x: Array, axis: tuple[int, ...]) -> Array:
    return np.asarray(np.sqrt(np.square(x).sum(axis)))


def signed_norm(x: Array, p: int) -> Array:
    return np.asarray(np.power((x**p).sum((2, 3), keepdims=True), 1 / p))


def case(
    row: str,
    generation: int,
    hit: Pooled,
    near: Pooled,
    cann: Callable[[Array], Array] | None = None,
    operator_list: str = "base",
) -> None:
    operator = row.partition("/")[0]
    nodes = [DeviatingNode(operator, 11, (x,), attributes) for x, attributes in (hit, near)]
    deviation(DeviationCase(row, generation, nodes[0], nodes[1], cann, operator_list))


for _generation, _list in ((5, "base"), (9, "cann-9.0")):
    case(
        "AveragePool/same-lower-as-upper",
        _generation,
        (IMAGE, LOWER),
        (IMAGE, EVEN),
        lambda x: slid(x, 2, 0, 1, np.nan, np.nanmean),
        _list,
    )
    case(
        "MaxPool/same-lower-as-upper",
        _generation,
        (IMAGE, LOWER),
        (IMAGE, EVEN),
        lambda x: slid(x, 2, 0, 1, -np.inf, np.max),
        _list,
    )
    case(
        "MaxPool/large-window-pads-65504",
        _generation,
        (LOW, PADS),
        (LOW, {"kernel_shape": [15, 15], "pads": [1, 1, 1, 1]}),
        lambda x: slid(x, 16, 1, 1, -65504, np.max),
        _list,
    )
    case("MaxPool/large-window-valid", _generation, (LARGE, SAME), (LARGE, WHOLE), None, _list)
for _generation in (5, 9):
    case(
        "LpPool/same-lower-as-upper",
        _generation,
        (IMAGE, LOWER),
        (IMAGE, EVEN),
        lambda x: slid(x, 2, 0, 1, 0, norm),
        "cann-9.0",
    )
    case("LpPool/large-window-valid", _generation, (LARGE, SAME), (LARGE, WHOLE), None, "cann-9.0")
    for _operator in ("AveragePool", "LpPool"):
        case(
            f"{_operator}/volume-same-dropped",
            _generation,
            (VOLUME, CUBE),
            (VOLUME, {**CUBE, "strides": [2, 2, 2]}),
            None,
            "cann-9.0",
        )
case(
    "AveragePool/large-window-counts-padding",
    5,
    (LARGE, PADS),
    (LARGE, {**PADS, "count_include_pad": 1}),
    lambda x: slid(x, 16, 1, 1, 0, np.mean),
)
case("AveragePool/large-window-valid", 6, (LARGE, SAME), (LARGE, WHOLE), None, "cann-9.0")
for _operator, _name, _generation, _list in (
    ("AveragePool", "window-in-padding-kept", 5, "base"),
    ("AveragePool", "any-window-in-padding-kept", 9, "cann-9.0"),
    ("MaxPool", "window-in-padding-kept", 6, "base"),
):
    case(
        f"{_operator}/{_name}",
        _generation,
        (IMAGE, OVERHANG),
        (IMAGE, {**OVERHANG, "pads": [1, 1, 0, 0]}),
        None,
        _list,
    )
case(
    "AveragePool/window-in-padding-kept",
    7,
    (SIGNAL, {"kernel_shape": [1], "strides": [7], "auto_pad": "VALID", "ceil_mode": 1}),
    (SIGNAL, {"kernel_shape": [1], "strides": [5], "auto_pad": "VALID", "ceil_mode": 1}),
    None,
    "cann-9.0",
)
POSITIVE = np.array([[[[-1.0, 2.0], [0.5, 1.5]]]], np.float32)
for _generation, _p in ((5, 3), (6, 1), (8, 5)):
    case(
        "GlobalLpPool/odd-p-keeps-signs",
        _generation,
        (POSITIVE, {"p": _p}),
        (POSITIVE, {"p": 2}),
        partial(signed_norm, p=_p),
        "cann-9.0",
    )

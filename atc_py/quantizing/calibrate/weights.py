"""Int8 weights: scales of a channel or a whole tensor, codes, and their errors.

Weights are symmetric: offset 0. Methods, each for rows of weights w that have one scale s:

- `min-max`: s = max|w| / 127, so that both signs of the largest weight have a code.
- `arq`: AMCT's: s = max / 127 where max >= |min|, else |min| / 128.
- `mse`: the one of 33 scales from 1.0 to 0.8 of `min-max` and of `arq`'s whose codes err least.

A scale below float32's epsilon becomes 1, as that of a row of zeros.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.diag import BAD_OPTION, SCALE_OUT_OF_RANGE, Place
from atc_py.quantizing.calibrate.histogram import finite_floats
from atc_py.quantizing.calibrate.value_range import EPSILON
from atc_py.text import Text

_LARGEST = 2**31 - 1
_MARGIN = 1.0001


def scales_that_hold_bias(
    bias: NDArray[Any], scale_d: float, scales_w: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Scales of weights, raised where the bias of a channel would leave int32.

    The ratio is onnxruntime's: 1.0001 * |b| / (2^31 - 1) / (s_d * s_w), where that is above 1.
    """
    share = np.abs(bias.astype(np.float64)) / (float(scale_d) * scales_w.astype(np.float64))
    ratio = np.maximum(_MARGIN * share / _LARGEST, 1.0)
    if scales_w.size == 1:
        ratio = ratio.max(keepdims=True)
    return (scales_w * ratio.reshape(scales_w.shape)).astype(np.float32)


_LEAST_SHARE, _SHARES = 0.8, 33


def weight_scales(
    array: NDArray[Any], axis: int | None = 0, method: str = "min-max", place: Place | None = None
) -> NDArray[np.float32]:
    """The scales of weights: one for each index of `axis`, or one in all if it is None.

    Raises:
        AtcError: VALUES_NOT_FINITE for weights that are; SCALE_OUT_OF_RANGE for a scale over
            1 / EPSILON; BAD_OPTION for another method or weights without elements.
    """
    choose = WEIGHT_METHODS.get(method)
    if choose is None:
        known = ", ".join(WEIGHT_METHODS)
        raise BAD_OPTION.error(
            Text("no method for scales of weights is called {method}", method=repr(method)),
            help=Text("methods are {known}", known=known),
        )
    if not array.size:
        raise BAD_OPTION.error(Text("weights without elements have no scale"), place=place)
    finite_floats(array, place)
    rows = channel_rows(array, axis)
    scales = choose(rows)
    too_large = np.flatnonzero(scales > 1 / EPSILON)
    if too_large.size:
        raise SCALE_OUT_OF_RANGE.error(
            Text(
                "channel {too_large} of the weights needs a scale of {scales}, more than {epsilon}",
                too_large=too_large[0],
                scales=f"{scales[too_large[0]]:g}",
                epsilon=f"{1 / EPSILON:g}",
            ),
            place=place,
        )
    return scales


def quantized_weights(
    array: NDArray[Any], scales: NDArray[np.float32], axis: int | None = 0
) -> NDArray[np.int8]:
    """The codes of weights, sat(round(w / s)), half to even; shaped as the weights."""
    values = array.astype(np.float32, copy=False)
    return _codes(values, _broadcast(scales, axis, array.ndim)).astype(np.int8)


def dequantized_weights(
    codes: NDArray[np.int8], scales: NDArray[np.float32], axis: int | None = 0
) -> NDArray[np.float32]:
    return codes.astype(np.float32) * _broadcast(scales, axis, codes.ndim)


def channel_rows(array: NDArray[Any], axis: int | None) -> NDArray[np.float32]:
    """The weights as a matrix with a row for each index of `axis`, or one row."""
    values = array.astype(np.float32, copy=False)
    if axis is None:
        return values.reshape(1, -1)
    return np.moveaxis(values, axis, 0).reshape(array.shape[axis], -1)


def _min_max(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scales at which no weight is clipped, on either side of 0."""
    return _usable(np.abs(rows).max(axis=1) / np.float32(127))


def _arq(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    high, low = rows.max(axis=1), rows.min(axis=1)
    positive = np.abs(high) >= np.abs(low)
    return _usable(
        np.where(positive, np.abs(high) / np.float32(127), np.abs(low) / np.float32(128))
    )


def _mse(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of scales with the same squared error, the largest."""
    widest = chosen = _min_max(rows)
    least = _row_errors(rows, widest)
    shares = np.linspace(1, _LEAST_SHARE, _SHARES, dtype=np.float32)[1:]
    for tried in (_arq(rows), *(_usable(widest * share) for share in shares)):
        error = _row_errors(rows, tried)
        better = error < least
        least = np.where(better, error, least)
        chosen = np.where(better, tried, chosen)
    return chosen


WEIGHT_METHODS: dict[str, Callable[[NDArray[np.float32]], NDArray[np.float32]]] = {
    "min-max": _min_max,
    "arq": _arq,
    "mse": _mse,
}
"""Methods by name; each returns a scale for each row."""


def _usable(scales: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.where(scales < EPSILON, np.float32(1), scales).astype(np.float32)


def _row_errors(rows: NDArray[np.float32], scales: NDArray[np.float32]) -> NDArray[np.float64]:
    error = _codes(rows, scales[:, None]) * scales[:, None] - rows
    sums: NDArray[np.float64] = np.einsum("ij,ij->i", error, error, dtype=np.float64)
    return sums


def _codes(values: NDArray[np.float32], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    codes: NDArray[np.float32] = np.clip(np.rint(values / scales), -128, 127)
    return codes


def _broadcast(scales: NDArray[np.float32], axis: int | None, rank: int) -> NDArray[np.float32]:
    if axis is None:
        return scales.reshape(())
    shape = [1] * rank
    shape[axis] = -1
    return scales.reshape(shape)

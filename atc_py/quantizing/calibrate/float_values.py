"""Arrays as finite float32 values, or a coded error."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from atc_py.diag import AtcError, Place
from atc_py.diag.codes import BAD_OPTION, VALUES_NOT_FINITE
from atc_py.text import Text


class FiniteFloats(NamedTuple):
    """Values of an array.

    Attributes:
        values: the values, flat, in the order of the array's memory; a view where possible.
        low: the lowest value; 0 if there is none.
        high: the highest value; 0 if there is none.
    """

    values: NDArray[np.float32]
    low: float
    high: float


def finite_floats(array: NDArray[Any], place: Place | None = None) -> FiniteFloats:
    """The values of an array as float32.

    Raises:
        AtcError: VALUES_NOT_FINITE for NaN, infinities and numbers beyond float32;
            BAD_OPTION for a dtype that has no real numbers.
    """
    if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
        raise BAD_OPTION.error(
            Text("values of dtype {dtype} cannot be quantized", dtype=array.dtype),
            place=place,
            help=Text("use float32"),
        )
    flat = array.ravel(order="K")
    with np.errstate(over="ignore"):
        values = flat.astype(np.float32, copy=False)
    if not values.size:
        return FiniteFloats(values, 0.0, 0.0)
    low, high = float(values.min()), float(values.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise _not_finite(flat, values, place)
    return FiniteFloats(values, low, high)


def _not_finite(flat: NDArray[Any], values: NDArray[np.float32], place: Place | None) -> AtcError:
    """The error that names the first such value and how many there are."""
    wrong = np.flatnonzero(~np.isfinite(values))
    return VALUES_NOT_FINITE.error(
        Text(
            "{size} of {size_2} values are NaN, infinite or beyond float32; the first is {flat}",
            size=wrong.size,
            size_2=values.size,
            flat=flat[wrong[0]],
        ),
        place=place,
    )

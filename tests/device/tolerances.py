"""How far results of the simulator may be from a reference: one row per dtype.

The reference is onnxruntime in float32 (float64 for float64) on operands already rounded to the
dtype under test. A 16-bit result is then rounded once, so it is within half a unit in the last
place of the exact value; a whole one is allowed because the float32 sums on both sides differ.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.tensor.dtypes import DType


@dataclass(frozen=True)
class Tolerance:
    """Bounds that are added up.

    Attributes:
        relative: of the expected element; 2^-10 is one unit in the last place of float16.
        of_range: of the largest finite expected magnitude, for sums that cancel.
        absolute: for results among the subnormals.
    """

    relative: float
    of_range: float
    absolute: float


EXACT = Tolerance(0.0, 0.0, 0.0)

TOLERANCES = {
    DType.FLOAT16: Tolerance(2.0**-10, 2e-6, 2.0**-24),
    DType.BFLOAT16: Tolerance(2.0**-7, 2e-6, 0.0),
    DType.FLOAT32: Tolerance(1e-5, 2e-6, 1e-30),
    DType.FLOAT64: Tolerance(1e-12, 1e-14, 0.0),
}
"""Dtypes without a row are exact."""


def assert_close(
    actual: NDArray[Any], expected: NDArray[Any], dtype: DType, reach: float = 0.0
) -> None:
    """Hold `actual`, of `dtype`, to `expected`, of a dtype at least as wide.

    `reach` is the largest sum of magnitudes that make up an element, where terms cancel in all of them.
    """
    assert actual.dtype == dtype.numpy
    assert actual.shape == expected.shape
    row = TOLERANCES.get(dtype, EXACT)
    if row is EXACT:
        np.testing.assert_array_equal(actual, expected)
        return
    wide, reference = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(reference)
    reach = np.abs(reference[finite]).max(initial=reach)
    allowed = row.relative * np.abs(reference) + row.of_range * reach + row.absolute
    # what the dtype cannot hold is infinite in it, so the reference is asked in that dtype too
    with np.errstate(over="ignore"):
        kept = reference.astype(dtype.numpy).astype(np.float64)
    same = (wide == kept) | (np.isnan(wide) & np.isnan(kept))
    with np.errstate(invalid="ignore"):
        close = same | (np.abs(wide - reference) <= np.where(finite, allowed, 0.0))
    worst = np.argwhere(~close)[:3]
    assert close.all(), [(tuple(i), wide[tuple(i)], reference[tuple(i)]) for i in worst]

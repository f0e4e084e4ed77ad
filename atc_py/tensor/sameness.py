"""Which elements of two arrays are the same: alone since every room that compares arrays asks here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["same_elements"]


def same_elements(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where two arrays of one shape are equal: NaN equals NaN, and 0 equals -0."""
    import numpy as np

    same: NDArray[np.bool_] = np.asarray(one == other)
    if not same.all():
        same |= np.isnan(one) & np.isnan(other)
    return same

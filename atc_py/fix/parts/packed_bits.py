"""Weights of 2, 4 or 8 bits as onnxruntime packs them, in blocks that share a scale and a zero point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.fix import tables
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["blocks_as_floats", "unpacked"]

_BYTE = 8


def unpacked(packed: NDArray[Any], bits: int) -> NDArray[Any]:
    """Return the integers of the last axis, of which each byte holds `8 / bits`, low bits first."""
    require(bits in (2, 4, 8), "2, 4 or 8 bits", "2、4 或 8 位")
    shifts = tables.arange(_BYTE // bits, dtype=np.uint8) * np.uint8(bits)
    parts: NDArray[Any] = (packed[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    return parts.reshape(*packed.shape[:-1], -1)


def blocks_as_floats(
    values: NDArray[Any], scales: NDArray[Any], zeros: NDArray[Any] | float
) -> NDArray[Any]:
    """Return (values - zeros) * scales in float32.

    Args:
        values: `[..., blocks, size]`.
        scales: `[..., blocks]`.
        zeros: `[..., blocks]`, or one number for all.
    """
    points = np.asarray(zeros, np.float32)
    shifted = values.astype(np.float32) - (points[..., None] if points.ndim else points)
    return np.asarray(shifted * scales.astype(np.float32)[..., None])

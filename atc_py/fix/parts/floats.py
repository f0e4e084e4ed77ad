"""The dtypes that rules of real functions take."""

from __future__ import annotations

from atc_py.tensor.dtypes import DType

__all__ = ["FLOATS"]

FLOATS = frozenset({DType.FLOAT16, DType.FLOAT32})
"""Floats that nearly every operator of the lists has."""

"""Sums, products and bounds of each element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.export.registry import emulates
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from atc_py.export.body import Body

__all__: list[str] = []

_NATIVE = frozenset({DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.INT64})
"""Dtypes in which every runtime adds, subtracts and multiplies."""


def _pair(body: Body, op_type: str) -> str:
    """Return `op_type` of two operands; other integers go through int64 and keep their low bits."""
    dtype = body.node.dtype()
    operands = [body.x(0), body.x(1)]
    if not dtype.is_integer or dtype in _NATIVE:
        return body.add(op_type, *operands)
    wide = [body.cast(each, DType.INT64) for each in operands]
    return body.cast(body.add(op_type, *wide), dtype)


@emulates("Add")
def add(body: Body) -> str:
    """Write `y = x1 + x2`; integers wrap around."""
    return _pair(body, "Add")


@emulates("Sub")
def sub(body: Body) -> str:
    """Write `y = x1 - x2`; integers wrap around."""
    return _pair(body, "Sub")


@emulates("Mul")
def mul(body: Body) -> str:
    """Write `y = x1 * x2`; integers wrap around."""
    return _pair(body, "Mul")


@emulates("Relu")
def relu(body: Body) -> str:
    """Write `y = max(x, 0)`; NaN stays NaN."""
    return body.add("Relu", body.x())

"""Numbers counted up in steps."""

from __future__ import annotations

from atc_py.target.row import TargetOp, Unit
from atc_py.target.rows.parts import F32, F64, I16, I32, I64, Y, inputs

__all__ = ["ROWS"]

ROWS = (
    TargetOp(
        "Range",
        inputs("start", "limit", "delta"),
        Y,
        Unit.VECTOR,
        "start + i * delta for every i before limit is reached.",
        aicpu=(F32, F64, I16, I32, I64),
        family="region",
        formula="y[i] = start + i * delta for 0 <= i < ceil((limit - start) / delta)",
    ),
)

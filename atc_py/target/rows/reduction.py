"""Reductions over axes."""

from __future__ import annotations

from atc_py.target.row import Attribute, TargetOp, Unit
from atc_py.target.rows.parts import FLOATS, Y, inputs, same

__all__ = ["ROWS"]

ROWS = (
    TargetOp(
        "ReduceMeanD",
        inputs("x"),
        Y,
        Unit.VECTOR,
        "Mean over axes.",
        attributes=(
            Attribute("axes", "ints"),
            Attribute("keep_dims", "bool", default=False),
        ),
        columns=same(*FLOATS),
        family="reduce",
    ),
)

"""Pools over sliding windows."""

from __future__ import annotations

from atc_py.target.kernels import on
from atc_py.target.row import Attribute, Limit, TargetOp, Unit
from atc_py.target.rows.parts import (
    F16,
    F32,
    F64,
    Y,
    inputs,
    same,
)

__all__ = ["ROWS"]

_WINDOW_LIMITS = (
    Limit("ksize", (2, 3), 1, 255),
    Limit("ksize", (2, 3), 1, 256, product=True),
    Limit("strides", (2, 3), 1, 63),
)
"""The list's bounds on pooling windows; beyond them the node runs on the AI CPU."""

_POOL_ATTRIBUTES = (
    Attribute("ksize", "ints"),
    Attribute("strides", "ints"),
    Attribute("padding_mode", "string", "CALCULATED"),
    Attribute("pads", "ints", (0, 0, 0, 0)),
    Attribute("data_format", "string", "NCHW"),
    Attribute("global_pooling", "bool", default=False),
    Attribute("ceil_mode", "bool", default=False),
)

ROWS = (
    TargetOp(
        "AvgPoolV2",
        inputs("x"),
        Y,
        Unit.VECTOR,
        "Mean over sliding windows; `exclusive` leaves padding out of the count.",
        attributes=(
            *_POOL_ATTRIBUTES,
            Attribute("exclusive", "bool", default=True),
            Attribute("divisor_override", "int", 0),
        ),
        columns=same(F16),
        kernels=on("310 310P 310B 610 910 A2 A3 CS: f16"),
        aicpu=(F32, F64),
        limits=_WINDOW_LIMITS,
        family="pool",
    ),
    TargetOp(
        "MaxPoolV3",
        inputs("x"),
        Y,
        Unit.VECTOR,
        "Largest value of sliding windows; padding never wins.",
        attributes=(
            *_POOL_ATTRIBUTES,
            Attribute("dilations", "ints", (1, 1, 1, 1)),  # ours, for ONNX; CANN has none
        ),
        columns=same(F16),
        kernels=on("310 310P 310B 610 910 CS: f16; A2 A3: f16 f32"),
        aicpu=(F32,),
        limits=_WINDOW_LIMITS,
        family="pool",
        selects=True,
    ),
)

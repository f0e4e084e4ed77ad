"""Pools over sliding windows."""

from atc_py.target.kernels import on
from atc_py.target.layouts import Layout
from atc_py.target.row import Attribute, Limit, TargetOp
from atc_py.target.rows.parts import EXP, FLOATS, LOG, columns, operands

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
        *operands("x > y"),
        "Mean over sliding windows; `exclusive` leaves padding out of the count.",
        attributes=(
            *_POOL_ATTRIBUTES,
            Attribute("exclusive", "bool", default=True),
            Attribute("divisor_override", "int", 0),
        ),
        columns=columns("f16"),
        kernels=on("310 310P 310B 610 910 A2 A3 CS: f16; 950: f16 f32 bf16"),
        aicpu=columns("f32 f64"),
        limits=_WINDOW_LIMITS,
        family="pool",
    ),
    # CANN's kernel raises x to the power p with its sign; where p is odd, that is another sum.
    TargetOp(
        "GlobalLpPool",
        *operands("x > y"),
        "Root p of the sum of magnitudes to the power p, over all axes but batch and channel.",
        attributes=(Attribute("p", "float", 2.0),),
        columns=columns(FLOATS),
        kernels=on("310: f16; 310P 310B 910 A2 A3: f16 f32; 610 CS: -; 950: f16 f32 bf16"),
        family="reduce",
        formula="y[n, c] = (sum of |x[n, c, ..]|^p)^(1 / p)",
        takes=Layout.ROWS,
        passes=4 + EXP + LOG,
    ),
    TargetOp(
        "MaxPoolV3",
        *operands("x > y"),
        "Largest value of sliding windows; padding never wins.",
        attributes=(
            *_POOL_ATTRIBUTES,
            Attribute("dilations", "ints", (1, 1, 1, 1)),  # ours, for ONNX; CANN has none
        ),
        columns=columns("f16"),
        kernels=on(
            "310 310P 310B 610 910 CS: f16; A2 A3: f16 f32; 950: f16 f32 bf16 i32 i64 u8 i16 i8 u16"
        ),
        aicpu=columns("f32"),
        limits=_WINDOW_LIMITS,
        family="pool",
        selects=True,
    ),
)

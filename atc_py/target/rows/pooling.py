"""Pools over sliding windows."""

from atc_py.target.layouts import Layout
from atc_py.target.row import Attribute, Limit
from atc_py.target.rows.parts import EXP, FLOATS, LOG, Needed, attributes, operator

_WINDOW_LIMITS = (
    Limit("ksize", (2, 3), 1, 255),
    Limit("ksize", (2, 3), 1, 256, product=True),
    Limit("strides", (2, 3), 1, 63),
)
"""The list's bounds on pooling windows; beyond them the node runs on the AI CPU."""

_POOL_ATTRIBUTES = attributes(
    ksize=Needed.INTS,
    strides=Needed.INTS,
    padding_mode="CALCULATED",
    pads=(0, 0, 0, 0),
    data_format="NCHW",
    global_pooling=False,
    ceil_mode=False,
)

ROWS = (
    operator(
        "AvgPoolV2",
        "Mean over sliding windows; `exclusive` leaves padding out of the count.",
        attributes=(*_POOL_ATTRIBUTES, *attributes(exclusive=True, divisor_override=0)),
        columns="f16",
        kernels="310 310P 310B 610 910 A2 A3 CS: f16; 950: f16 f32 bf16",
        aicpu="f32 f64",
        limits=_WINDOW_LIMITS,
        family="pool",
    ),
    # CANN's kernel raises x to the power p with its sign; where p is odd, that is another sum.
    operator(
        "GlobalLpPool",
        "Root p of the sum of magnitudes to the power p, over all axes but batch and channel.",
        attributes=attributes(p=2.0),
        columns=FLOATS,
        kernels="310: f16; 310P 310B 910 A2 A3: f16 f32; 610 CS: -; 950: f16 f32 bf16",
        family="reduce",
        formula="y[n, c] = (sum of |x[n, c, ..]|^p)^(1 / p)",
        takes=Layout.ROWS,
        passes=4 + EXP + LOG,
    ),
    operator(
        "MaxPoolV3",
        "Largest value of sliding windows; padding never wins.",
        attributes=(
            *_POOL_ATTRIBUTES,
            Attribute("dilations", "ints", (1, 1, 1, 1)),  # ours, for ONNX; CANN has none
        ),
        columns="f16",
        kernels="310 310P 310B 610 910 CS: f16; A2 A3: f16 f32; "
        "950: f16 f32 bf16 i32 i64 u8 i16 i8 u16",
        aicpu="f32",
        limits=_WINDOW_LIMITS,
        family="pool",
        selects=True,
    ),
)

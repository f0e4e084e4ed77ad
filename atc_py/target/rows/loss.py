"""Losses."""

from atc_py.target.kernels import on
from atc_py.target.row import Attribute, TargetOp
from atc_py.target.rows.parts import DIVISION, EXP, FLOATS, LOG, columns, operands

_LABELED = "T i32|i64 T > T T"

ROWS = (
    # By ONNX's definition. The kernel of CANN 8.1 negates the logarithms of all classes and
    # multiplies them by their weights; it reads neither labels nor ignore_index nor reduction.
    TargetOp(
        "SoftmaxCrossEntropyLoss",
        *operands("scores labels weights? > loss log_prop"),
        "Negative logarithm of the softmax of scores at labels, times the labels' weights, and the "
        "logarithm of the softmax.",
        attributes=(
            Attribute("ignore_index", "int", 0),
            Attribute("reduction", "string", "mean"),
        ),
        columns=columns(FLOATS, _LABELED),
        kernels=on("310 310P 310B 910: f16 f32; A2 A3: f16 f32 bf16; 610 CS: -", _LABELED),
        aicpu=columns("f64", _LABELED),
        family="loss",
        saturates=True,
        formula=(
            "log_prop = log softmax of scores along axis 1\n"
            "loss = -log_prop at the label * weights at the label, 0 where the label is ignore_index "
            "or no class\n"
            "sum: the sum of the losses; mean: that by the sum of the weights at labels that count"
        ),
        passes=8 + EXP + LOG + DIVISION,
    ),
)

"""Losses."""

from atc_py.target.rows.parts import DIVISION, EXP, FLOATS, LOG, attributes, operator

_LABELED = "T i32|i64 T > T T"

ROWS = (
    # By ONNX's definition. The kernel of CANN 8.1 negates the logarithms of all classes and
    # multiplies them by their weights; it reads neither labels nor ignore_index nor reduction.
    operator(
        "SoftmaxCrossEntropyLoss",
        "Negative logarithm of the softmax of scores at labels, times the labels' weights, and the "
        "logarithm of the softmax.",
        "scores labels weights? > loss log_prop",
        form=_LABELED,
        attributes=attributes(ignore_index=0, reduction="mean"),
        columns=FLOATS,
        kernels="310 310P 310B 910: f16 f32; A2 A3: f16 f32 bf16; 610 CS: -",
        aicpu="f64",
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

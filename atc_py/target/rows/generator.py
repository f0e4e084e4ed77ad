"""Random numbers; a seed and a second one that are both 0 stand for none."""

from atc_py.target.row import Attribute, TargetOp
from atc_py.target.rows.parts import I64, columns, operands

_SEEDS = (Attribute("seed", "int", 0), Attribute("seed2", "int", 0))

_DRAWN = columns("f32 f64", "i64 > T")

ROWS = (
    TargetOp(
        "Multinomial",
        *operands("logits num_samples# > y"),
        "Class numbers drawn, row by row, with the log-probabilities that the row gives.",
        attributes=(Attribute("dtype", "dtype", I64), *_SEEDS),
        aicpu=columns("f16 f32 f64", "T i32 > i32|i64"),
        family="rows",
        selects=True,
        formula=("y[r, s] = class c with a probability in proportion to exp(logits[r, c])"),
    ),
    TargetOp(
        "RandomStandardNormal",
        *operands("shape# > y"),
        "Random numbers, normally distributed around 0 with a standard deviation of 1.",
        attributes=(Attribute("dtype", "dtype"), *_SEEDS),
        aicpu=_DRAWN,
        family="rows",
        formula="y = random numbers of the normal distribution with mean 0 and deviation 1",
    ),
    TargetOp(
        "RandomUniform",
        *operands("shape# > y"),
        "Random numbers, evenly distributed from 0 to below 1.",
        attributes=(Attribute("dtype", "dtype"), *_SEEDS),
        aicpu=_DRAWN,
        family="rows",
        formula="y = random numbers from 0 to below 1, each as likely",
    ),
)

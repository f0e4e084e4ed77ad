"""Random numbers; a seed and a second one that are both 0 stand for none."""

from atc_py.target.row import Attribute, Column, TargetOp, Unit
from atc_py.target.rows.parts import F32, F64, FLOATS, I32, I64, Y, inputs

_SEEDS = (Attribute("seed", "int", 0), Attribute("seed2", "int", 0))

_DRAWN = (Column((I64,), (F32,)), Column((I64,), (F64,)))

ROWS = (
    TargetOp(
        "Multinomial",
        inputs("logits", "num_samples#"),
        Y,
        Unit.VECTOR,
        "Class numbers drawn, row by row, with the log-probabilities that the row gives.",
        attributes=(Attribute("dtype", "dtype", I64), *_SEEDS),
        aicpu=tuple(
            Column((dtype, I32), (index,)) for dtype in (*FLOATS, F64) for index in (I32, I64)
        ),
        family="rows",
        selects=True,
        formula=("y[r, s] = class c with a probability in proportion to exp(logits[r, c])"),
    ),
    TargetOp(
        "RandomStandardNormal",
        inputs("shape#"),
        Y,
        Unit.VECTOR,
        "Random numbers, normally distributed around 0 with a standard deviation of 1.",
        attributes=(Attribute("dtype", "dtype"), *_SEEDS),
        aicpu=_DRAWN,
        family="rows",
        formula="y = random numbers of the normal distribution with mean 0 and deviation 1",
    ),
    TargetOp(
        "RandomUniform",
        inputs("shape#"),
        Y,
        Unit.VECTOR,
        "Random numbers, evenly distributed from 0 to below 1.",
        attributes=(Attribute("dtype", "dtype"), *_SEEDS),
        aicpu=_DRAWN,
        family="rows",
        formula="y = random numbers from 0 to below 1, each as likely",
    ),
)

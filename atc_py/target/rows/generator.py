"""Numbers made: counted up, or random; a seed and a second one that are both 0 stand for none."""

from functools import partial

from atc_py.target.rows.parts import I64, Needed, attributes, columns, operator

_SEEDS = attributes(seed=0, seed2=0)

_DRAWN = columns("f32 f64", "i64 > T")

_random = partial(operator, signature="shape# > y", aicpu=_DRAWN, family="rows")

ROWS = (
    operator(
        "Multinomial",
        "Class numbers drawn, row by row, with the log-probabilities that the row gives.",
        "logits num_samples# > y",
        form="T i32 > i32|i64",
        attributes=(*attributes(dtype=I64), *_SEEDS),
        aicpu="f16 f32 f64",
        family="rows",
        selects=True,
        formula=("y[r, s] = class c with a probability in proportion to exp(logits[r, c])"),
    ),
    _random(
        "RandomStandardNormal",
        "Random numbers, normally distributed around 0 with a standard deviation of 1.",
        attributes=(*attributes(dtype=Needed.DTYPE), *_SEEDS),
        formula="y = random numbers of the normal distribution with mean 0 and deviation 1",
    ),
    _random(
        "RandomUniform",
        "Random numbers, evenly distributed from 0 to below 1.",
        attributes=(*attributes(dtype=Needed.DTYPE), *_SEEDS),
        formula="y = random numbers from 0 to below 1, each as likely",
    ),
    operator(
        "Range",
        "start + i * delta for every i before limit is reached.",
        "start limit delta > y",
        kernels="310: -; 310P 910: f16 f32 i32 i64; 310B 610: f16 f32 i32; "
        "A2 A3 950: f16 f32 bf16 i32 i64; CS: f32 i32",
        aicpu="f32 f64 i16 i32 i64",
        family="region",
        formula="y[i] = start + i * delta for 0 <= i < ceil((limit - start) / delta)",
    ),
)

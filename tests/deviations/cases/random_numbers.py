"""Generated tensors; random numbers are of distributions that have one value alone, or nearly."""

import numpy as np

from tests.deviations.case import DeviatingNode, DeviationCase, deviation

ONE_CLASS = np.zeros((2, 1), np.float32)
LIKE = np.zeros((2, 3), np.float32)
EVEN = {"low": 2.0, "high": 2.0}
NORMAL = {"mean": 2.0, "scale": 1e-6}
DIMS = {"shape": [2, 3]}

for _op, _inputs, _fixed, _list in (
    ("RandomUniform", (), {**EVEN, **DIMS}, "base"),
    ("RandomUniformLike", (LIKE,), EVEN, "cann-9.0"),
    ("RandomNormal", (), {**NORMAL, **DIMS}, "cann-9.0"),
    ("RandomNormalLike", (LIKE,), NORMAL, "cann-9.0"),
    ("Multinomial", (ONE_CLASS,), {}, "base"),
):
    deviation(
        DeviationCase(
            f"{_op}/seed-cut-to-0",
            6,
            DeviatingNode(_op, 13, _inputs, {**_fixed, "seed": 0.7}),
            DeviatingNode(_op, 13, _inputs, {**_fixed, "seed": 1.0}),
            None,
            _list,
        )
    )
deviation(
    DeviationCase(
        "RandomUniform/float64-refused",
        9,
        DeviatingNode("RandomUniform", 13, (), {**EVEN, **DIMS, "dtype": 11}),
        DeviatingNode("RandomUniform", 13, (), {**EVEN, **DIMS, "dtype": 10, "seed": 3.0}),
        None,
    )
)
deviation(
    DeviationCase(
        "Multinomial/one-sample",
        9,
        DeviatingNode("Multinomial", 13, (ONE_CLASS,), {"sample_size": 3}),
        DeviatingNode("Multinomial", 13, (ONE_CLASS,), {"sample_size": 1}),
        lambda logits: np.zeros((len(logits), 1), np.int32),
    )
)
deviation(
    DeviationCase(
        "Multinomial/seed-ignored",
        9,
        DeviatingNode("Multinomial", 13, (ONE_CLASS,), {"seed": 3.0}),
        DeviatingNode("Multinomial", 13, (ONE_CLASS,)),
        None,
    )
)

INTEGERS = np.zeros((2, 3), np.int32)
for _generation in (5, 9):
    deviation(
        DeviationCase(
            "EyeLike/float32-without-dtype",
            _generation,
            DeviatingNode("EyeLike", 13, (INTEGERS,)),
            DeviatingNode("EyeLike", 13, (INTEGERS,), {"dtype": 6}),
            lambda x: np.eye(*x.shape, dtype=np.float32),
            "cann-9.0",
        )
    )
    deviation(
        DeviationCase(
            "EyeLike/diagonal-of-rows",
            _generation,
            DeviatingNode("EyeLike", 13, (INTEGERS.T,), {"dtype": 6}),
            DeviatingNode("EyeLike", 13, (INTEGERS,), {"dtype": 6}),
            None,
            "cann-9.0",
        )
    )

"""Matrix products."""

import numpy as np

from tests.deviations.case import DeviatingNode, DeviationCase, deviation

_RANDOM = np.random.default_rng(3)
A, B, C = (_RANDOM.standard_normal(dims).astype(np.float32) for dims in ((2, 3), (3, 4), (4,)))

deviation(
    DeviationCase(
        "Gemm/alpha-ignored",
        5,
        DeviatingNode("Gemm", 13, (A, B, C), {"alpha": 0.5}),
        DeviatingNode("Gemm", 13, (A, B, C), {"alpha": 1.0}),
        lambda a, b, c: a @ b + c,
    )
)
deviation(
    DeviationCase(
        "Gemm/alpha-ignored-without-c",
        9,
        DeviatingNode("Gemm", 13, (A, B), {"alpha": 0.5}),
        DeviatingNode("Gemm", 13, (A, B, C), {"alpha": 0.5}),
        lambda a, b: a @ b,
    )
)
deviation(
    DeviationCase(
        "Gemm/beta-ignored",
        6,
        DeviatingNode("Gemm", 13, (A, B, C), {"beta": 0.5}),
        DeviatingNode("Gemm", 13, (A, B), {"beta": 0.5}),
        lambda a, b, c: a @ b + c,
    )
)

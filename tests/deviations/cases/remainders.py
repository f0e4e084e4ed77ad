"""Remainders and bounds of integers."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.deviations.case import DeviatingNode, DeviationCase, deviation

Array = npt.NDArray[Any]

A, B = np.array([7, -7, 7, -7], np.int32), np.array([3, 3, -3, -3], np.int32)

for _generation in (5, 9):
    deviation(
        DeviationCase(
            "Mod/sign-of-dividend",
            _generation,
            DeviatingNode("Mod", 13, (A, B)),
            DeviatingNode("Mod", 13, (abs(A).astype(np.uint8), abs(B).astype(np.uint8))),
            lambda a, b: a - np.trunc(a / b).astype(np.int32) * b,
        )
    )


LARGE = np.array([2**24 + 1, 2**30 + 7, -(2**27) - 3, 41], np.int32)
SMALL = np.array([2, 10, 7, 6], np.int32)
CLIPPED = np.array([2**24 + 1, -(2**24) - 3, 5, -6], np.int32)


def float32_remainder(a: Array, b: Array) -> Array:
    """Return the remainder of the truncated quotient, every step rounded to float32."""
    a, b = a.astype(np.float32), b.astype(np.float32)
    return np.asarray(a - np.trunc(a / b) * b).astype(np.int32)


for _row, _dividends, _divisors in (
    ("dividend-in-float32", LARGE, SMALL),
    ("divisor-in-float32", LARGE * 3 // 2, LARGE),
):
    deviation(
        DeviationCase(
            f"Mod/{_row}",
            6,
            DeviatingNode("Mod", 13, (_dividends, _divisors), {"fmod": 1}),
            DeviatingNode("Mod", 13, (LARGE.astype(np.int64), SMALL.astype(np.int64)), {"fmod": 1}),
            float32_remainder,
        )
    )


def float32_clip(x: Array, least: float, most: float) -> Array:
    return np.asarray(np.clip(x.astype(np.float32), np.float32(least), np.float32(most)))


LEAST, MOST = np.array(-(2**25), np.int32), np.array(2**25, np.int32)
BOTH = DeviatingNode("Clip", 13, (CLIPPED,), {}, {"least": LEAST, "most": MOST})
deviation(
    DeviationCase(
        "Clip/lower-bound-in-float32",
        5,
        DeviatingNode("Clip", 13, (CLIPPED,), {}, {"least": LEAST}),
        BOTH,
        lambda x: float32_clip(x, -(2**25), 3.4e38),
    )
)
deviation(
    DeviationCase(
        "Clip/upper-bound-in-float32",
        6,
        DeviatingNode(
            "Clip", 12, (CLIPPED,), {}, {"most": np.array(4, np.int32)}, ("x0", "", "most")
        ),
        BOTH,
        lambda x: float32_clip(x, -3.4e38, 4),
    )
)
HALVES = np.array([-2.5, 0.25, np.inf, -np.inf], np.float16)
deviation(
    DeviationCase(
        "Clip/upper-bound-in-float32",
        5,
        DeviatingNode(
            "Clip", 11, (HALVES,), {}, {"most": np.array(2, np.float16)}, ("x0", "", "most")
        ),
        DeviatingNode(
            "Clip",
            11,
            (HALVES.astype(np.float32),),
            {},
            {"most": np.array(2, np.float32)},
            ("x0", "", "most"),
        ),
        lambda x: float32_clip(x, -3.4e38, 2),
    )
)
for _generation in (5, 9):
    deviation(
        DeviationCase(
            "Clip/no-bound",
            _generation,
            DeviatingNode("Clip", 13, (CLIPPED.astype(np.float32),)),
            DeviatingNode(
                "Clip", 13, (CLIPPED.astype(np.float32),), {}, {"least": np.array(2, np.float32)}
            ),
            None,
        )
    )

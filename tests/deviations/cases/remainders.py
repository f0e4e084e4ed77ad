"""Remainders."""

from __future__ import annotations

import numpy as np

from tests.deviations.case import DeviatingNode, DeviationCase, deviation

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

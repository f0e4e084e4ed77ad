"""Factors that float16 holds well, and roots of those that it does not."""

import math

LEAST, LARGEST = 2.0**-14, 65504.0
"""The smallest and the largest normal number of float16."""


def has_root(scale: float) -> bool:
    """True if a factor is beyond float16's normal numbers and its root is taken twice."""
    return 0 < scale < math.inf and not LEAST <= scale <= LARGEST

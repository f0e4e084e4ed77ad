"""Ranges of floats that come from integers and constants, for what is cast to integers again.

Bounds are whole numbers, rounded outward by more than the roundings of float32 can add. An operator
that may give an infinity or NaN has no range.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.fix.range_rules import RULES, Known, Range, Rule
from atc_py.onnx_graph.source import SourceNode
from atc_py.tensor.dtypes import DType

# Magnitudes that are finite in a dtype, and remain so after one rounding.
_LARGEST = {DType.FLOAT16: 60_000, DType.FLOAT32: 2**100, DType.FLOAT64: 2**100}

# Operators that give no number outside of the whole numbers around their operands.
_SAME = (
    "Ceil", "Clip", "Concat", "Expand", "Flatten", "Floor", "Gather", "Identity", "Max", "Min", "Neg",
    "ReduceMax", "ReduceMin", "Relu", "Reshape", "Round", "Slice", "Split", "Squeeze", "Tile",
    "Transpose", "Unsqueeze", "Where", "Abs",
)  # fmt: skip


def float_limit(dtype: DType | None) -> Range | None:
    """The finite numbers of a float dtype; None for others."""
    largest = None if dtype is None else _LARGEST.get(dtype)
    return None if largest is None else Range(-largest, largest)


def range_of_floats(data: NDArray[Any]) -> Range | None:
    """The range of constants; None if one is not finite."""
    low, high = float(np.min(data)), float(np.max(data))
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    return Range(math.floor(low), math.ceil(high))


def _rounded(rule: Rule) -> Rule:
    """A rule whose result is rounded to a float."""

    def outward(node: SourceNode, known: Known) -> Range | None:
        found = rule(node, known)
        if found is None:
            return None
        return Range(found.low - _slack(found.low), found.high + _slack(found.high))

    return outward


def _slack(bound: int) -> int:
    """More than rounding to float16 adds to a number."""
    return abs(bound) // 1000 + 1


def _ratio(_node: SourceNode, known: Known) -> Range | None:
    """The range of quotients with divisors of one sign, 1 or more in magnitude."""
    x, y = (*known, None, None)[:2]
    if x is None or y is None or y.low <= 0 <= y.high:
        return None
    values = [(a, b) for a in x for b in y]
    return Range(min(a // b for a, b in values), max(-(-a // b) for a, b in values))


def _between(low: int, high: int) -> Rule:
    return lambda _node, known: Range(low, high) if known and known[0] is not None else None


FLOAT_RULES: Mapping[str, Rule] = {
    **{name: RULES[name] for name in _SAME if name in RULES},
    **dict.fromkeys(("Ceil", "Floor", "Round"), RULES["Identity"]),
    **{name: _rounded(RULES[name]) for name in ("Add", "Cast", "Mul", "Sub")},
    "Div": _rounded(_ratio),
    "Cos": _between(-1, 1),
    "Erf": _between(-1, 1),
    "Sigmoid": _between(0, 1),
    "Sin": _between(-1, 1),
    "Tanh": _between(-1, 1),
}
"""By operator: the range of the first output where it has floats."""

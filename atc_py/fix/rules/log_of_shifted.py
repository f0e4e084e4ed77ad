"""Rule log-of-shifted: the logarithm of a number and a constant that float16 has no digits for.

With K a power of two, log(x + eps) = log(K x + K eps) - log(K), which is used for x up to a limit L with
K L within float16; above L, eps is below the last digit of float32.
"""

from __future__ import annotations

from math import ceil, log, log2
from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import Fed, case_after
from atc_py.fix.parts.patterns import LEAST_NORMAL, beside_number, require_float32
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import UnfitError, require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.case import CaseNode
    from atc_py.fix.site import Site

__all__: list[str] = []

_SHIFTED: tuple[CaseNode, ...] = (
    ("Abs", ("x0",), ("a",), {}),
    ("Add", ("a", "x1"), ("sum",), {}),
)

_LARGEST = 2.0**15
"""Largest power of two of float16."""

_FEWEST_DIGITS = 2.0**-38
"""Least constant: with K up to 2 to the power of 25, it is still a normal number of float16."""

_WHERE = 9
"""First opset at which the condition and the choice take floats of any shape."""


@fix_rule(
    "log-of-shifted",
    ("Log",),
    Exactness.REORDERED,
    RuleText(
        before=Words("Log of a sum with a small constant", "加小常量后的 Log"),
        after=Words(
            "Where: for small numbers, Log of both multiplied by a power of two, less its logarithm; "
            "Log for large ones",
            "Where：小数取乘以 2 的幂后的 Log 再减去其对数，大数直接取 Log",
        ),
        condition=Words(
            "the constant is from 2 to the power of -38 to 2 to the power of -14",
            "常量介于 2 的 -38 次方与 2 的 -14 次方之间",
        ),
        float16=Words(
            "the logarithm of 0 is that of the constant, not minus infinity",
            "0 的对数等于常量的对数，而非负无穷",
        ),
    ),
    example=case_after(
        _SHIFTED, "Log", ("sum",), {"x0": Fed((3, 64)), "x1": np.array(1e-8, np.float32)}
    ),
    near_miss=case_after(
        _SHIFTED, "Log", ("sum",), {"x0": Fed((3, 64)), "x1": np.array(1e-3, np.float32)}
    ),
    precision=True,
)
def log_of_shifted(site: Site) -> Sequence[str]:
    """Write the choice between the two logarithms."""
    require_float32(site)
    added = site.maker(site.tensor(0))
    known = beside_number(added) if added is not None and added.op_type == "Add" else None
    if known is None:
        raise UnfitError(Words("a constant is added", "加上常量"))
    x, eps = known[0].name, known[1]
    require(
        _FEWEST_DIGITS <= eps < LEAST_NORMAL,
        "the constant is from 2 to the power of -38 to 2 to the power of -14",
        "常量介于 2 的 -38 次方与 2 的 -14 次方之间",
    )
    require(site.opset >= _WHERE, "the opset is 9 or more", "opset 不低于 9")
    scale = 2.0 ** ceil(log2(2 * LEAST_NORMAL / eps))
    limit = min(1.0, _LARGEST / scale)
    small = site.op("Min", [x, site.scalar(limit)])
    small = site.op("Mul", [small, site.scalar(min(scale, _LARGEST))])
    if scale > _LARGEST:
        small = site.op("Mul", [small, site.scalar(scale / _LARGEST)])
    small = site.op("Log", [site.op("Add", [small, site.scalar(eps * scale)])])
    small = site.op("Sub", [small, site.scalar(log(scale))])
    large = site.op("Log", [site.op("Max", [x, site.scalar(limit)])])
    is_small = site.op("Less", [x, site.scalar(limit)])
    return [site.op("Where", [is_small, small, large])]

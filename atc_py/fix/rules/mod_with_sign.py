"""Rule mod-with-sign: a remainder with the sign of the dividend, plus the divisor where the signs differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.ranges import Range
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for, require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_NARROW = frozenset({DType.INT8, DType.INT16})
_HALF = {DType.INT32: 2**30, DType.INT64: 2**62}
"""Largest divisor by dtype whose double does not overflow."""


@fix_rule(
    "mod-with-sign",
    ("Mod",),
    Exactness.EQUAL,
    RuleText(
        before=Words("Mod of signed integers with fmod 0", "fmod 为 0 的有符号整数 Mod"),
        after=Words(
            "Mod with fmod 1, Add of B, Mod with fmod 1; for int32 without bounds Less, Equal, Where",
            "fmod 为 1 的 Mod，加 B 后再 Mod；无界的 int32 用 Less、Equal、Where",
        ),
        condition=Words("bounds of B are known if it is int64", "B 为 int64 时需知其范围"),
    ),
    example=RuleCase("Mod", (Fed((3, 4), DType.INT32), Fed((4,), DType.INT32, (1, 9)))),
    near_miss=RuleCase("Mod", (Fed((3, 4), DType.INT32), Fed((4,), DType.INT32, (1, 9))), {"fmod": 1}),
    deviations=("Mod/sign-of-dividend",),
)  # fmt: skip
def mod_with_sign(site: Site) -> Sequence[str]:
    """Write the remainder with the sign of the divisor."""
    meant_for(not site.integer("fmod", 0) and site.element in {*_NARROW, *_HALF})
    a, b = site.name(0), site.name(1)
    if site.element in _NARROW:
        a, b = (site.cast(each, DType.INT32) for each in (a, b))
        y = _added_always(site, a, b)
        return [site.cast(y, site.element)]
    half = _HALF[site.element]
    bounds = site.range(1)
    if bounds is not None and bounds.within(Range(-half, half)):
        return [_added_always(site, a, b)]
    require(site.element is DType.INT32, "bounds of B are known", "B 的范围已知")
    return [_added_where_signs_differ(site, a, b)]


def _added_always(site: Site, a: str, b: str) -> str:
    """Write the remainder of the remainder plus the divisor, which has the divisor's sign."""
    rest = site.op("Mod", [a, b], fmod=1)
    return site.op("Mod", [site.op("Add", [rest, b]), b], fmod=1)


def _added_where_signs_differ(site: Site, a: str, b: str) -> str:
    """Write a sum of numbers of opposite signs, which does not overflow."""
    zero = site.const(0, DType.INT32, "zero")
    rest = site.op("Mod", [a, b], fmod=1)
    negative = [site.op("Less", [each, zero]) for each in (rest, b)]
    same = site.op("Or", [site.op("Equal", negative), site.op("Equal", [rest, zero])])
    return site.op("Add", [rest, site.op("Where", [same, zero, b])])

"""Rule variance-of-deviations: the mean of squares less the square of the mean, as the mean of squared deviations.

mean(x^2) - mean(x)^2 = mean((x - mean(x))^2). The left side is the difference of two numbers that
are large where the mean is, of which float16 keeps three digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, case_after
from atc_py.fix.parts.patterns import mean_of, require_float32, square_of
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import UnfitError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.case import CaseNode
    from atc_py.fix.parts.patterns import Mean
    from atc_py.fix.site import Site

__all__: list[str] = []

_NEAR_ONE = 1e-6
_AXES = {"axes": [-1], "keepdims": 1}
_MOMENTS: tuple[CaseNode, ...] = (
    ("Mul", ("x0", "x0"), ("square",), {}),
    ("ReduceMean", ("square",), ("squares",), _AXES),
    ("ReduceMean", ("x0",), ("mean",), _AXES),
    ("Mul", ("mean", "mean"), ("of_mean",), {}),
)


@fix_rule(
    "variance-of-deviations",
    ("Sub",),
    Exactness.BOUNDED,
    RuleText(
        before=Words(
            "the mean of squares less the square of the mean", "平方的均值减去均值的平方"
        ),
        after=Words(
            "ReduceMean, Sub, Mul by itself, ReduceMean", "ReduceMean、Sub、自乘、ReduceMean"
        ),
        condition=Words(
            "both means are over the same axes of one tensor, whose dims are known",
            "两个均值取自同一张量的相同轴，且形状已知",
        ),
        float16=Words(
            "no difference of large numbers, no squares of the mean",
            "不再有大数相减，也不再计算均值的平方",
        ),
    ),
    example=case_after(_MOMENTS, "Sub", ("squares", "of_mean"), {"x0": Fed((3, 64))}),
    near_miss=case_after(
        _MOMENTS, "Sub", ("squares", "x1"), {"x0": Fed((3, 64)), "x1": Fed((3, 1))}
    ),
    bound=1e-4,
    precision=True,
)  # fmt: skip
def variance_of_deviations(site: Site) -> Sequence[str]:
    """Write the mean of squared deviations."""
    require_float32(site)
    squares = mean_of(site, site.tensor(0))
    mean = mean_of(site, square_of(site, site.tensor(1)))
    if squares is None or mean is None or not _are_moments(squares, mean):
        raise UnfitError(
            Words(
                "it is the variance by the means of x and of its squares",
                "为由均值与平方均值求得的方差",
            )
        )
    x, axes = mean.source.name, mean.axes
    deviation = site.op("Sub", [x, site.reduce("ReduceMean", x, axes)])
    square = site.op("Mul", [deviation, deviation])
    return [site.reduce("ReduceMean", square, axes, keepdims=mean.keepdims)]


def _are_moments(squares: Mean, mean: Mean) -> bool:
    """Return True for the second and the first moment of one tensor."""
    alike = (squares.source.name, squares.axes, squares.keepdims) == (
        mean.source.name,
        mean.axes,
        mean.keepdims,
    )
    whole = all(abs(each.factor - 1) <= _NEAR_ONE for each in (squares, mean))
    return alike and whole and squares.squared and not mean.squared

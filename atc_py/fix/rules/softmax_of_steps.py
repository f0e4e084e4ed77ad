"""Rule softmax-of-steps: exponentials divided by their sum are Softmax, which subtracts the largest exponent first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import Fed, case_after
from atc_py.fix.parts.patterns import require_float32, shaped
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import UnfitError, require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.case import CaseNode
    from atc_py.fix.site import Site
    from atc_py.source import SourceNode

__all__: list[str] = []

_STEPS: tuple[CaseNode, ...] = (
    ("Exp", ("x0",), ("e",), {}),
    ("ReduceSum", ("e", "x1"), ("sum",), {"keepdims": 1}),
)


@fix_rule(
    "softmax-of-steps",
    ("Div",),
    Exactness.REORDERED,
    RuleText(
        before=Words("Exp, ReduceSum over one axis, Div", "Exp、沿一条轴 ReduceSum、Div"),
        after=Words(
            "Softmax along the axis, turned to be the last one where it is not",
            "沿该轴的 Softmax；必要时先转置为最后一轴",
        ),
        condition=Words(
            "the sum is of the same exponentials, over one axis, of known dims",
            "和取自同一指数结果的一条轴，且形状已知",
        ),
        float16=Words(
            "exponentials of numbers above 11 and long sums do not overflow",
            "大于 11 的数的指数及长和不溢出",
        ),
    ),
    example=case_after(_STEPS, "Div", ("e", "sum"), {"x0": Fed((3, 64)), "x1": np.array([1])}),
    near_miss=case_after(_STEPS, "Div", ("x0", "sum"), {"x0": Fed((3, 64)), "x1": np.array([1])}),
    precision=True,
)
def softmax_of_steps(site: Site) -> Sequence[str]:
    """Write Softmax."""
    require_float32(site)
    power = site.maker(site.tensor(0))
    total = site.maker(shaped(site, site.tensor(1)))
    if power is None or power.op_type != "Exp" or total is None or power.inputs[0] is None:
        raise UnfitError(Words("exponentials are divided by their sum", "指数除以其和"))
    require(
        total.op_type == "ReduceSum" and total.inputs[0] is power.outputs[0],
        "the sum is of the same exponentials",
        "和取自同一指数结果",
    )
    shape = site.shape(0)
    axis = _axis(total, len(shape))
    divisor = site.shape(1)
    require(
        divisor in {shape, (*shape[:axis], 1, *shape[axis + 1 :])},
        "the sum is broadcast along its axis",
        "和沿其轴广播",
    )
    order = [*(each for each in range(len(shape)) if each != axis), axis]
    x = site.transpose(power.inputs[0].name, order)
    y = site.op("Softmax", [x], axis=len(shape) - 1)
    return [site.transpose(y, [int(each) for each in np.argsort(order)])]


def _axis(total: SourceNode, rank: int) -> int:
    """Return the one axis of the sum.

    Raises:
        UnfitError: it has several, or they are not constant.
    """
    axes = total.attributes.get("axes")
    second = total.inputs[1] if len(total.inputs) > 1 else None
    if second is not None and second.const is not None:
        axes = tuple(int(each) for each in second.const.numpy().reshape(-1))
    if not isinstance(axes, tuple) or len(axes) != 1:
        raise UnfitError(Words("the sum is over one axis", "和沿一条轴"))
    return int(axes[0]) % rank

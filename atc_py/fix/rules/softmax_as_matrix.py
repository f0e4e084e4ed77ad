"""Rule softmax-as-matrix: before opset 13 axes from `axis` on are one, which Reshape states."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_ALONG_ONE_AXIS = 13


@fix_rule(
    "softmax-as-matrix",
    ("Hardmax", "LogSoftmax", "Softmax"),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "Hardmax, LogSoftmax or Softmax over several axes, before opset 13",
            "opset 13 之前跨多条轴的 Hardmax、LogSoftmax、Softmax",
        ),
        after=Words("Reshape, the operator over the last axis, Reshape", "Reshape，沿最后一轴计算，再 Reshape"),
        condition=Words("dims are known; opset 12 or less", "形状已知；opset 不超过 12"),
    ),
    example=RuleCase("LogSoftmax", (Fed((2, 3, 4)),), {"axis": 1}, opset=11),
    near_miss=RuleCase("LogSoftmax", (Fed((2, 3, 4)),), {"axis": 2}, opset=11),
    deviations=("Hardmax/one-axis", "LogSoftmax/one-axis"),
)  # fmt: skip
def softmax_as_matrix(site: Site) -> Sequence[str]:
    """Write the operator between two changes of shape."""
    meant_for(site.node.opset < _ALONG_ONE_AXIS)
    dims = site.shape(0)
    axis = site.axis(1, len(dims))
    x = site.reshape(site.name(0), [prod(dims[:axis]), prod(dims[axis:])])
    return [site.reshape(site.op(site.node.op_type, [x], axis=1), list(dims))]

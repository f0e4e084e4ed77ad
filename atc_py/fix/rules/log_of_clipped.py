"""Rule log-of-clipped: log(max(x, eps)) = max(log(max(x, 0)), log(eps)), where float16 has no digits for eps."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import Fed, case_after
from atc_py.fix.parts.patterns import LEAST_NORMAL, beside_number, number_of, require_float32
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import UnfitError, require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.case import CaseNode
    from atc_py.fix.site import Site
    from atc_py.source import SourceNode, SourceTensor

__all__: list[str] = []

_CLIPPED: tuple[CaseNode, ...] = (("Clip", ("x0", "x1"), ("a",), {}),)


@fix_rule(
    "log-of-clipped",
    ("Log",),
    Exactness.REORDERED,
    RuleText(
        before=Words("Log of a number whose lower bound is a small constant", "下限为小常量的数的 Log"),
        after=Words(
            "Log of the number with the lower bound 0, Max with the constant's logarithm",
            "下限为 0 的数的 Log，再与常量的对数取 Max",
        ),
        condition=Words(
            "the constant is positive and below 2 to the power of -14, no upper bound",
            "常量为正且小于 2 的 -14 次方，无上限",
        ),
        float16=Words(
            "the logarithm of 0 is that of the constant, not minus infinity",
            "0 的对数等于常量的对数，而非负无穷",
        ),
    ),
    example=case_after(
        _CLIPPED, "Log", ("a",), {"x0": Fed((3, 64)), "x1": np.array(1e-10, np.float32)}
    ),
    near_miss=case_after(
        _CLIPPED, "Log", ("a",), {"x0": Fed((3, 64)), "x1": np.array(1e-3, np.float32)}
    ),
    precision=True,
)  # fmt: skip
def log_of_clipped(site: Site) -> Sequence[str]:
    """Write the larger of the two logarithms."""
    require_float32(site)
    x, least = _bounded(site.maker(site.tensor(0)))
    require(
        0 < least < LEAST_NORMAL,
        "the constant is positive and below 2 to the power of -14",
        "常量为正且小于 2 的 -14 次方",
    )
    y = site.op("Log", [site.op("Max", [x.name, site.scalar(0.0)])])
    return [site.op("Max", [y, site.scalar(log(least))])]


def _bounded(node: SourceNode | None) -> tuple[SourceTensor, float]:
    """Return a tensor and its lower bound.

    Raises:
        UnfitError: the node gives it none, or an upper one, too.
    """
    found = None
    if node is not None and node.op_type == "Max":
        found = beside_number(node)
    elif node is not None and node.op_type == "Clip" and node.inputs[0] is not None:
        inputs = (*node.inputs, None, None)
        stated = node.attributes.get("min")
        least = stated if isinstance(stated, float) else number_of(inputs[1])
        if least is not None and inputs[2] is None and "max" not in node.attributes:
            found = (node.inputs[0], float(least))
    if found is None:
        raise UnfitError(Words("a constant is the lower bound", "下限为常量"))
    return found

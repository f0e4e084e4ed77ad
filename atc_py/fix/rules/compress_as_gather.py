"""Rule compress-as-gather: a constant condition selects constant positions."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "compress-as-gather",
    ("Compress",),
    Exactness.EQUAL,
    RuleText(
        before=Words("Compress with a constant condition", "条件为常量的 Compress"),
        after=Words(
            "Gather of the positions where the condition is true", "按条件为真的位置做 Gather"
        ),
        condition=Words(
            "the condition is constant and true somewhere", "条件为常量且至少有一处为真"
        ),
    ),
    example=RuleCase(
        "Compress", (Fed((3, 4)), ConstInput(np.array([True, False, True]))), {"axis": 1}, opset=11
    ),
    near_miss=RuleCase("Compress", (Fed((3, 4)), Fed((3,), DType.BOOL)), {"axis": 1}, opset=11),
)
def compress_as_gather(site: Site) -> Sequence[str]:
    """Write the elements at the chosen positions."""
    dims = site.dims(0)
    chosen = np.flatnonzero(site.constant(1))
    x, axis = site.name(0), 0
    if "axis" in site.node.attributes:
        axis = site.axis(0, len(dims))
        size = dims[axis]
    else:
        x = site.reshape(x, [-1])
        known = [each for each in dims if isinstance(each, int)]
        size = prod(known) if len(known) == len(dims) else None
    if isinstance(size, int):
        chosen = chosen[chosen < size]  # a condition that is too long is cut off
    require(chosen.size, "the condition is true somewhere", "条件至少有一处为真")
    return [site.op("Gather", [x, site.const(chosen, label="positions")], axis=axis)]

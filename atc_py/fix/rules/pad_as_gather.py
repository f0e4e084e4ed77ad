"""Rule pad-as-gather: pads that repeat elements of X pick them by constant positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.padding import pads_of
from atc_py.fix.parts.pools import take
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_NAMES = {"edge": "edge", "reflect": "reflect", "wrap": "wrap"}
"""Names of the modes of Pad in numpy."""


@fix_rule(
    "pad-as-gather",
    ("Pad",),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "Pad of mode wrap; edge or reflect with negative pads or a dtype that is not listed",
            "wrap 模式的 Pad；填充为负或类型不在清单中的 edge、reflect",
        ),
        after=Words("Gather along each axis", "沿各轴 Gather"),
        condition=Words(
            "mode edge, reflect or wrap; pads and axes are constant; dims are known; the pads of "
            "reflect are smaller than the axis",
            "模式为 edge、reflect 或 wrap；pads、axes 为常量；形状已知；reflect 的填充小于轴长",
        ),
    ),
    example=RuleCase(
        "Pad", (Fed((2, 5)), ConstInput(np.array([0, 2, 0, 3]))), {"mode": "wrap"}, opset=19
    ),
    near_miss=RuleCase("Pad", (Fed((2, 3)), ConstInput(np.array([0, -1, 0, 1])))),
)
def pad_as_gather(site: Site) -> Sequence[str]:
    """Write the picking along each axis."""
    dims, found = site.shape(0), pads_of(site)
    require(found.mode in _NAMES, "mode is edge, reflect or wrap", "模式为 edge、reflect 或 wrap")
    y = site.name(0)
    for axis, size in enumerate(dims):
        begin, end = found.begins[axis], found.ends[axis]
        there = tables.arange(max(-begin, 0), size + min(end, 0))
        require(there.size, "elements of X are left", "X 有元素保留")
        most = max(begin, end)
        small = found.mode != "reflect" or most < there.size
        require(small, "the pads of reflect are smaller than the axis", "reflect 的填充小于轴长")
        mode: Any = _NAMES[found.mode]
        positions = tables.pad(there, [(max(begin, 0), max(end, 0))], mode)
        y = take(site, y, axis, positions, size)
    return [site.op("Identity", [y]) if y == site.name(0) else y]

"""Rule expand-as-tile: broadcasting by repeats, which the list takes of any dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "expand-as-tile",
    ("Expand",),
    Exactness.EQUAL,
    RuleText(
        before=Words("Expand of a dtype that is not listed", "Expand 的数据类型不在清单中"),
        after=Words("Reshape to the rank of the result, Tile", "变形为结果的秩，再 Tile"),
        condition=Words("dims are known", "形状已知"),
    ),
    example=RuleCase("Expand", (Fed((3, 1), DType.INT32), ConstInput(np.array([2, 3, 4])))),
    near_miss=RuleCase("Expand", (Fed((3, 1), DType.INT32), Fed((3,), DType.INT64, (3, 3)))),
)
def expand_as_tile(site: Site) -> Sequence[str]:
    """Write the tensor repeated along its axes of 1."""
    dims = site.shape(0)
    wanted = [int(each) for each in site.constant(1)]
    rank = max(len(dims), len(wanted))
    before = [1] * (rank - len(dims)) + list(dims)
    asked = [1] * (rank - len(wanted)) + wanted
    repeats = [size if dim == 1 else 1 for dim, size in zip(before, asked, strict=True)]
    x = site.name(0)
    if len(dims) < rank:
        x = site.reshape(x, before)
    return [site.op("Tile", [x, site.const(repeats, label="repeats")])]

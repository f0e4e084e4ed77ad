"""Rule hardmax-as-matrix: a Hardmax along any axis is that of a matrix whose columns are the axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_ALONG_ONE_AXIS = 13
_MATRIX = 2


@fix_rule(
    "hardmax-as-matrix",
    ("Hardmax",),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "Hardmax of more or fewer than two axes, or not along the last",
            "秩不为 2 或不沿末轴的 Hardmax",
        ),
        after=Words(
            "Transpose, Reshape to a matrix, Hardmax, Reshape, Transpose",
            "转置、变形为矩阵、Hardmax、再变形、再转置",
        ),
        condition=Words("dims are known; the opset is 13 or more", "形状已知；opset 不低于 13"),
    ),
    example=RuleCase("Hardmax", (Fed((2, 3, 4)),), {"axis": 1}),
    near_miss=RuleCase("Hardmax", (Fed((2, 3), DType.FLOAT64),)),
)
def hardmax_as_matrix(site: Site) -> Sequence[str]:
    """Write the Hardmax of a matrix."""
    require(site.node.opset >= _ALONG_ONE_AXIS, "the opset is 13 or more", "opset 不低于 13")
    dims = site.shape(0)
    axis = site.axis(-1, len(dims))
    require(
        len(dims) != _MATRIX or axis == 0,
        "X is not a matrix along its last axis",
        "X 不是沿末轴的矩阵",
    )
    order = [*(each for each in range(len(dims)) if each != axis), axis]
    moved = [dims[each] for each in order]
    x = site.transpose(site.name(0), order)
    matrix = site.reshape(x, [int(np.prod(moved[:-1], dtype=np.int64)), moved[-1]])
    y = site.reshape(site.op("Hardmax", [matrix], axis=1), moved)
    return [site.transpose(y, [int(each) for each in np.argsort(order)])]

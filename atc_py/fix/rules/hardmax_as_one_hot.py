"""Rule hardmax-as-one-hot: a Hardmax is 1 at the first largest element, and 0 elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_ALONG_ONE_AXIS = 13


@fix_rule(
    "hardmax-as-one-hot",
    ("Hardmax",),
    Exactness.EQUAL,
    RuleText(
        before=Words("Hardmax that is not listed in its dtype or rank", "类型或秩不在清单中的 Hardmax"),
        after=Words("ArgMax, OneHot", "ArgMax，OneHot"),
        condition=Words("dims are known; x is float16 or float32", "形状已知；x 为 float16 或 float32"),
    ),
    example=RuleCase("Hardmax", (Fed((2, 3, 4)),), {"axis": 1}, opset=11),
    near_miss=RuleCase("Hardmax", (Fed((2, 3, 4), DType.FLOAT64),), {"axis": 1}, opset=11),
)  # fmt: skip
def hardmax_as_one_hot(site: Site) -> Sequence[str]:
    """Write the position of the largest element, as a row of zeros and a one."""
    require(site.element in FLOATS, "x is float16 or float32", "x 为 float16 或 float32")
    dims = site.shape(0)
    require(0 not in dims, "x has elements", "x 非空")
    old = site.node.opset < _ALONG_ONE_AXIS
    axis = site.integer("axis", 1 if old else -1)
    coerced = old or len(dims) == 1  # no ArgMax of a vector is listed
    axis = axis + len(dims) if axis < 0 else axis
    x, size = site.name(0), dims[axis] if axis < len(dims) else 1
    if coerced:
        size = int(np.prod(dims[axis:], dtype=np.int64))
        x, axis = site.reshape(x, [int(np.prod(dims[:axis], dtype=np.int64)), size]), 1
    place = site.op("ArgMax", [x], axis=axis, keepdims=0)
    values = site.const([0, 1], site.element, "values")
    y = site.op("OneHot", [place, site.const([size], label="depth"), values], axis=axis)
    return [site.reshape(y, list(dims)) if coerced else y]

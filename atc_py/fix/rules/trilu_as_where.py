"""Rule trilu-as-where: a constant mask over the last two axes chooses between x and 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.narrow import require_range
from atc_py.fix.ranges import INT32
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_MATRIX = 2


@fix_rule(
    "trilu-as-where",
    ("Trilu", "com.microsoft::Trilu"),
    Exactness.EQUAL,
    RuleText(
        before=Words("Trilu of ONNX or onnxruntime", "ONNX 或 onnxruntime 的 Trilu"),
        after=Words(
            "Where with a mask, constant or from a comparison with k",
            "以掩码做 Where，掩码为常量或与 k 比较得到",
        ),
        condition=Words(
            "the last two dims are known; k is known to fit int32",
            "最后两维已知，且已知 k 在 int32 以内",
        ),
    ),
    example=RuleCase("Trilu", (Fed((2, 3, 4)), ConstInput(np.array(1))), {"upper": 0}, opset=14),
    near_miss=RuleCase("Trilu", (Fed((2, 3, 4)), Fed((), DType.INT64)), opset=14),
)
def trilu_as_where(site: Site) -> Sequence[str]:
    """Write the choice of the elements of one triangle."""
    dims = site.dims(0)
    require(
        len(dims) >= _MATRIX and None not in dims[-2:],
        "the last two dims are known",
        "最后两维已知",
    )
    rows, columns = (int(each or 0) for each in dims[-2:])
    given = site.tensor(1)
    zero = site.scalar(0, "zero")
    if given is not None and given.const is None:
        return [site.op("Where", [_computed_mask(site, rows, columns), site.name(0), zero])]
    k = int(site.constant(1).reshape(-1)[0]) if given is not None else 0
    ones = tables.ones((rows, columns), np.bool_)
    mask = np.triu(ones, k) if site.integer("upper", 1) else np.tril(ones, k)
    return [site.op("Where", [site.const(mask, DType.BOOL, "mask"), site.name(0), zero])]


def _computed_mask(site: Site, rows: int, columns: int) -> str:
    """Write column - row >= k, or <= k, for a diagonal that is known at run time."""
    require_range(site, 1, INT32)
    steps = site.const(tables.arange(columns) - tables.arange(rows)[:, None], DType.INT32, "steps")
    k = site.cast(site.name(1), DType.INT32)
    compare = "Less" if site.integer("upper", 1) else "Greater"
    return site.op("Not", [site.op(compare, [steps, k])])

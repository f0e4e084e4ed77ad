"""Rule trilu-as-where: a constant mask over the last two axes chooses between x and 0."""

from __future__ import annotations

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

_MATRIX = 2


@fix_rule(
    "trilu-as-where",
    ("Trilu", "com.microsoft::Trilu"),
    Exactness.EQUAL,
    RuleText(
        before=Words("Trilu of ONNX or onnxruntime", "ONNX 或 onnxruntime 的 Trilu"),
        after=Words("Where with a constant mask", "以常量掩码做 Where"),
        condition=Words("the last two dims and k are known", "最后两维与 k 已知"),
    ),
    example=RuleCase("Trilu", (Fed((2, 3, 4)), ConstInput(np.array(1))), {"upper": 0}, opset=14),
    near_miss=RuleCase("Trilu", (Fed((2, 3, 4)), Fed((), DType.INT64, (0, 1))), opset=14),
)
def trilu_as_where(site: Site) -> Sequence[str]:
    """Write the choice of the elements of one triangle."""
    dims = site.dims(0)
    require(
        len(dims) >= _MATRIX and None not in dims[-2:],
        "the last two dims are known",
        "最后两维已知",
    )
    k = int(site.constant(1).reshape(-1)[0]) if site.tensor(1) is not None else 0
    rows, columns = (int(each or 0) for each in dims[-2:])
    ones = np.ones((rows, columns), np.bool_)
    mask = np.triu(ones, k) if site.integer("upper", 1) else np.tril(ones, k)
    return [
        site.op(
            "Where", [site.const(mask, DType.BOOL, "mask"), site.name(0), site.scalar(0, "zero")]
        )
    ]

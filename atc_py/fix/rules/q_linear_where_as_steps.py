"""Rule q-linear-where-as-steps: codes are made numbers, one of two is chosen, and the choice is coded again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.steps_of_codes import LIMITS
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


def _case(*, one_step: bool) -> RuleCase:
    """Return a case; `one_step` is whether X has one step."""
    step = ConstInput(np.array(0.1 if one_step else [0.1] * 3, np.float32))
    zero = ConstInput(np.array(3, np.uint8))
    codes = Fed((2, 3), DType.UINT8)
    numbers = (codes, step, zero, codes, ConstInput(np.array(0.2, np.float32)), zero)
    result = (ConstInput(np.array(0.15, np.float32)), zero)
    inputs = (Fed((2, 3), DType.BOOL), *numbers, *result)
    return RuleCase("QLinearWhere", inputs, opset=1, domain="com.microsoft")


@fix_rule(
    "q-linear-where-as-steps",
    ("com.microsoft::QLinearWhere",),
    Exactness.REORDERED,
    RuleText(
        before=Words("QLinearWhere", "QLinearWhere"),
        after=Words(
            "Cast, Sub, Mul of both operands, Where, Div, Round, Add, Clip, Cast",
            "两操作数做 Cast、Sub、Mul，Where，再 Div、Round、Add、Clip、Cast",
        ),
        condition=Words("each tensor has one step and one zero point", "每个张量仅有一个步长与零点"),
        float16=Words("a quotient may round to the next code", "商可能舍入到相邻编码"),
    ),
    example=_case(one_step=True),
    near_miss=_case(one_step=False),
)  # fmt: skip
def q_linear_where_as_steps(site: Site) -> Sequence[str]:
    """Write the choice of numbers, and its codes."""
    for at in (2, 3, 5, 6, 7, 8):
        single = site.shape(at) in {(), (1,)}
        require(single, "each tensor has one step and one zero point", "每个张量仅有一个步长与零点")
    dtype = site.input(1).dtype
    require(dtype in LIMITS, "codes have 8 or 16 bits", "编码为 8 或 16 位")
    numbers = []
    for at in (1, 4):
        codes, zero = (site.cast(site.name(each), DType.FLOAT32) for each in (at, at + 2))
        shifted = site.op("Sub", [codes, site.reshape(zero, [])])
        numbers.append(site.op("Mul", [shifted, site.reshape(site.name(at + 1), [])]))
    chosen = site.op("Where", [site.name(0), *numbers])
    codes = site.op("Round", [site.op("Div", [chosen, site.reshape(site.name(7), [])])])
    zero = site.reshape(site.cast(site.name(8), DType.FLOAT32), [])
    low, high = LIMITS[dtype or DType.UINT8]
    y = site.clip(site.op("Add", [codes, zero]), low, high)
    return [site.cast(y, dtype or DType.UINT8)]

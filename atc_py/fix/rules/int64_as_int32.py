"""Rule int64-as-int32: arithmetic on 64-bit integers whose values are known to fit 32 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.ranges import INT32, Range
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import UnfitError, require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_WIDE = frozenset({DType.INT64, DType.UINT32, DType.UINT64})


@fix_rule(
    "int64-as-int32",
    (
        "Abs", "Add", "Clip", "CumSum", "Div", "Equal", "Expand", "Greater", "GreaterOrEqual",
        "Less", "LessOrEqual", "Max", "Min", "Mod", "Mul", "Neg", "ReduceMax", "ReduceMin",
        "ReduceSum", "ScatterElements", "Sign", "Sub", "Sum", "Where",
    ),
    Exactness.EQUAL,
    RuleText(
        before=Words("an operator on int64 whose values fit int32", "数值可用 int32 表示的 int64 运算"),
        after=Words("Cast to int32, the operator, Cast back", "转换为 int32，运算，再转换回来"),
        condition=Words(
            "dims, constants, indices and --range show that operands and result fit int32",
            "由形状、常量、下标与 --range 可知操作数与结果均在 int32 范围内",
        ),
        float16=Words("int32 stays int32", "int32 不受影响"),
    ),
    example=RuleCase("Less", (Fed((2, 3), DType.INT64, (0, 9)), ConstInput(np.arange(3, dtype=np.int64)))),
    near_miss=RuleCase("Sub", (Fed((2, 3), DType.INT64), Fed((2, 3), DType.INT64))),
)  # fmt: skip
def int64_as_int32(site: Site) -> Sequence[str]:
    """Write the operator on int32."""
    names = []
    narrowed = False
    for position in range(len(site.node.inputs)):
        tensor = site.tensor(position)
        if tensor is None or tensor.dtype not in _WIDE or _is_count(site, position):
            names.append(site.name(position))
            continue
        _require_fit(site.range(position), tensor.name)
        names.append(site.cast(tensor.name, DType.INT32))
        narrowed = True
    require(narrowed, "an operand is int64", "有 int64 操作数")
    result = site.output(0)
    back = result.dtype if result is not None and result.dtype in _WIDE else None
    if back is not None:
        _require_fit(site.result_range(), "the result")
    y = site.again(names)[0]
    return [y if back is None else site.cast(y, back)]


def _is_count(site: Site, position: int) -> bool:
    """Return True for the input of shapes, axes and indices, which is listed as int64."""
    return (position > 0 and site.node.op_type in {
        "CumSum", "Expand", "ReduceMax", "ReduceMin", "ReduceSum"
    }) or (site.node.op_type == "ScatterElements" and position == 1)  # fmt: skip


def _require_fit(found: Range | None, name: str) -> None:
    """Require a range within int32; inputs of the model need one from the user."""
    if found is not None and found.within(INT32):
        return
    raise UnfitError(
        Words(
            f"the values of {name} fit int32; give bounds of the model's inputs with --range",
            f"{name} 的数值可用 int32 表示；可用 --range 给出模型输入的范围",
        )
    )

"""Rule int64-as-int32: operators on integers that are not listed, on int32, where the values fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.narrow import INTEGERS, require_range, require_result
from atc_py.fix.ranges import INT32
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_SHAPES_AND_AXES = {
    "CumSum": {1}, "Expand": {1}, "Gather": {1}, "GatherElements": {1}, "GatherND": {1}, "OneHot": {0, 1},
    "Pad": {1, 3}, "ReduceMax": {1}, "ReduceMin": {1}, "ReduceProd": {1}, "ReduceSum": {1},
    "ScatterElements": {1}, "Slice": {1, 2, 3, 4}, "Split": {1}, "Squeeze": {1}, "Tile": {1}, "Trilu": {1},
    "Unsqueeze": {1}, "Where": {0},
}  # fmt: skip
"""Positions of inputs that are shapes, axes, positions or conditions: they stay as they are."""

_MOVES = frozenset({
    "Concat", "Expand", "Gather", "GatherElements", "GatherND", "NonZero", "Pad", "ScatterElements", "Slice",
    "Split", "Squeeze", "Tile", "Transpose", "Trilu", "Unsqueeze", "Where",
})  # fmt: skip
"""Operators that ONNX defines for bool, which become 0 and 1."""


@fix_rule(
    "int64-as-int32",
    (
        "Abs", "Add", "ArgMax", "ArgMin", "Clip", "Concat", "CumSum", "Div", "Equal", "Expand",
        "Gather", "GatherElements", "GatherND", "Greater", "GreaterOrEqual", "Less", "LessOrEqual",
        "Max", "Min", "Mod", "Mul", "Neg", "NonZero", "OneHot", "Pad", "Pow", "ReduceMax", "ReduceMin",
        "ReduceProd", "Relu", "ScatterElements", "Sign", "Slice", "Split", "Squeeze", "Sub", "Tile",
        "Transpose", "Trilu", "Unsqueeze", "Where",
    ),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "an operator on integers that are not listed, whose values fit int32",
            "整数类型不在清单中、数值可用 int32 表示的运算",
        ),
        after=Words("Cast to int32, the operator, Cast back", "转换为 int32，运算，再转换回来"),
        condition=Words(
            "dims, constants, indices and --range show that operands and result fit int32, and that "
            "no result wraps around",
            "由形状、常量、下标与 --range 可知操作数与结果均在 int32 范围内，且结果不回绕",
        ),
        float16=Words("int32 stays int32", "int32 不受影响"),
    ),
    example=RuleCase("Less", (Fed((2, 3), DType.INT64, (0, 9)), ConstInput(np.arange(3, dtype=np.int64)))),
    near_miss=RuleCase("Sub", (Fed((2, 3), DType.INT64), Fed((2, 3), DType.INT64))),
)  # fmt: skip
def int64_as_int32(site: Site) -> Sequence[str]:
    """Write the operator on int32."""
    op_type = site.node.op_type
    stay = _SHAPES_AND_AXES.get(op_type, set())
    kinds = INTEGERS - {DType.INT32} | ({DType.BOOL} if op_type in _MOVES else set())
    names = []
    narrowed = False
    for position in range(len(site.node.inputs)):
        tensor = site.tensor(position)
        if tensor is None or tensor.dtype not in kinds or position in stay:
            names.append(site.name(position))
            continue
        require_range(site, position, INT32)
        names.append(site.cast(tensor.name, DType.INT32))
        narrowed = True
    meant_for(narrowed)
    results = site.again(names, len(site.node.outputs))
    return [_back(site, result, position) for position, result in enumerate(results)]


def _back(site: Site, result: str, position: int) -> str:
    """Return a result in the dtype that it had."""
    tensor = site.output(position)
    if tensor is None or _is_position(site):
        return result
    dtype = tensor.dtype
    if dtype is None or dtype is DType.INT32 or (dtype is DType.BOOL and _compares(site)):
        return result
    if dtype is not DType.BOOL:
        require_result(site, INT32, position)
    return site.cast(result, dtype)


def _compares(site: Site) -> bool:
    """Return True for operators whose result is a bool, whatever they compare."""
    return site.node.op_type in {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}


def _is_position(site: Site) -> bool:
    """Return True for operators whose result is int64, whatever they look at."""
    return site.node.op_type in {"ArgMax", "ArgMin", "NonZero"}

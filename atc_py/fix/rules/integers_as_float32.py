"""Rule integers-as-float32: integers up to 2^24 are the same numbers in float32, sums included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.narrow import EXACT_FLOAT, INTEGERS, require_range, require_result
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for, require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_OPERANDS = {
    "ArgMax": (0,), "ArgMin": (0,), "Gemm": (0, 1, 2), "MatMul": (0, 1), "ReduceMin": (0,),
    "ReduceSum": (0,), "ScatterND": (0, 2), "Sign": (0,), "Split": (0,),
    "Pad": (0, 2), "OneHot": (2,), "GatherElements": (0,), "Hardmax": (0,), "ReduceL1": (0,),
    "ReduceMax": (0,), "Relu": (0,), "PRelu": (0, 1), "Resize": (0,), "SpaceToDepth": (0,),
    "ScatterElements": (0, 2),
}  # fmt: skip
"""By operator: positions of the operands; the others are shapes, axes and positions."""

_POSITIONS = {"ArgMax": (0,), "ArgMin": (0,)}
"""By operator: results that are positions, in int64."""


@fix_rule(
    "integers-as-float32",
    tuple(_OPERANDS),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "an operator on integers or bools that is listed for floats",
            "清单仅列出浮点类型的整数或 bool 运算",
        ),
        after=Words("Cast to float32, the operator, Cast back", "转为 float32，运算，再转回"),
        condition=Words(
            "operands and results are at most 2^24 in magnitude, by dims, constants and --range",
            "由形状、常量与 --range 可知操作数与结果的绝对值不超过 2^24",
        ),
        float16=Words(
            "float16 holds integers to 2048 exactly", "float16 只能精确表示不超过 2048 的整数"
        ),
    ),
    example=RuleCase("ReduceSum", (Fed((3, 5), DType.INT64, (0, 1000)),), {"axes": [1]}, opset=12),
    near_miss=RuleCase("ReduceSum", (Fed((3, 5), DType.INT64),), {"axes": [1]}, opset=12),
)  # fmt: skip
def integers_as_float32(site: Site) -> Sequence[str]:
    """Write the operator on float32."""
    op_type = site.node.op_type
    operands = _OPERANDS[op_type]
    site.input(operands[0])
    names = [site.name(at) for at in range(len(site.node.inputs))]
    for at in operands:
        tensor = site.tensor(at)
        if tensor is None:
            continue
        meant_for(tensor.dtype in INTEGERS or tensor.dtype is DType.BOOL)
        require_range(site, at, EXACT_FLOAT)
        names[at] = site.cast(tensor.name, DType.FLOAT32)
    _require_whole_numbers(site)
    results = list(site.again(names, len(site.node.outputs)))
    for at, tensor in enumerate(site.node.outputs):
        if tensor is None or at in _POSITIONS.get(op_type, ()):
            continue
        require_result(site, EXACT_FLOAT, at)
        dtype = tensor.dtype
        require(dtype is not None, "the dtype is known", "数据类型已知")
        results[at] = site.cast(results[at], dtype or DType.INT64)
    return results


def _require_whole_numbers(site: Site) -> None:
    """Require attributes with which all steps have whole numbers."""
    nearest = site.text("mode", "nearest") == "nearest"
    require(nearest or site.node.op_type != "Resize", "mode is nearest", "mode 为 nearest")
    for name in ("alpha", "beta"):
        if site.node.op_type == "Gemm":
            require(site.number(name, 1.0) == 1, f"{name} is 1", f"{name} 为 1")

"""Rule fused-mat-mul-as-steps: alpha * A' B' with either operand transposed in its last two axes (onnxruntime's FusedMatMul)."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


@fix_rule(
    "fused-mat-mul-as-steps",
    ("com.microsoft::FusedMatMul", "com.microsoft::TransposeMatMul"),
    Exactness.REORDERED,
    RuleText(
        before=Words("FusedMatMul of onnxruntime", "onnxruntime 的 FusedMatMul"),
        after=Words("Transpose, MatMul, Mul", "Transpose、MatMul、Mul"),
        condition=Words("the dtype is float16 or float32", "类型为 float16 或 float32"),
    ),
    example=RuleCase(
        "FusedMatMul",
        (Fed((2, 5, 3)), Fed((2, 5, 4))),
        {"transA": 1, "alpha": 0.5},
        opset=1,
        domain="com.microsoft",
    ),
    near_miss=RuleCase(
        "FusedMatMul",
        (Fed((5, 3), DType.FLOAT64), Fed((3, 4), DType.FLOAT64)),
        opset=1,
        domain="com.microsoft",
    ),
)
def fused_mat_mul_as_steps(site: Site) -> Sequence[str]:
    """Write the product of the transposed matrices."""
    require(site.element in FLOATS, "the dtype is float16 or float32", "类型为 float16 或 float32")
    operands = [_operand(site, at, letter) for at, letter in enumerate("AB")]
    alpha = site.number("alpha", 1.0)
    product = site.op("MatMul", operands)
    return [product if alpha == 1 else site.op("Mul", [product, site.scalar(alpha)])]


def _operand(site: Site, position: int, letter: str) -> str:
    """Return an operand with its batch axes first and its matrices as they are multiplied."""
    axes = list(range(len(site.dims(position))))
    if site.integer(f"transBatch{letter}", 0) and len(axes) > 1:
        # The first axis is one of the matrices.
        axes = [*axes[1:-1], axes[0], axes[-1]]
    if site.integer(f"trans{letter}", 0) and len(axes) > 1:
        axes = [*axes[:-2], axes[-1], axes[-2]]
    return site.transpose(site.name(position), axes)

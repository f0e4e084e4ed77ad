"""Rule fused-mat-mul-as-steps: alpha * A' B' with either operand transposed in its last two axes (onnxruntime's FusedMatMul)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

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
        condition=Words("batches are not transposed", "不转置批维"),
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
        (Fed((5, 2, 3)), Fed((2, 3, 4))),
        {"transBatchA": 1},
        opset=1,
        domain="com.microsoft",
    ),
)
def fused_mat_mul_as_steps(site: Site) -> Sequence[str]:
    """Write the product of the transposed matrices."""
    batched = site.integer("transBatchA", 0) or site.integer("transBatchB", 0)
    require(not batched, "batches are not transposed", "不转置批维")
    operands = []
    for position, flag in enumerate(("transA", "transB")):
        rank = len(site.dims(position))
        order = (
            [*range(rank - 2), rank - 1, rank - 2]
            if site.integer(flag, 0) and rank > 1
            else range(rank)
        )
        operands.append(site.transpose(site.name(position), list(order)))
    alpha = site.number("alpha", 1.0)
    product = site.op("MatMul", operands)
    return [product if alpha == 1 else site.op("Mul", [product, site.scalar(alpha)])]

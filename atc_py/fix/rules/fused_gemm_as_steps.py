"""Rule fused-gemm-as-steps: activation(alpha A' B' + beta C) (onnxruntime's FusedGemm)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.fused_activations import fused_activation
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_VALUES = ("activation_alpha", "activation_beta", "activation_gamma")
_OPERANDS = (Fed((3, 4)), data(4, 5), data(5, seed=1))


@fix_rule(
    "fused-gemm-as-steps",
    ("com.microsoft::FusedGemm",),
    Exactness.REORDERED,
    RuleText(
        before=Words("FusedGemm of onnxruntime", "onnxruntime 的 FusedGemm"),
        after=Words("Gemm, the activation", "Gemm、激活"),
        condition=Words(
            "the activation is one that onnxruntime fuses", "激活函数为 onnxruntime 可融合者"
        ),
    ),
    example=RuleCase(
        "FusedGemm", _OPERANDS, {"activation": "Relu"}, opset=1, domain="com.microsoft"
    ),
    near_miss=RuleCase(
        "FusedGemm", _OPERANDS, {"activation": "Clip"}, opset=1, domain="com.microsoft"
    ),
)
def fused_gemm_as_steps(site: Site) -> Sequence[str]:
    """Write the product and the activation."""
    given: dict[str, Any] = {
        name: each
        for name, each in site.node.attributes.items()
        if not name.startswith(("activation", "leaky_relu"))
    }
    y = site.op("Gemm", [each.name for each in site.node.inputs if each is not None], **given)
    numbers = [site.number(name, 0.0) for name in _VALUES if name in site.node.attributes]
    return [fused_activation(site, y, site.text("activation", ""), numbers)]

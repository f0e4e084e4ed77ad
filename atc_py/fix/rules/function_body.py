"""Rule function-body: an operator that ONNX defines by others, written as its body.

Rules for single operators are tried before this one: their forms are shorter, or hold float16 better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "function-body",
    (
        "AffineGrid", "BlackmanWindow", "CastLike", "Celu", "CenterCropPad",
        "Clip", "Elu", "Gelu", "GreaterOrEqual", "GroupNormalization", "HammingWindow", "HannWindow",
        "HardSigmoid", "HardSwish", "LayerNormalization", "LeakyRelu", "LessOrEqual", "LogSoftmax",
        "MeanVarianceNormalization", "Mish", "NegativeLogLikelihoodLoss", "PRelu",
        "RMSNormalization", "Range", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp",
        "ReduceSumSquare", "Relu", "Selu", "Shrink", "Softmax",
        "SoftmaxCrossEntropyLoss", "Softplus", "Softsign", "SwiGLU", "Swish", "ThresholdedRelu",
    ),
    Exactness.REORDERED,
    RuleText(
        before=Words("an operator that ONNX defines as a function", "ONNX 以函数定义的算子"),
        after=Words("the nodes of its definition", "其定义中的各节点"),
        condition=Words(
            "dtypes and ranks of the inputs are known; ONNX defines the operator at the model's "
            "opset",
            "输入的类型与秩已知；ONNX 在该 opset 定义了该函数",
        ),
    ),
    example=RuleCase("Mish", (Fed((2, 3, 4)),), opset=18),
    near_miss=RuleCase("Mish", (Fed((2, 3, 4), DType.FLOAT64),), opset=18),
    last=True,
)  # fmt: skip
def function_body(site: Site) -> Sequence[str]:
    """Write the body of the operator."""
    return site.body()

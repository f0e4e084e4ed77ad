"""Rule double-as-float32: operators on float64 in float32; a cast to float64 and back is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for, require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site
    from atc_py.source import SourceTensor

__all__: list[str] = []

_NAMES = """
    Abs Acos Acosh Add ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization Cast Ceil Celu
    CenterCropPad Clip Col2Im Compress Concat Conv ConvTranspose Cos Cosh CumProd CumSum DFT DeformConv
    DepthToSpace Det Div Dropout Einsum Elu Equal Erf Exp Expand Flatten Floor GRU Gather GatherElements
    GatherND Gelu Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater GreaterOrEqual GridSample
    GroupNormalization HardSigmoid HardSwish Hardmax InstanceNormalization IsInf IsNaN LRN LSTM
    LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax LpNormalization LpPool MatMul Max MaxPool
    MaxRoiPool MaxUnpool Mean MeanVarianceNormalization Min Mish Mod Mul Neg NonZero OneHot PRelu Pad Pow
    RMSNormalization RNN Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean
    ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Resize ReverseSequence RoiAlign Round STFT Scatter
    ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin Sinh Slice Softmax Softplus Softsign
    SpaceToDepth Split Sqrt Sub Sum Swish Tan Tanh TensorScatter ThresholdedRelu Tile TopK Transpose Trilu
    Upsample Where
"""


@fix_rule(
    "double-as-float32",
    _NAMES.split(),
    Exactness.APPROXIMATE,
    RuleText(
        before=Words("an operator on float64 that is not listed", "float64 不在清单中的运算"),
        after=Words(
            "Cast to float32, the operator, Cast back; what was float32 before is taken as it was",
            "转为 float32，运算，再转回；原为 float32 的值直接使用",
        ),
        condition=Words(
            "an operand is float64; inputs and outputs of the model keep their dtype",
            "有 float64 操作数；模型输入输出的类型不变",
        ),
    ),
    example=RuleCase("Sub", (Fed((2, 3), DType.FLOAT64), Fed((3,), DType.FLOAT64))),
    near_miss=RuleCase("Sub", (Fed((2, 3), DType.UINT64), Fed((3,), DType.UINT64))),
    last=True,
)
def double_as_float32(site: Site) -> Sequence[str]:
    """Write the operator on float32."""
    names = [site.name(at) for at in range(len(site.node.inputs))]
    found = False
    for at, tensor in enumerate(site.node.inputs):
        if tensor is not None and tensor.dtype is DType.FLOAT64:
            names[at] = _single(site, tensor)
            found = True
    meant_for(found)
    if site.node.op_type == "Cast":
        require(
            names[0] not in site.consts and not site.made, "X was float32 before", "X 原为 float32"
        )
        result = site.output(0)
        if result is not None and result.dtype is DType.FLOAT32:
            return [names[0]]
    results = site.again(names, len(site.node.outputs))
    return [
        site.cast(result, DType.FLOAT64)
        if tensor is not None and tensor.dtype is DType.FLOAT64
        else result
        for result, tensor in zip(results, site.node.outputs, strict=True)
    ]


def _single(site: Site, tensor: SourceTensor) -> str:
    """Return a tensor in float32: what it was cast from, or a Cast."""
    maker = None if site.around is None else site.around.makers.get(tensor.name)
    made = None if maker is None else maker.node
    first = made.inputs[0] if made is not None and made.op_type == "Cast" else None
    if first is not None and first.dtype is DType.FLOAT32:
        return first.name
    return site.cast(tensor.name, DType.FLOAT32)

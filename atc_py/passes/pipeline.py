"""The pipeline: every pass in the order in which they run, with what is known of it unloaded.

More than 400 lines: a table with a row for each pass.
"""

from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from functools import partial
from importlib import import_module
from typing import Any

import msgspec

from atc_py.diag import REQUIRED_PASS, UNKNOWN_PASS
from atc_py.ir import Phase
from atc_py.target import VIEWS, Soc, SocFamily
from atc_py.text import Text


class PassRow(msgspec.Struct, frozen=True):
    """The facts of a pass. Its module is imported by a compilation that has work for it."""

    # package and name of the pass; its module and its class have the same name
    place: str
    summary: str
    module: str = ""  # of passes that share one
    # operators without any of which the pass has nothing to do; None if it always may
    anchors: Collection[str] | None = None
    cann_only: bool = False  # it runs for SoCs of CANN, not for the generic device
    atc_names: tuple[str, ...] = ()  # names that ATC has for it, with which options know it as well
    in_atc: bool = True  # False for a rewrite that no known pass of ATC does
    optional: bool = True
    disorders: bool = True  # whether a node may stand before what it reads afterwards
    ub_fusion: bool = False  # it is one of ATC's UB fusions, which make kernels of several nodes
    requires: Phase = Phase.LOWERED
    # the phase that the graph has reached afterwards, or None when it stays
    ensures: Phase | None = None

    @property
    def name(self) -> str:
        """The name in options and reports, in kebab case."""
        return self.place.rpartition("/")[2]

    @property
    def class_name(self) -> str:
        return "".join(map(str.capitalize, self.name.split("-"))) + "Pass"

    def load(self) -> type[Any]:
        """The class of the pass, a `passes.base.Pass`."""
        package, _, name = self.place.partition("/")
        module = import_module(f".{package}.{self.module or name.replace('-', '_')}", __package__)
        loaded: type[Any] = getattr(module, self.class_name)
        return loaded

    def has_work(self, operators: AbstractSet[str], soc: Soc) -> bool:
        """False for another device, or a graph with none of the operators that the pass begins at."""
        if self.cann_only and soc.family is SocFamily.SIM:
            return False
        return self.anchors is None or not operators.isdisjoint(self.anchors)


_QUANTIZED = ("AscendQuant", "AscendRequant", "AscendRequantS16")
"""Operators whose results are int8 numbers of a known offset."""

_launches = partial(PassRow, disorders=False, ub_fusion=True, requires=Phase.LAID_OUT)
"""Make the row of a pass that lets nodes share launches."""

PIPELINE: tuple[PassRow, ...] = (
    PassRow(
        "fusion/eliminate-dead-code",
        "Removes nodes whose results nothing uses.",
    ),
    PassRow(
        "quant/apply-offset-w",
        "Moves offsets of weights from AscendDequant to the layer of these weights.",
        anchors=("AscendDequant",),
        optional=False,
    ),
    PassRow(
        "quant/roll-back-quant",
        "Takes int8 convolutions of few input channels back to float16 where the SoC does.",
        anchors=("AscendQuant",),
        atc_names=(
            "Conv2DQuantProcessFusionPass",
            "GroupConv2DQuantProcessFusionPass",
            "DWConv2DQuantProcessFusionPass",
            "Conv2DTDQuantProcessFusionPass",
            "DeConvQuantProcessFusionPass",
        ),
        optional=False,
    ),
    PassRow(
        "quant/pool-on-int8",
        "Turns average pools of int8 into convolutions with filters of ones, or back to float16.",
        anchors=("AvgPoolV2",),
        atc_names=("AvgPoolQuantProcessFusionPass",),
        optional=False,
    ),
    PassRow(
        "quant/fold-quant-bias",
        "Subtracts the offset of quantized data, times the sum of the weights, from the bias.",
        anchors=_QUANTIZED,
        optional=False,
    ),
    PassRow(
        "quant/set-offset-x",
        "Lets convolutions of quantized data pad with the number that stands for 0.",
        anchors=_QUANTIZED,
        optional=False,
    ),
    PassRow(
        "quant/set-round-mode",
        "Lets AscendQuant round ties to even where the SoC's kernel ignores round_mode.",
        anchors=("AscendQuant",),
        optional=False,
    ),
    PassRow(
        "quant/cancel-quant-pairs",
        "Removes AscendQuant after AscendAntiQuant where the two cancel.",
        anchors=("AscendAntiQuant",),
    ),
    PassRow(
        "quant/merge-quants",
        "Merges AscendQuant nodes that quantize one value alike.",
        anchors=("AscendQuant",),
    ),
    PassRow(
        "quant/fold-relu-into-dequant",
        "Turns Relu after AscendDequant into its relu_flag.",
        anchors=("AscendDequant",),
    ),
    PassRow(
        "quant/fuse-requant",
        "Turns AscendDequant, Relu and AscendQuant into AscendRequant where the SoC has it.",
        anchors=("AscendQuant",),
        atc_names=("V200RequantFusionPass",),
    ),
    PassRow(
        "quant/fold-quant-scale",
        "Moves the scale of AscendQuant into AscendDequant where the SoC cannot requantize.",
        anchors=("AscendQuant",),
        atc_names=("V100RequantFusionPass",),
    ),
    PassRow(
        "quant/float16-quant-scales",
        "Takes roots of scales that float16 cannot represent, and turns 64-bit scale words "
        "into float16 factors where the SoC needs it.",
        anchors=("AscendQuant", "AscendDequant"),
        atc_names=("V100NotRequantFusionPass",),
        optional=False,
    ),
    PassRow(
        "fusion/fuse-layer-norm",
        "Turns a decomposed layer normalization into LayerNorm.",
        anchors=("Sqrt",),
        atc_names=("LayerNormONNXFusionPass",),
    ),
    PassRow(
        "fusion/fuse-rms-norm",
        "Turns a decomposed root mean square normalization into RmsNorm.",
        anchors=("Sqrt",),
        in_atc=False,
    ),
    PassRow(
        "fusion/fuse-group-norm",
        "Turns an InstanceNorm of groups of channels, a factor and a summand into GroupNorm.",
        anchors=("InstanceNorm",),
        cann_only=True,
        atc_names=("GroupNormFusionPass",),
    ),
    PassRow(
        "fusion/fuse-softmax",
        "Turns a decomposed softmax into SoftmaxV2.",
        anchors=("ReduceSumD",),
        in_atc=False,
    ),
    PassRow(
        "fusion/softmax-of-rows",
        "Turns SoftmaxV2 over several axes into SoftmaxV2 of the rows of a matrix.",
        anchors=("SoftmaxV2",),
        cann_only=True,
        atc_names=("ASoftmaxFusionPass",),
    ),
    PassRow(
        "fusion/fuse-masked-softmax",
        "Turns the softmax of masked scores into ScaledMaskedSoftmax.",
        anchors=("SoftmaxV2",),
        in_atc=False,
    ),
    PassRow(
        "fusion/fuse-gelu",
        "Turns a decomposed GELU, with erf or tanh, into GeluV2.",
        anchors=("Erf", "Tanh"),
        atc_names=("GeluONNXFusionPass", "GeluFusionPass"),
    ),
    PassRow(
        "fusion/fuse-hard-swish",
        "Turns x * HardSigmoid(x), or x * Clip(x + 3, 0, 6) / 6, into HardSwish.",
        anchors=("ClipByValue", "HardSigmoid"),
        in_atc=False,
    ),
    PassRow(
        "fusion/fuse-mul-maximum",
        "Turns the larger of x and x times a factor below 1 into LeakyRelu.",
        anchors=("Maximum",),
        atc_names=("MulMaximumFusionPass",),
    ),
    PassRow(
        "fusion/fuse-matmul-bias",
        "Turns the addition of a constant vector into the bias of the product before it.",
        anchors=("Add",),
        atc_names=("MatMulBiasAddFusionPass", "MatMulReshapeBiasAddFusionPass"),
    ),
    PassRow(
        "fusion/fuse-pad-conv",
        "Turns borders of zeros into padding of the convolution after them.",
        anchors=("PadV3D",),
        atc_names=("PadConv2dFusionPass", "PadDepthwiseConv2dFusionPass"),
    ),
    PassRow(
        "fusion/fuse-pad-pool",
        "Turns borders that do not change a pool's result into its padding.",
        anchors=("PadV3D",),
        atc_names=("Padv3dAvgpoolFusionPass",),
    ),
    PassRow(
        "fusion/fuse-conv-batch-norm",
        "Folds BatchNorm into the filter and bias of the convolution before it.",
        anchors=("BatchNorm",),
        atc_names=("ConvBatchnormFusionPass", "Conv2DTransposeBatchnormFusionPass"),
    ),
    PassRow(
        "fusion/fuse-conv-bias",
        "Turns the addition of a constant per channel into the bias of the convolution.",
        anchors=("Add",),
        atc_names=("AABiasaddConvFusion", "TBEConvAddFusion"),
    ),
    PassRow(
        "fusion/fuse-swish",
        "Turns x * Sigmoid(x) into Swish.",
        anchors=("Sigmoid",),
        atc_names=("TbeConvSigmoidMulQuantFusionPass",),
    ),
    PassRow(
        "fusion/fuse-scale-into-weights",
        "Multiplies a constant factor after a layer into its weights and bias.",
        anchors=("Mul", "RealDiv"),
        atc_names=("AConv2dMulFusion",),
    ),
    PassRow(
        "fusion/linear-to-size",
        "Turns a linear Resize of images into ResizeBilinearV2 where both take the same places.",
        module="resize_to_size",
        anchors=("Resize",),
        cann_only=True,
        atc_names=("ResizeFusionPass",),
    ),
    PassRow(
        "fusion/nearest-to-size",
        "Turns Resize to the nearest element into ResizeNearestNeighborV2, as CANN's parser does.",
        module="resize_to_size",
        anchors=("Resize",),
        cann_only=True,
    ),
    PassRow(
        "fusion/rank-on-core",
        "Turns TopK of a constant k into TopKD of the last axis, for which the AI Core has a kernel.",
        anchors=("TopK",),
        cann_only=True,
        atc_names=("TopKFusionPass",),
    ),
    PassRow(
        "fusion/divide-by-product",
        "Turns a division by one float32 number into a product with its reciprocal.",
        anchors=("RealDiv",),
        atc_names=("RealDiv2MulsFusionPass",),
    ),
    PassRow(
        "fusion/align-batch-norm",
        "Reshapes data of BatchNorm that are not of rank 4.",
        anchors=("BatchNorm",),
        optional=False,
    ),
    PassRow(
        "fusion/batch-norm-to-bn-infer",
        "Turns BatchNorm with given statistics into BNInfer, with constant ones into BNInferenceD.",
        anchors=("BatchNorm",),
        atc_names=("BatchNormBnInferFusionPass", "HostBNFusionPass"),
    ),
    PassRow(
        "fusion/join-same-input-convs",
        "Merges convolutions that differ only in their filters into one, and splits its result.",
        anchors=("Conv2D",),
        atc_names=("SameInputConv2dPass",),
    ),
    PassRow(
        "fusion/rewrite-depthwise-conv",
        "Turns Conv2D with one group per input channel into DepthwiseConv2D.",
        anchors=("Conv2D",),
        atc_names=("GroupConv2DFusionPass",),
    ),
    PassRow(
        "fusion/split-grouped-conv",
        "Splits convolutions by groups, only on `sim`: kernels of CANN take groups directly.",
        anchors=("Conv2D", "Conv3D"),
        optional=False,
    ),
    PassRow(
        "fusion/remove-identities",
        "Removes ConcatD, ExpandD, PadV3D, SplitVD, StridedSliceD and TileD that change nothing.",
        anchors=("ConcatD", "ExpandD", "PadV3D", "SplitVD", "StridedSliceD", "TileD"),
    ),
    PassRow(
        "fusion/merge-transposes",
        "Turns Transposes that follow one another into one, a Reshape, or nothing.",
        anchors=("TransposeD",),
    ),
    PassRow(
        "fusion/fuse-transpose-matmul",
        "Turns a Transpose of matrices into a flag of the product after it.",
        anchors=("BatchMatMulV2", "MatMulV2"),
        atc_names=("BatchMatMulFusionPass",),
    ),
    PassRow(
        "fusion/flatten-stacks",
        "Lets sums, norms and functions after products of stacked matrices work on the rows of "
        "one matrix, where the cube reads only fractals.",
        anchors=("Reshape",),
        cann_only=True,
        in_atc=False,
    ),
    PassRow(
        "fusion/merge-reshapes",
        "Turns views of views into one, and removes those that change nothing.",
        anchors=VIEWS,
    ),
    PassRow(
        "fusion/fuse-confusion-transpose",
        "Turns a Transpose with a Reshape before or after it into ConfusionTransposeD.",
        anchors=("TransposeD",),
        atc_names=("TransposeReshapeFusionPass", "ReshapeTransposeFusionPass"),
    ),
    PassRow(
        "fusion/merge-common-nodes",
        "Merges nodes that compute the same from the same operands.",
        atc_names=("CommonSubexpressionEliminationPass",),
    ),
    PassRow(
        "precision/assign-precision",
        "Chooses dtypes and engine of every node and inserts casts.",
        optional=False,
        ensures=Phase.TYPED,
    ),
    PassRow(
        "precision/cancel-casts",
        "Removes casts that change nothing.",
        optional=False,
        requires=Phase.TYPED,
    ),
    PassRow(
        "precision/fold-constant-casts",
        "Turns casts of constants, and movements of their elements, into constants.",
        requires=Phase.TYPED,
    ),
    PassRow(
        "fusion/average-pools-to-conv",
        "Runs float16 average pools on the cube, with filters of ones or of 1 / area.",
        anchors=("AvgPoolV2",),
        atc_names=("AvgPoolV2FusionPass",),
        requires=Phase.TYPED,
    ),
    PassRow(
        "layout/assign-formats",
        "Marks images NCHW, volumes NCDHW and everything else ND.",
        disorders=False,
        optional=False,
        requires=Phase.TYPED,
        ensures=Phase.LAID_OUT,
    ),
    PassRow(
        "layout/assign-storage",
        "Stores images and matrices in blocks around the operators that need this.",
        requires=Phase.LAID_OUT,
    ),
    PassRow(
        "layout/insert-trans-data",
        "Converts values between storage formats where neighbors disagree.",
        optional=False,
        requires=Phase.LAID_OUT,
    ),
    PassRow(
        "layout/merge-trans-data",
        "Removes conversions of storage that cancel, and merges equal ones.",
        atc_names=("SameTransdataBreadthFusionPass", "TransOpBreadthFusionPass"),
        requires=Phase.LAID_OUT,
    ),
    _launches(
        "fusion/merge-dequant",
        "Launches a convolution or product together with the operators that turn its sums "
        "into floats.",
        module="merge_conversions",
        atc_names=(
            "TbeConvDequantFusionPass",
            "TbeConvDequantQuantFusionPass",
            "TbeConvDequantVaddReluFusionPass",
            "TbeConvDequantVaddReluQuantFusionPass",
            "TbeMatmulDequantFusionPass",
            "TbeConvFixPipeFusionPass",
            "TbeFixPipeFusionPass",
            "TbeMatmulFixPipeFusionPass",
        ),
    ),
    _launches(
        "fusion/merge-requant",
        "Launches a convolution or product together with the operators that turn its sums "
        "into int8.",
        module="merge_conversions",
        atc_names=("TbeConvRequantFusionPass", "TbeMatmulRequantFusionPass"),
    ),
    _launches(
        "fusion/merge-conv-elemwise",
        "Launches a convolution together with the elementwise operators after it.",
        module="merge_kernels",
        atc_names=(
            "TbeConvCommonRules0FusionPass",
            "TbeConvCommonRules2FusionPass",
            "TbeConv2DEltwisePass",
            "TbeDepthwiseConvElemwiseFusionPass",
            "TbeConv3dElemwisePass",
        ),
    ),
    _launches(
        "fusion/merge-matmul-elemwise",
        "Launches a matrix product together with the elementwise operators after it.",
        module="merge_kernels",
        atc_names=("ATbeMatmulElemwiseFusionPass",),
    ),
    _launches(
        "fusion/merge-branches",
        "Launches elementwise operators together where a result has two readers, on SoCs of CANN.",
        cann_only=True,
        atc_names=("TbeMultiOutputFusionPass",),
    ),
    _launches(
        "fusion/merge-groups",
        "Launches elementwise operators together wherever they meet, on SoCs of CANN.",
        cann_only=True,
        atc_names=("AutomaticUbFusion",),
    ),
    _launches(
        "fusion/merge-elemwise",
        "Launches elementwise operators that follow one another together.",
        module="merge_kernels",
        atc_names=("TbeEltwiseFusionPass",),
    ),
    _launches(
        "fusion/merge-aipp-conv",
        "Launches AIPP together with the convolution that reads its images.",
        anchors=("Aipp",),
        atc_names=("TbeAippCommonFusionPass", "TbeAippConvZ"),
    ),
    PassRow(
        "memory/join-convs-in-place",
        "Lets convolutions write their channels of images into the result of ConcatD.",
        anchors=("ConcatD",),
        cann_only=True,
        atc_names=("ConvConcatFusionPass",),
        requires=Phase.LAID_OUT,
    ),
    PassRow(
        "memory/join-in-place",
        "Computes the operands of ConcatD inside its result, on SoCs of CANN.",
        anchors=("ConcatD",),
        cann_only=True,
        atc_names=("ConcatCToNOptimizeFusionPass",),
        requires=Phase.LAID_OUT,
    ),
    PassRow(
        "memory/order-launches",
        "Orders launches depth first, as CANN's graph engine does.",
        cann_only=True,
        requires=Phase.LAID_OUT,
    ),
    PassRow(
        "memory/plan-memory",
        "Gives every value a place in memory; values whose lifetimes do not overlap share memory.",
        disorders=False,
        optional=False,
        requires=Phase.LAID_OUT,
        ensures=Phase.PLACED,
    ),
)
"""Every pass, in the order in which they run.

Those on quantization come while dtypes are the model's own: nodes that they make find their columns
like all others. Offsets reach their layers first: before the words of AscendDequant, which have
those of weights, become other words, and before nodes go that tell those of data.
"""

ROWS_BY_CLASS = {row.class_name: row for row in PIPELINE}


def check_names(disabled: Iterable[str]) -> None:
    """Refuse names, ours or ATC's, of no pass, and of passes that cannot be switched off.

    Raises:
        AtcError: UNKNOWN_PASS or REQUIRED_PASS.
    """
    for name, row in zip(sorted(disabled), find_passes(sorted(disabled)), strict=True):
        if not row.optional:
            raise REQUIRED_PASS.error(Text("{name} cannot be switched off", name=name))


def find_passes(names: Iterable[str]) -> list[PassRow]:
    """The passes of the pipeline that have `names`, ours or ATC's; UNKNOWN_PASS for others."""
    by_name = rows_by_name()
    rows = []
    for name in names:
        if name not in by_name:
            known = ", ".join(row.name for row in PIPELINE)
            raise UNKNOWN_PASS.error(
                Text("no pass is called {name}", name=repr(name)),
                help=Text("passes are {known}", known=known),
            )
        rows.append(by_name[name])
    return rows


def rows_by_name() -> dict[str, PassRow]:
    return {name: row for row in PIPELINE for name in (row.name, *row.atc_names)}

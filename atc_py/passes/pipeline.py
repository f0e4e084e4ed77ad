"""The pipeline: every pass in the order in which they run, with what is known of it unloaded.

More than 400 lines: a table with a row for each pass.
"""

from collections.abc import Collection, Iterable
from importlib import import_module
from typing import Any

import msgspec

from atc_py.diag import REQUIRED_PASS, UNKNOWN_PASS
from atc_py.ir import Graph, Phase
from atc_py.target import VIEWS, Soc, SocFamily
from atc_py.text import Text


class PassRow(msgspec.Struct, frozen=True):
    """The facts of a pass. Its module is imported by a compilation that has work for it."""

    name: str  # kebab-case name for options and reports
    place: str  # module, within this package, and name of the class
    summary: str
    # operators without any of which the pass has nothing to do; None if it always may
    anchors: Collection[str] | None = None
    cann_only: bool = False  # it runs for SoCs of CANN, not for the generic device
    atc_names: tuple[str, ...] = ()  # names that ATC has for it, with which options know it as well
    in_atc: bool = True  # False for a rewrite that no known pass of ATC does
    optional: bool = True
    ub_fusion: bool = False  # it is one of ATC's UB fusions, which make kernels of several nodes
    requires: Phase = Phase.LOWERED
    # the phase that the graph has reached afterwards, or None when it stays
    ensures: Phase | None = None

    def load(self) -> type[Any]:
        """The class of the pass, a `passes.base.Pass`."""
        module, _, name = self.place.rpartition(".")
        loaded: type[Any] = getattr(import_module(f"{__package__}.{module}"), name)
        return loaded

    def has_work(self, graph: Graph, soc: Soc) -> bool:
        """False for another device, or a graph with none of the operators that the pass begins at."""
        if self.cann_only and soc.family is SocFamily.SIM:
            return False
        return self.anchors is None or not {n.op for n in graph.nodes}.isdisjoint(self.anchors)


_QUANTIZED = ("AscendQuant", "AscendRequant", "AscendRequantS16")
"""Operators whose results are int8 numbers of a known offset."""

PIPELINE: tuple[PassRow, ...] = (
    PassRow(
        "eliminate-dead-code",
        "fusion.eliminate_dead_code.EliminateDeadCodePass",
        "Removes nodes whose results nothing uses.",
    ),
    PassRow(
        "apply-offset-w",
        "quant.apply_offset_w.ApplyOffsetWPass",
        "Moves offsets of weights from AscendDequant to the layer of these weights.",
        anchors=("AscendDequant",),
        optional=False,
    ),
    PassRow(
        "roll-back-quant",
        "quant.roll_back_quant.RollBackQuantPass",
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
        "pool-on-int8",
        "quant.pool_on_int8.PoolOnInt8Pass",
        "Turns average pools of int8 into convolutions with filters of ones, or back to float16.",
        anchors=("AvgPoolV2",),
        atc_names=("AvgPoolQuantProcessFusionPass",),
        optional=False,
    ),
    PassRow(
        "fold-quant-bias",
        "quant.fold_quant_bias.FoldQuantBiasPass",
        "Subtracts the offset of quantized data, times the sum of the weights, from the bias.",
        anchors=_QUANTIZED,
        optional=False,
    ),
    PassRow(
        "set-offset-x",
        "quant.set_offset_x.SetOffsetXPass",
        "Lets convolutions of quantized data pad with the number that stands for 0.",
        anchors=_QUANTIZED,
        optional=False,
    ),
    PassRow(
        "set-round-mode",
        "quant.set_round_mode.SetRoundModePass",
        "Lets AscendQuant round ties to even where the SoC's kernel ignores round_mode.",
        anchors=("AscendQuant",),
        optional=False,
    ),
    PassRow(
        "cancel-quant-pairs",
        "quant.cancel_quant_pairs.CancelQuantPairsPass",
        "Removes AscendQuant after AscendAntiQuant where the two cancel.",
        anchors=("AscendAntiQuant",),
    ),
    PassRow(
        "merge-quants",
        "quant.merge_quants.MergeQuantsPass",
        "Merges AscendQuant nodes that quantize one value alike.",
        anchors=("AscendQuant",),
    ),
    PassRow(
        "fold-relu-into-dequant",
        "quant.fold_relu_into_dequant.FoldReluIntoDequantPass",
        "Turns Relu after AscendDequant into its relu_flag.",
        anchors=("AscendDequant",),
    ),
    PassRow(
        "fuse-requant",
        "quant.fuse_requant.FuseRequantPass",
        "Turns AscendDequant, Relu and AscendQuant into AscendRequant where the SoC has it.",
        anchors=("AscendQuant",),
        atc_names=("V200RequantFusionPass",),
    ),
    PassRow(
        "fold-quant-scale",
        "quant.fold_quant_scale.FoldQuantScalePass",
        "Moves the scale of AscendQuant into AscendDequant where the SoC cannot requantize.",
        anchors=("AscendQuant",),
        atc_names=("V100RequantFusionPass",),
    ),
    PassRow(
        "float16-quant-scales",
        "quant.float16_quant_scales.Float16QuantScalesPass",
        "Takes roots of scales that float16 cannot represent, and turns 64-bit scale words "
        "into float16 factors where the SoC needs it.",
        anchors=("AscendQuant", "AscendDequant"),
        atc_names=("V100NotRequantFusionPass",),
        optional=False,
    ),
    PassRow(
        "fuse-layer-norm",
        "fusion.fuse_layer_norm.FuseLayerNormPass",
        "Turns a decomposed layer normalization into LayerNorm.",
        anchors=("Sqrt",),
        atc_names=("LayerNormONNXFusionPass",),
    ),
    PassRow(
        "fuse-rms-norm",
        "fusion.fuse_rms_norm.FuseRmsNormPass",
        "Turns a decomposed root mean square normalization into RmsNorm.",
        anchors=("Sqrt",),
        in_atc=False,
    ),
    PassRow(
        "fuse-group-norm",
        "fusion.fuse_group_norm.FuseGroupNormPass",
        "Turns an InstanceNorm of groups of channels, a factor and a summand into GroupNorm.",
        anchors=("InstanceNorm",),
        cann_only=True,
        atc_names=("GroupNormFusionPass",),
    ),
    PassRow(
        "fuse-softmax",
        "fusion.fuse_softmax.FuseSoftmaxPass",
        "Turns a decomposed softmax into SoftmaxV2.",
        anchors=("ReduceSumD",),
        in_atc=False,
    ),
    PassRow(
        "softmax-of-rows",
        "fusion.softmax_of_rows.SoftmaxOfRowsPass",
        "Turns SoftmaxV2 over several axes into SoftmaxV2 of the rows of a matrix.",
        anchors=("SoftmaxV2",),
        cann_only=True,
        atc_names=("ASoftmaxFusionPass",),
    ),
    PassRow(
        "fuse-masked-softmax",
        "fusion.fuse_masked_softmax.FuseMaskedSoftmaxPass",
        "Turns the softmax of masked scores into ScaledMaskedSoftmax.",
        anchors=("SoftmaxV2",),
        in_atc=False,
    ),
    PassRow(
        "fuse-gelu",
        "fusion.fuse_gelu.FuseGeluPass",
        "Turns a decomposed GELU, with erf or tanh, into GeluV2.",
        anchors=("Erf", "Tanh"),
        atc_names=("GeluONNXFusionPass", "GeluFusionPass"),
    ),
    PassRow(
        "fuse-hard-swish",
        "fusion.fuse_hard_swish.FuseHardSwishPass",
        "Turns x * HardSigmoid(x), or x * Clip(x + 3, 0, 6) / 6, into HardSwish.",
        anchors=("ClipByValue", "HardSigmoid"),
        in_atc=False,
    ),
    PassRow(
        "fuse-mul-maximum",
        "fusion.fuse_mul_maximum.FuseMulMaximumPass",
        "Turns the larger of x and x times a factor below 1 into LeakyRelu.",
        anchors=("Maximum",),
        atc_names=("MulMaximumFusionPass",),
    ),
    PassRow(
        "fuse-matmul-bias",
        "fusion.fuse_matmul_bias.FuseMatmulBiasPass",
        "Turns the addition of a constant vector into the bias of the product before it.",
        anchors=("Add",),
        atc_names=("MatMulBiasAddFusionPass", "MatMulReshapeBiasAddFusionPass"),
    ),
    PassRow(
        "fuse-pad-conv",
        "fusion.fuse_pad_conv.FusePadConvPass",
        "Turns borders of zeros into padding of the convolution after them.",
        anchors=("PadV3D",),
        atc_names=("PadConv2dFusionPass", "PadDepthwiseConv2dFusionPass"),
    ),
    PassRow(
        "fuse-pad-pool",
        "fusion.fuse_pad_pool.FusePadPoolPass",
        "Turns borders that do not change a pool's result into its padding.",
        anchors=("PadV3D",),
        atc_names=("Padv3dAvgpoolFusionPass",),
    ),
    PassRow(
        "fuse-conv-batch-norm",
        "fusion.fuse_conv_batch_norm.FuseConvBatchNormPass",
        "Folds BatchNorm into the filter and bias of the convolution before it.",
        anchors=("BatchNorm",),
        atc_names=("ConvBatchnormFusionPass", "Conv2DTransposeBatchnormFusionPass"),
    ),
    PassRow(
        "fuse-conv-bias",
        "fusion.fuse_conv_bias.FuseConvBiasPass",
        "Turns the addition of a constant per channel into the bias of the convolution.",
        anchors=("Add",),
        atc_names=("AABiasaddConvFusion", "TBEConvAddFusion"),
    ),
    PassRow(
        "fuse-swish",
        "fusion.fuse_swish.FuseSwishPass",
        "Turns x * Sigmoid(x) into Swish.",
        anchors=("Sigmoid",),
        atc_names=("TbeConvSigmoidMulQuantFusionPass",),
    ),
    PassRow(
        "fuse-scale-into-weights",
        "fusion.fuse_scale_into_weights.FuseScaleIntoWeightsPass",
        "Multiplies a constant factor after a layer into its weights and bias.",
        anchors=("Mul", "RealDiv"),
        atc_names=("AConv2dMulFusion",),
    ),
    PassRow(
        "linear-to-size",
        "fusion.resize_to_size.LinearToSizePass",
        "Turns a linear Resize of images into ResizeBilinearV2 where both take the same places.",
        anchors=("Resize",),
        cann_only=True,
        atc_names=("ResizeFusionPass",),
    ),
    PassRow(
        "nearest-to-size",
        "fusion.resize_to_size.NearestToSizePass",
        "Turns Resize to the nearest element into ResizeNearestNeighborV2, as CANN's parser does.",
        anchors=("Resize",),
        cann_only=True,
    ),
    PassRow(
        "rank-on-core",
        "fusion.rank_on_core.RankOnCorePass",
        "Turns TopK of a constant k into TopKD of the last axis, for which the AI Core has a kernel.",
        anchors=("TopK",),
        cann_only=True,
        atc_names=("TopKFusionPass",),
    ),
    PassRow(
        "divide-by-product",
        "fusion.divide_by_product.DivideByProductPass",
        "Turns a division by one float32 number into a product with its reciprocal.",
        anchors=("RealDiv",),
        atc_names=("RealDiv2MulsFusionPass",),
    ),
    PassRow(
        "align-batch-norm",
        "fusion.align_batch_norm.AlignBatchNormPass",
        "Reshapes data of BatchNorm that are not of rank 4.",
        anchors=("BatchNorm",),
        optional=False,
    ),
    PassRow(
        "batch-norm-to-bn-infer",
        "fusion.batch_norm_to_bn_infer.BatchNormToBNInferPass",
        "Turns BatchNorm with given statistics into BNInfer, with constant ones into BNInferenceD.",
        anchors=("BatchNorm",),
        atc_names=("BatchNormBnInferFusionPass", "HostBNFusionPass"),
    ),
    PassRow(
        "join-same-input-convs",
        "fusion.join_same_input_convs.JoinSameInputConvsPass",
        "Merges convolutions that differ only in their filters into one, and splits its result.",
        anchors=("Conv2D",),
        atc_names=("SameInputConv2dPass",),
    ),
    PassRow(
        "rewrite-depthwise-conv",
        "fusion.rewrite_depthwise_conv.RewriteDepthwiseConvPass",
        "Turns Conv2D with one group per input channel into DepthwiseConv2D.",
        anchors=("Conv2D",),
        atc_names=("GroupConv2DFusionPass",),
    ),
    PassRow(
        "split-grouped-conv",
        "fusion.split_grouped_conv.SplitGroupedConvPass",
        "Splits convolutions by groups, only on `sim`: kernels of CANN take groups directly.",
        anchors=("Conv2D", "Conv3D"),
        optional=False,
    ),
    PassRow(
        "remove-identities",
        "fusion.remove_identities.RemoveIdentitiesPass",
        "Removes ConcatD, ExpandD, PadV3D, SplitVD, StridedSliceD and TileD that change nothing.",
        anchors=("ConcatD", "ExpandD", "PadV3D", "SplitVD", "StridedSliceD", "TileD"),
    ),
    PassRow(
        "merge-transposes",
        "fusion.merge_transposes.MergeTransposesPass",
        "Turns Transposes that follow one another into one, a Reshape, or nothing.",
        anchors=("TransposeD",),
    ),
    PassRow(
        "fuse-transpose-matmul",
        "fusion.fuse_transpose_matmul.FuseTransposeMatmulPass",
        "Turns a Transpose of matrices into a flag of the product after it.",
        anchors=("BatchMatMulV2", "MatMulV2"),
        atc_names=("BatchMatMulFusionPass",),
    ),
    PassRow(
        "flatten-stacks",
        "fusion.flatten_stacks.FlattenStacksPass",
        "Lets sums, norms and functions after products of stacked matrices work on the rows of "
        "one matrix, where the cube reads only fractals.",
        anchors=("Reshape",),
        cann_only=True,
        in_atc=False,
    ),
    PassRow(
        "merge-reshapes",
        "fusion.merge_reshapes.MergeReshapesPass",
        "Turns views of views into one, and removes those that change nothing.",
        anchors=VIEWS,
    ),
    PassRow(
        "fuse-confusion-transpose",
        "fusion.fuse_confusion_transpose.FuseConfusionTransposePass",
        "Turns a Transpose with a Reshape before or after it into ConfusionTransposeD.",
        anchors=("TransposeD",),
        atc_names=("TransposeReshapeFusionPass", "ReshapeTransposeFusionPass"),
    ),
    PassRow(
        "merge-common-nodes",
        "fusion.merge_common_nodes.MergeCommonNodesPass",
        "Merges nodes that compute the same from the same operands.",
        atc_names=("CommonSubexpressionEliminationPass",),
    ),
    PassRow(
        "assign-precision",
        "precision.assign_precision.AssignPrecisionPass",
        "Chooses dtypes and engine of every node and inserts casts.",
        optional=False,
        ensures=Phase.TYPED,
    ),
    PassRow(
        "cancel-casts",
        "precision.cancel_casts.CancelCastsPass",
        "Removes casts that change nothing.",
        optional=False,
        requires=Phase.TYPED,
    ),
    PassRow(
        "fold-constant-casts",
        "precision.fold_constant_casts.FoldConstantCastsPass",
        "Turns casts of constants, and movements of their elements, into constants.",
        requires=Phase.TYPED,
    ),
    PassRow(
        "average-pools-to-conv",
        "fusion.average_pools_to_conv.AveragePoolsToConvPass",
        "Runs float16 average pools on the cube, with filters of ones or of 1 / area.",
        anchors=("AvgPoolV2",),
        atc_names=("AvgPoolV2FusionPass",),
        requires=Phase.TYPED,
    ),
    PassRow(
        "assign-formats",
        "layout.assign_formats.AssignFormatsPass",
        "Marks images NCHW, volumes NCDHW and everything else ND.",
        optional=False,
        requires=Phase.TYPED,
        ensures=Phase.LAID_OUT,
    ),
    PassRow(
        "assign-storage",
        "layout.assign_storage.AssignStoragePass",
        "Stores images and matrices in blocks around the operators that need this.",
        requires=Phase.LAID_OUT,
    ),
    PassRow(
        "insert-trans-data",
        "layout.insert_trans_data.InsertTransDataPass",
        "Converts values between storage formats where neighbors disagree.",
        optional=False,
        requires=Phase.LAID_OUT,
    ),
    PassRow(
        "merge-trans-data",
        "layout.merge_trans_data.MergeTransDataPass",
        "Removes conversions of storage that cancel, and merges equal ones.",
        atc_names=("SameTransdataBreadthFusionPass", "TransOpBreadthFusionPass"),
        requires=Phase.LAID_OUT,
    ),
    PassRow(
        "merge-dequant",
        "fusion.merge_conversions.MergeDequantPass",
        "Launches a convolution or product together with the operators that turn its sums "
        "into floats.",
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
        ub_fusion=True,
        requires=Phase.LAID_OUT,
    ),
    PassRow(
        "merge-requant",
        "fusion.merge_conversions.MergeRequantPass",
        "Launches a convolution or product together with the operators that turn its sums "
        "into int8.",
        atc_names=("TbeConvRequantFusionPass", "TbeMatmulRequantFusionPass"),
        ub_fusion=True,
        requires=Phase.LAID_OUT,
    ),
    PassRow(
        "merge-conv-elemwise",
        "fusion.merge_kernels.MergeConvElemwisePass",
        "Launches a convolution together with the elementwise operators after it.",
        atc_names=(
            "TbeConvCommonRules0FusionPass",
            "TbeConvCommonRules2FusionPass",
            "TbeConv2DEltwisePass",
            "TbeDepthwiseConvElemwiseFusionPass",
            "TbeConv3dElemwisePass",
        ),
        ub_fusion=True,
        requires=Phase.LAID_OUT,
    ),
    PassRow(
        "merge-matmul-elemwise",
        "fusion.merge_kernels.MergeMatmulElemwisePass",
        "Launches a matrix product together with the elementwise operators after it.",
        atc_names=("ATbeMatmulElemwiseFusionPass",),
        ub_fusion=True,
        requires=Phase.LAID_OUT,
    ),
    PassRow(
        "merge-branches",
        "fusion.merge_branches.MergeBranchesPass",
        "Launches elementwise operators together where a result has two readers, on SoCs of CANN.",
        cann_only=True,
        atc_names=("TbeMultiOutputFusionPass",),
        ub_fusion=True,
        requires=Phase.LAID_OUT,
    ),
    PassRow(
        "merge-groups",
        "fusion.merge_groups.MergeGroupsPass",
        "Launches elementwise operators together wherever they meet, on SoCs of CANN.",
        cann_only=True,
        atc_names=("AutomaticUbFusion",),
        ub_fusion=True,
        requires=Phase.LAID_OUT,
    ),
    PassRow(
        "merge-elemwise",
        "fusion.merge_kernels.MergeElemwisePass",
        "Launches elementwise operators that follow one another together.",
        atc_names=("TbeEltwiseFusionPass",),
        ub_fusion=True,
        requires=Phase.LAID_OUT,
    ),
    PassRow(
        "merge-aipp-conv",
        "fusion.merge_aipp_conv.MergeAippConvPass",
        "Launches AIPP together with the convolution that reads its images.",
        anchors=("Aipp",),
        atc_names=("TbeAippCommonFusionPass", "TbeAippConvZ"),
        ub_fusion=True,
        requires=Phase.LAID_OUT,
    ),
    PassRow(
        "join-convs-in-place",
        "memory.join_convs_in_place.JoinConvsInPlacePass",
        "Lets convolutions write their channels of images into the result of ConcatD.",
        anchors=("ConcatD",),
        cann_only=True,
        atc_names=("ConvConcatFusionPass",),
        requires=Phase.LAID_OUT,
    ),
    PassRow(
        "join-in-place",
        "memory.join_in_place.JoinInPlacePass",
        "Computes the operands of ConcatD inside its result, on SoCs of CANN.",
        anchors=("ConcatD",),
        cann_only=True,
        atc_names=("ConcatCToNOptimizeFusionPass",),
        requires=Phase.LAID_OUT,
    ),
    PassRow(
        "order-launches",
        "memory.order_launches.OrderLaunchesPass",
        "Orders launches depth first, as CANN's graph engine does.",
        cann_only=True,
        requires=Phase.LAID_OUT,
    ),
    PassRow(
        "plan-memory",
        "memory.plan_memory.PlanMemoryPass",
        "Gives every value a place in memory; values whose lifetimes do not overlap share memory.",
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

ROWS_BY_PLACE = {row.place: row for row in PIPELINE}


def check_names(disabled: Iterable[str]) -> None:
    """Check names that a user wants switched off, ours or ATC's, by the pipeline.

    Raises:
        AtcError: UNKNOWN_PASS or REQUIRED_PASS.
    """
    for name, row in zip(sorted(disabled), find_passes(sorted(disabled)), strict=True):
        if not row.optional:
            raise REQUIRED_PASS.error(Text("{name} cannot be switched off", name=name))


def find_passes(names: Iterable[str]) -> list[PassRow]:
    """The passes of the pipeline that have `names`, ours or ATC's.

    Raises:
        AtcError: UNKNOWN_PASS.
    """
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
    """Passes by their names, ours and ATC's."""
    return {name: row for row in PIPELINE for name in (row.name, *row.atc_names)}

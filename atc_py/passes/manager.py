"""The pass manager: the order of the passes, and what is checked around each."""

import time
from collections.abc import Callable, Iterable

import msgspec

from atc_py.diag import BROKEN_INVARIANT, REQUIRED_PASS, UNKNOWN_PASS
from atc_py.ir import Graph, Phase, verify_graph
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.fusion.align_batch_norm import AlignBatchNormPass
from atc_py.passes.fusion.average_pools_to_conv import AveragePoolsToConvPass
from atc_py.passes.fusion.batch_norm_to_bn_infer import BatchNormToBNInferPass
from atc_py.passes.fusion.eliminate_dead_code import EliminateDeadCodePass
from atc_py.passes.fusion.fuse_confusion_transpose import FuseConfusionTransposePass
from atc_py.passes.fusion.fuse_conv_batch_norm import FuseConvBatchNormPass
from atc_py.passes.fusion.fuse_conv_bias import FuseConvBiasPass
from atc_py.passes.fusion.fuse_gelu import FuseGeluPass
from atc_py.passes.fusion.fuse_hard_swish import FuseHardSwishPass
from atc_py.passes.fusion.fuse_layer_norm import FuseLayerNormPass
from atc_py.passes.fusion.fuse_masked_softmax import FuseMaskedSoftmaxPass
from atc_py.passes.fusion.fuse_matmul_bias import FuseMatmulBiasPass
from atc_py.passes.fusion.fuse_pad_conv import FusePadConvPass
from atc_py.passes.fusion.fuse_pad_pool import FusePadPoolPass
from atc_py.passes.fusion.fuse_rms_norm import FuseRmsNormPass
from atc_py.passes.fusion.fuse_scale_into_weights import FuseScaleIntoWeightsPass
from atc_py.passes.fusion.fuse_softmax import FuseSoftmaxPass
from atc_py.passes.fusion.fuse_swish import FuseSwishPass
from atc_py.passes.fusion.fuse_transpose_matmul import FuseTransposeMatmulPass
from atc_py.passes.fusion.merge_common_nodes import MergeCommonNodesPass
from atc_py.passes.fusion.merge_conv_elemwise import MergeConvElemwisePass
from atc_py.passes.fusion.merge_dequant import MergeDequantPass
from atc_py.passes.fusion.merge_elemwise import MergeElemwisePass
from atc_py.passes.fusion.merge_matmul_elemwise import MergeMatmulElemwisePass
from atc_py.passes.fusion.merge_requant import MergeRequantPass
from atc_py.passes.fusion.merge_reshapes import MergeReshapesPass
from atc_py.passes.fusion.merge_transposes import MergeTransposesPass
from atc_py.passes.fusion.remove_identities import RemoveIdentitiesPass
from atc_py.passes.fusion.rewrite_depthwise_conv import RewriteDepthwiseConvPass
from atc_py.passes.fusion.split_grouped_conv import SplitGroupedConvPass
from atc_py.passes.layout.assign_formats import AssignFormatsPass
from atc_py.passes.layout.assign_storage import AssignStoragePass
from atc_py.passes.layout.insert_trans_data import InsertTransDataPass
from atc_py.passes.layout.merge_trans_data import MergeTransDataPass
from atc_py.passes.memory.plan_memory import PlanMemoryPass
from atc_py.passes.precision.assign_precision import AssignPrecisionPass
from atc_py.passes.precision.cancel_casts import CancelCastsPass
from atc_py.passes.precision.fold_constant_casts import FoldConstantCastsPass
from atc_py.passes.precision.verifier_rules import verifier_rules
from atc_py.passes.quant.apply_offset_w import ApplyOffsetWPass
from atc_py.passes.quant.cancel_quant_pairs import CancelQuantPairsPass
from atc_py.passes.quant.float16_quant_scales import Float16QuantScalesPass
from atc_py.passes.quant.fold_quant_bias import FoldQuantBiasPass
from atc_py.passes.quant.fold_quant_scale import FoldQuantScalePass
from atc_py.passes.quant.fold_relu_into_dequant import FoldReluIntoDequantPass
from atc_py.passes.quant.fuse_requant import FuseRequantPass
from atc_py.passes.quant.merge_quants import MergeQuantsPass
from atc_py.passes.quant.roll_back_quant import RollBackQuantPass
from atc_py.passes.quant.set_offset_x import SetOffsetXPass
from atc_py.passes.quant.set_round_mode import SetRoundModePass
from atc_py.text import Text

PIPELINE: tuple[type[Pass], ...] = (
    EliminateDeadCodePass,
    ApplyOffsetWPass,
    RollBackQuantPass,
    FoldQuantBiasPass,
    SetOffsetXPass,
    SetRoundModePass,
    CancelQuantPairsPass,
    MergeQuantsPass,
    FoldReluIntoDequantPass,
    FuseRequantPass,
    FoldQuantScalePass,
    Float16QuantScalesPass,
    FuseLayerNormPass,
    FuseRmsNormPass,
    FuseSoftmaxPass,
    FuseMaskedSoftmaxPass,
    FuseGeluPass,
    FuseSwishPass,
    FuseHardSwishPass,
    FuseMatmulBiasPass,
    FusePadConvPass,
    FusePadPoolPass,
    FuseConvBatchNormPass,
    FuseConvBiasPass,
    FuseScaleIntoWeightsPass,
    AlignBatchNormPass,
    BatchNormToBNInferPass,
    RewriteDepthwiseConvPass,
    SplitGroupedConvPass,
    RemoveIdentitiesPass,
    MergeTransposesPass,
    FuseTransposeMatmulPass,
    MergeReshapesPass,
    FuseConfusionTransposePass,
    MergeCommonNodesPass,
    AssignPrecisionPass,
    CancelCastsPass,
    FoldConstantCastsPass,
    AveragePoolsToConvPass,
    AssignFormatsPass,
    AssignStoragePass,
    InsertTransDataPass,
    MergeTransDataPass,
    MergeDequantPass,
    MergeRequantPass,
    MergeConvElemwisePass,
    MergeMatmulElemwisePass,
    MergeElemwisePass,
    PlanMemoryPass,
)
"""Every pass, in the order in which they run.

Those on quantization come while dtypes are the model's own: nodes that they make find their columns
like all others. Offsets reach their layers first: before the words of AscendDequant, which have
those of weights, become other words, and before nodes go that tell those of data.
"""


class PassRun(msgspec.Struct, frozen=True):
    """The work of one pass: its name, how many changes it made, and how long it took."""

    name: str
    changes: int
    seconds: float


def check_names(disabled: Iterable[str]) -> None:
    """Check names that a user wants switched off, ours or ATC's, by the pipeline.

    Raises:
        AtcError: UNKNOWN_PASS or REQUIRED_PASS.
    """
    for name, row in zip(sorted(disabled), find_passes(sorted(disabled)), strict=True):
        if not row.optional:
            raise REQUIRED_PASS.error(Text("{name} cannot be switched off", name=name))


def find_passes(names: Iterable[str]) -> list[type[Pass]]:
    """The passes of the pipeline that have `names`, ours or ATC's.

    Raises:
        AtcError: UNKNOWN_PASS.
    """
    by_name = {name: row for row in PIPELINE for name in (row.name, *row.atc_names)}
    found = []
    for name in names:
        if name not in by_name:
            known = ", ".join(row.name for row in PIPELINE)
            raise UNKNOWN_PASS.error(
                Text("no pass is called {name}", name=repr(name)),
                help=Text("passes are {known}", known=known),
            )
        found.append(by_name[name])
    return found


def run_passes(
    graph: Graph,
    context: PassContext,
    *,
    disabled: frozenset[str] = frozenset(),
    verify: bool = False,
    until: Phase | None = None,
    after: Callable[[str, Graph], None] | None = None,
) -> list[PassRun]:
    """Run the pipeline on `graph` in place.

    Args:
        graph: phase `lowered`.
        context: SoC, precision mode and file.
        disabled: names of optional passes that do not run, ours or ATC's.
        verify: check the graph after every pass; at phase changes it is checked always.
        until: stop when the graph has reached this phase; None for the last one.
        after: called with the pass's name and the graph after each pass that ran.

    Raises:
        AtcError: a name is wrong, a pass refuses the model, or an invariant is broken.
    """
    check_names(disabled)
    rules = verifier_rules(context.soc)
    verify_graph(graph, rules)
    runs = []
    for row in PIPELINE:
        if not disabled.isdisjoint((row.name, *row.atc_names)):
            continue
        if context.only_atc_passes and not row.in_atc:
            continue
        runs.append(_run(row(), graph, context))
        if verify or row.ensures is not None:
            verify_graph(graph, rules)
        if after is not None:
            after(row.name, graph)
        if graph.phase is until:
            break
    return runs


def _run(step: Pass, graph: Graph, context: PassContext) -> PassRun:
    """Run one pass and put the nodes in order."""
    if graph.phase < step.requires:
        raise BROKEN_INVARIANT.error(
            Text(
                "pass {step} needs phase {label}, found {label_2}",
                step=step.name,
                label=step.requires.label,
                label_2=graph.phase.label,
            )
        )
    started = time.perf_counter()
    changes = step.run(graph, context)
    if changes:
        graph.sort()
    if step.ensures is not None:
        graph.phase = step.ensures
    return PassRun(step.name, changes, time.perf_counter() - started)

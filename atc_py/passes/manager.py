"""The pass manager: the order of the passes, and what is checked around each."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atc_py.diag.codes import BROKEN_INVARIANT, REQUIRED_PASS, UNKNOWN_PASS
from atc_py.ir.verifier import verify_graph
from atc_py.passes.fusion.batch_norm_to_bn_infer import BatchNormToBNInferPass
from atc_py.passes.fusion.eliminate_dead_code import EliminateDeadCodePass
from atc_py.passes.fusion.fuse_conv_batch_norm import FuseConvBatchNormPass
from atc_py.passes.fusion.rewrite_depthwise_conv import RewriteDepthwiseConvPass
from atc_py.passes.fusion.split_grouped_conv import SplitGroupedConvPass
from atc_py.passes.layout.assign_formats import AssignFormatsPass
from atc_py.passes.precision.assign_precision import AssignPrecisionPass
from atc_py.passes.precision.cancel_casts import CancelCastsPass
from atc_py.passes.precision.fold_constant_casts import FoldConstantCastsPass
from atc_py.passes.precision.rules import verifier_rules
from atc_py.passes.quant.apply_offset_w import ApplyOffsetWPass
from atc_py.passes.quant.cancel_quant_pairs import CancelQuantPairsPass
from atc_py.passes.quant.float16_quant_scales import Float16QuantScalesPass
from atc_py.passes.quant.fold_relu_into_dequant import FoldReluIntoDequantPass
from atc_py.passes.quant.fuse_requant import FuseRequantPass
from atc_py.passes.quant.merge_quants import MergeQuantsPass
from atc_py.passes.quant.set_offset_x import SetOffsetXPass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from atc_py.ir import Graph
    from atc_py.passes.base import Pass, PassContext

__all__ = ["PIPELINE", "PassRun", "check_names", "run_passes"]

PIPELINE: tuple[type[Pass], ...] = (
    EliminateDeadCodePass,
    CancelQuantPairsPass,
    MergeQuantsPass,
    ApplyOffsetWPass,
    SetOffsetXPass,
    FoldReluIntoDequantPass,
    FuseRequantPass,
    Float16QuantScalesPass,
    FuseConvBatchNormPass,
    BatchNormToBNInferPass,
    RewriteDepthwiseConvPass,
    SplitGroupedConvPass,
    AssignPrecisionPass,
    CancelCastsPass,
    FoldConstantCastsPass,
    AssignFormatsPass,
)
"""Every pass, in the order in which they run.

Those on quantisation come while dtypes are the model's own: nodes that they make find their columns
like all others. Offsets leave the words of AscendDequant before these become other words.
"""


@dataclass(frozen=True, slots=True)
class PassRun:
    """What one pass did: its name, how many changes it made, and how long it took."""

    name: str
    changes: int
    seconds: float


def check_names(disabled: Iterable[str]) -> None:
    """Hold names that a user wants switched off, ours or ATC's, against the pipeline.

    Raises:
        AtcError: UNKNOWN_PASS or REQUIRED_PASS.
    """
    by_name = {name: row for row in PIPELINE for name in (row.name, *row.atc_names)}
    for name in sorted(disabled):
        if name not in by_name:
            known = ", ".join(row.name for row in PIPELINE)
            raise UNKNOWN_PASS.error(f"no pass is called {name!r}", help=f"passes are {known}")
        if not by_name[name].optional:
            raise REQUIRED_PASS.error(f"{name} cannot be switched off")


def run_passes(
    graph: Graph,
    context: PassContext,
    *,
    disabled: frozenset[str] = frozenset(),
    verify: bool = False,
    after: Callable[[str, Graph], None] | None = None,
) -> list[PassRun]:
    """Run the pipeline on `graph` in place.

    Args:
        graph: phase `lowered`.
        context: SoC, precision mode and file.
        disabled: names of optional passes that do not run, ours or ATC's.
        verify: check the graph after every pass; at phase changes it is checked always.
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
        runs.append(_run(row(), graph, context))
        if verify or row.ensures is not None:
            verify_graph(graph, rules)
        if after is not None:
            after(row.name, graph)
    return runs


def _run(step: Pass, graph: Graph, context: PassContext) -> PassRun:
    """Run one pass and put the nodes in order."""
    if graph.phase < step.requires:
        raise BROKEN_INVARIANT.error(
            f"pass {step.name} needs phase {step.requires.label}, found {graph.phase.label}"
        )
    started = time.perf_counter()
    changes = step.run(graph, context)
    if changes:
        graph.sort()
    if step.ensures is not None:
        graph.phase = step.ensures
    return PassRun(step.name, changes, time.perf_counter() - started)

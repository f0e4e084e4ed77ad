"""What compilation made of a model: the facts that reports show, and what is written beside the graph."""

from collections.abc import Sequence
from typing import Any

from atc_py import __version__
from atc_py.ir import Graph
from atc_py.kernels.kernels import KernelSet
from atc_py.options.compile_options import CompileOptions
from atc_py.options.ranges import format_ranges
from atc_py.package.schema import ATC_CMDLINE, FIXED, INPUT_RANGES, PackageContents
from atc_py.passes.base import PassContext, PassFusions
from atc_py.passes.layout.reasons import layout_record
from atc_py.passes.manager import PassRun
from atc_py.passes.pipeline import PIPELINE
from atc_py.pipeline.lowering import Lowered, counts_by_name
from atc_py.pipeline.pass_stage import Passed, launch_count
from atc_py.results.conversion import Facts, FusionEffect, PassEffect


def facts_of(lowered: Lowered, kernels: KernelSet, passed: Passed) -> Facts:
    return graph_facts(
        lowered.graph,
        kernels,
        passed.runs,
        passed.context,
        file_nodes=lowered.file_nodes,
        source_operators=lowered.operators,
        weights_in=lowered.weight_bytes,
        fusions=_fusions(passed),
        launches=launch_count(lowered.graph),
        launches_unfused=passed.launches_before,
        bias_convention=lowered.check.bias_convention,
        fixed=lowered.fixed,
        semantics=lowered.semantics,
        newer=lowered.check.newer,
    )


def graph_facts(
    graph: Graph, kernels: KernelSet, runs: Sequence[PassRun], context: PassContext, **source: Any
) -> Facts:
    """Count what compilation made of a graph, beside what is known of its source."""
    return Facts(
        soc=context.soc.name,
        precision_mode=context.precision_mode.value,
        target_operators=counts_by_name(node.op for node in graph.nodes),
        engines=counts_by_name(
            node.engine.value for node in graph.nodes if node.engine is not None
        ),
        kernels=len(set(kernels.kernel_of.values())),
        passes=tuple(PassEffect(run.name, run.changes) for run in runs),
        precision=context.decisions.as_json(graph),
        layout=layout_record(graph),
        **source,
    )


def _fusions(passed: Passed) -> tuple[FusionEffect, ...]:
    rows = {row.name: row for row in PIPELINE if row.optional}
    found = []
    for run in passed.runs:
        if run.name in rows:
            known = passed.context.fusions.get(run.name)
            record = known or PassFusions(run.changes, run.changes)
            row = rows[run.name]
            found.append(FusionEffect(row.name, row.atc_names, row.ub_fusion, record))
    return tuple(found)


def contents_of(kernels: KernelSet, facts: Facts, options: CompileOptions) -> PackageContents:
    """Members of the offline model beside the graph."""
    return PackageContents(
        producer=f"atc-py {__version__}",
        soc=facts.soc,
        options=_recorded_options(facts, options),
        kernels=kernels.files,
        kernel_of=kernels.kernel_of,
        report=facts.as_json(),
    )


def _recorded_options(facts: Facts, given: CompileOptions) -> dict[str, str]:
    """The options that decide what the offline model computes, and atc's command line."""
    options = {"precision_mode": facts.precision_mode}
    if given.atc_cmdline:
        options[ATC_CMDLINE] = given.atc_cmdline
    if given.ranges:
        options[INPUT_RANGES] = format_ranges(given.ranges)
    if facts.fixed is not None:
        options[FIXED] = "rules"
    if facts.semantics is not None:
        options["semantics"] = f"cann {facts.semantics.generation}"
    if facts.bias_convention is not None:
        options["quant_bias"] = facts.bias_convention.form.value
    return options

"""Compilation of a graph that no ONNX model is the source of: passes, kernels, package."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from atc_py import __version__
from atc_py.ir import Engine, Graph
from atc_py.kernels.kernels import KernelSet, emit_kernels
from atc_py.options.compile_options import CompileOptions
from atc_py.options.ranges import format_ranges
from atc_py.package.schema import ATC_CMDLINE, INPUT_RANGES, PackageContents
from atc_py.package.writer import WrittenModel, write_model
from atc_py.passes.base import PassContext
from atc_py.passes.layout.reasons import layout_record
from atc_py.passes.manager import PassRun, run_passes
from atc_py.passes.precision.control_files import read_controls
from atc_py.passes.precision.model_names import ModelNames, check_soc
from atc_py.pipeline.lowering import counts_by_name
from atc_py.pipeline.rehearsal import rehearse
from atc_py.results.conversion import Facts, PassEffect
from atc_py.target import find_soc, operators


def compile_graph(graph: Graph, file: str, output: Path, options: CompileOptions) -> WrittenModel:
    """Compile a graph of phase `lowered`, which is changed; what concerns ONNX has no effect.

    Raises:
        AtcError: a pass or the device refuses the graph; a file at `output` is then unchanged.
    """
    soc = find_soc(options.soc)
    check_soc(options.precision_mode, soc)
    context = PassContext(
        soc,
        options.precision_mode,
        file,
        controls=read_controls(options.precision, options.precision_mode, _names(graph)),
        reuse_memory=not options.disable_reuse_memory,
        only_atc_passes=options.precision.only_atc_passes,
    )
    sources = [node.op for node in graph.nodes]
    _refuse_impossible(graph, file)
    runs = run_passes(graph, context, disabled=options.disable_pass, verify=options.verify)
    kernels = emit_kernels(graph, soc, options.templates)
    if graph.memory is not None:
        graph.memory = structs.replace(graph.memory, workspace=kernels.workspace)
    facts = _facts(graph, kernels, runs, sources, context)
    contents = PackageContents(
        producer=f"atc-py {__version__}",
        soc=soc.name,
        options=_recorded(options),
        kernels=kernels.files,
        kernel_of=kernels.kernel_of,
        report=facts.as_json(),
    )
    rehearse(graph, contents, file)
    return write_model(graph, output, contents)


def _refuse_impossible(graph: Graph, file: str) -> None:
    """Refuse nodes whose types the device does not infer from their inputs: passes trust them."""
    for node in graph.nodes:  # a description has engines, which only passes choose
        node.engine = Engine.AICORE
    rehearse(graph, PackageContents("", ""), file)
    for node in graph.nodes:
        node.engine = None


def _names(graph: Graph) -> ModelNames:
    return ModelNames(
        nodes={node.name: tuple(each.name for each in node.outputs) for node in graph.nodes},
        types=frozenset(row.name for row in operators()),
        inputs=tuple(value.name for value in graph.inputs),
        outputs=tuple(graph.output_names),
    )


def _recorded(options: CompileOptions) -> dict[str, str]:
    found = {"precision_mode": options.precision_mode.value}
    if options.atc_cmdline:
        found[ATC_CMDLINE] = options.atc_cmdline
    if options.ranges:
        found[INPUT_RANGES] = format_ranges(options.ranges)
    return found


def _facts(
    graph: Graph,
    kernels: KernelSet,
    runs: Sequence[PassRun],
    sources: Sequence[str],
    context: PassContext,
) -> Facts:
    return Facts(
        soc=context.soc.name,
        precision_mode=context.precision_mode.value,
        file_nodes=len(sources),
        source_operators=counts_by_name(sources),
        target_operators=counts_by_name(node.op for node in graph.nodes),
        engines=counts_by_name(
            node.engine.value for node in graph.nodes if node.engine is not None
        ),
        kernels=len(set(kernels.kernel_of.values())),
        weights_in=0,
        passes=tuple(PassEffect(run.name, run.changes) for run in runs),
        precision=context.decisions.as_json(graph),
        layout=layout_record(graph),
    )

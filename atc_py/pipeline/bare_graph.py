"""Compilation of a graph that no ONNX model is the source of: passes, kernels, package."""

from pathlib import Path

from atc_py.ir import Engine, Graph
from atc_py.options.compile_options import CompileOptions
from atc_py.package.describe import describe
from atc_py.package.schema import PackageContents
from atc_py.package.writer import WrittenModel, write_model
from atc_py.passes.manager import run_passes
from atc_py.passes.precision.control_files import read_controls
from atc_py.passes.precision.controls import ModelNames, check_soc
from atc_py.pipeline.compile import emitted_kernels
from atc_py.pipeline.conversion_facts import contents_of, graph_facts
from atc_py.pipeline.lowering import counts_by_name
from atc_py.pipeline.pass_stage import pass_context
from atc_py.pipeline.rehearsal import rehearse
from atc_py.target import find_soc, operators


def compile_graph(graph: Graph, file: str, output: Path, options: CompileOptions) -> WrittenModel:
    """Compile a graph of phase `lowered`, which is changed; what concerns ONNX has no effect.

    Raises:
        AtcError: a pass or the device refuses the graph; a file at `output` is then unchanged.
    """
    soc = find_soc(options.soc)
    check_soc(options.precision_mode, soc)
    controls = read_controls(options.precision, options.precision_mode, _names(graph))
    context = pass_context(file, soc, options, controls)
    source = {
        "file_nodes": len(graph.nodes),
        "source_operators": counts_by_name(node.op for node in graph.nodes),
        "weights_in": 0,
    }
    _refuse_impossible(graph, file)
    runs = run_passes(graph, context, disabled=options.disable_pass, verify=options.verify)
    kernels = emitted_kernels(graph, soc, options)
    contents = contents_of(kernels, graph_facts(graph, kernels, runs, context, **source), options)
    description = describe(graph, contents)
    rehearse(graph, description, file)
    return write_model(graph, output, contents, description=description)


def _refuse_impossible(graph: Graph, file: str) -> None:
    """Refuse nodes whose types the device does not infer from their inputs: passes trust them."""
    for node in graph.nodes:  # a description has engines, which only passes choose
        node.engine = Engine.AICORE
    rehearse(graph, describe(graph, PackageContents("", "")), file)
    for node in graph.nodes:
        node.engine = None


def _names(graph: Graph) -> ModelNames:
    return ModelNames(
        nodes={node.name: tuple(each.name for each in node.outputs) for node in graph.nodes},
        types=frozenset(row.name for row in operators()),
        inputs=tuple(value.name for value in graph.inputs),
        outputs=tuple(graph.output_names),
    )

"""`--singleop`: a list of target operators, each compiled to an offline model of its own."""

from collections.abc import Sequence
from pathlib import Path

from atc_py.adapters.atc.modes.single_op_file import SingleOp, read_single_ops
from atc_py.adapters.atc.modes.single_op_graph import graph_of
from atc_py.diag import BAD_OPERATOR_FILE, Place
from atc_py.ir import Graph
from atc_py.options.compile_options import CompileOptions
from atc_py.options.ranges import Ranges
from atc_py.pipeline.bare_graph import compile_graph
from atc_py.system.atomic_files import make_folder
from atc_py.system.structs import replace
from atc_py.text import Text


def compile_single_operators(
    definitions: Path, output: Path, options: CompileOptions
) -> list[Path]:
    """Compile the operators of a JSON file, each to a file in a folder; the files in their order.

    If an operator does not compile, the models of those before it stay. Options on ONNX models have
    no effect.
    """
    singles = read_single_ops(definitions)
    _check_names(singles, definitions)
    graphs = [graph_of(each, str(definitions)) for each in singles]
    make_folder(output)
    paths = [output / each.file_name for each in singles]
    for single, graph, path in zip(singles, graphs, paths, strict=True):
        ranges = _ranges(single, graph)
        compile_graph(graph, str(definitions), path, replace(options, ranges=ranges))
    return paths


def _ranges(single: SingleOp, graph: Graph) -> Ranges:
    fed = (each for each in single.inputs if each.dtype is not None and each.value is None)
    pairs = zip(graph.inputs, fed, strict=True)
    return {value.name: tensor.ranges for value, tensor in pairs if tensor.ranges}


def _check_names(singles: Sequence[SingleOp], definitions: Path) -> None:
    """Refuse two operators whose models would have one name."""
    seen: dict[str, int] = {}
    for each in singles:
        first = seen.setdefault(each.file_name, each.index)
        if first != each.index:
            raise BAD_OPERATOR_FILE.error(
                Text(
                    "operators {first} and {index} would both be written to {file_name}",
                    first=first,
                    index=each.index,
                    file_name=each.file_name,
                ),
                place=Place(str(definitions)),
                help=Text("give each operator a name of its own"),
            )

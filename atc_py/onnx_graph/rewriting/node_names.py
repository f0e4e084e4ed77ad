"""Names of nodes: one for each, graphs inside of nodes included, written back to a file.

Tools that show a compiled model name operators after the nodes that they came from.
"""

from pathlib import Path

from atc_py.onnx_graph.graph import ValueType
from atc_py.onnx_graph.reading.nodes import nodes_within
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.rewriting.onnx_writer import write_onnx


def write_with_names(file: OnnxFile, output: Path, *, external: bool = False) -> int:
    """Write `file`, read for this alone, with a name of its own for each node.

    A node without a name, or with one that an earlier node has, gets its operator and a number; the
    messages of `file` are changed. Returned is how many got another name. If `external`, weights go
    into a file beside the model.
    """
    nodes = [*nodes_within(node.proto for node in sorted(file.nodes, key=lambda node: node.index))]
    taken, number, count = {node.name for node in nodes}, 0, 0
    seen = {""}
    for node in nodes:
        if node.name in seen:
            name = f"{node.op_type}_{number}"
            while name in taken:
                number += 1
                name = f"{node.op_type}_{number}"
            node.name = name
            taken.add(name)
            count += 1
        seen.add(node.name)
    inputs = {value.name: ValueType(0, None) for value in file.inputs}
    write_onnx(file, file.graph(inputs), output, external=external)
    return count

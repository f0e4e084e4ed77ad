"""Some nodes of a folded model as a model of their own, to be compiled apart from the rest."""

from collections.abc import Collection

import msgspec

from atc_py.diag import Diagnostic, Sink
from atc_py.onnx_graph.folding.folded import FoldedModel
from atc_py.onnx_graph.folding.graph import WorkNode
from atc_py.onnx_graph.folding.static_types import TypeSearch
from atc_py.onnx_graph.source import SourceModel
from atc_py.system.structs import replace


class Sample(msgspec.Struct, frozen=True):
    """Nodes of a model.

    Attributes:
        source: the nodes as a model: what no other of them computes is an input, and all that
            they compute is an output.
        faults: the findings of `FoldedModel.to_source` about nodes that cannot be among them, and
            about inputs and outputs of the whole model.
    """

    source: SourceModel
    faults: tuple[Diagnostic, ...]


def sample(model: FoldedModel, positions: Collection[int]) -> Sample:
    """The nodes of `model` at `positions` in its graph; they are the model's own nodes."""
    graph, sink = model.graph, Sink()
    search = TypeSearch(model.folded, model.tensors, sink)
    nodes = tuple(
        model.source.nodes[position]
        for position in sorted(positions)
        if _is_sound(search, graph.nodes[position], sink)
    )
    for name in dict.fromkeys((*graph.outputs, *graph.inputs)):
        search.dtype(name)
    outputs = {each: None for node in nodes for each in node.outputs if each and each.is_typed}
    read = dict.fromkeys(each for node in nodes for each in node.reads)
    needed = (each for each in read if each.const is None or each.name in graph.inputs)
    source = replace(
        model.source,
        inputs=tuple(each for each in needed if each not in outputs),
        outputs=tuple(outputs),
        nodes=nodes,
        file_nodes=len(nodes),
        weight_bytes=0,
    )
    return Sample(source, tuple(sink.errors))


def _is_sound(search: TypeSearch, node: WorkNode, sink: Sink) -> bool:
    """True if nothing is wrong with a node and all that it reads has a type."""
    before = len(sink.errors)
    search.node(node)
    dtypes = [search.dtype(name) for name in node.reads]
    return len(sink.errors) == before and None not in dtypes

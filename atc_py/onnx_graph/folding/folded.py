"""A model after folding: its source model, and the working graph that it was made from."""

from collections.abc import Collection, Iterable, Mapping

import msgspec

from atc_py.diag import AtcError, Diagnostic
from atc_py.onnx_graph.folding.fold import fold_graph
from atc_py.onnx_graph.graph import FoldedGraph, OnnxGraph
from atc_py.onnx_graph.reading.tensors import TensorReader
from atc_py.onnx_graph.source import SourceModel
from atc_py.system.structs import replace


class FoldedModel(msgspec.Struct, frozen=True):
    """A model after folding.

    Attributes:
        source: the model as far as it is known.
        folded: the working graph, with those of the branches of the If nodes that are left.
        rejected: by position, the nodes that lowering cannot take, with the findings about each;
            none where what it reads is to blame.
        rejected_outputs: the findings about outputs of the model.
    """

    source: SourceModel
    folded: FoldedGraph
    rejected: Mapping[int, tuple[Diagnostic, ...]]
    rejected_outputs: tuple[Diagnostic, ...]

    @property
    def graph(self) -> OnnxGraph:
        """The working graph without its branches."""
        return self.folded.graph

    def to_source(self) -> SourceModel:
        """The source model, every tensor of which has a dtype and a rank; dims may be open.

        Raises:
            AtcError: UNKNOWN_SHAPE for values of unknown rank, BAD_MODEL where shapes or types
                contradict each other or an attribute has no plain form, BAD_TENSOR for element
                types and ranks that are not supported, UNSUPPORTED_FORM for subgraphs other than
                the branches of If.
        """
        findings = self.rejections(self.rejected)
        if findings:
            raise AtcError(*findings)
        return self.source

    def rejections(self, positions: Iterable[int]) -> tuple[Diagnostic, ...]:
        """The findings about the nodes at `positions`, and about outputs of the model, each once."""
        of_nodes = (finding for at in positions for finding in self.rejected.get(at, ()))
        return tuple(dict.fromkeys((*of_nodes, *self.rejected_outputs)))


def fold_with_branches(graph: OnnxGraph, tensors: TensorReader, limit: int) -> FoldedGraph:
    """Fold `graph` as far as it can be, with the branches of the If nodes that are left."""
    if any(node.is_if for node in graph.nodes):
        from atc_py.onnx_graph.folding.if_branches import fold_branches  # few models have any

        return fold_branches(graph, tensors, limit)
    faults = tuple(fold_graph(graph, tensors, limit))
    return FoldedGraph(graph, faults=faults, chosen=() if graph.always_runs else faults)


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
    graph = model.graph
    chosen = sorted(positions)
    nodes = tuple(model.source.nodes[at] for at in chosen if at not in model.rejected)
    outputs = {
        tensor: None for node in nodes for tensor in node.outputs if tensor and tensor.is_typed
    }
    read = dict.fromkeys(entry for node in nodes for entry in node.tensors_read)
    needed = (tensor for tensor in read if tensor.const is None or tensor.name in graph.inputs)
    source = replace(
        model.source,
        inputs=tuple(tensor for tensor in needed if tensor not in outputs),
        outputs=tuple(outputs),
        nodes=nodes,
        file_nodes=len(nodes),
        weight_bytes=0,
    )
    return Sample(source, model.rejections(chosen))

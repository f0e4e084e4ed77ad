"""A model after folding: its source model, and the working graph that it was made from."""

from collections.abc import Collection, Iterable, Mapping

import msgspec

from atc_py.diag import AtcError, Diagnostic
from atc_py.onnx_graph.folding.fold import fold_graph
from atc_py.onnx_graph.graph import FoldedGraph, OnnxGraph
from atc_py.onnx_graph.reading.tensors import TensorReader
from atc_py.onnx_graph.source import SourceModel
from atc_py.system.structs import replace


class FoldedModel(msgspec.Struct, frozen=True, eq=False):
    """A model after folding."""

    source: SourceModel  # the model as far as it is known
    # the working graph, with those of the branches of the If nodes that are left
    folded: FoldedGraph
    # by position, the nodes that lowering cannot take, with the findings about each; none where
    # what it reads is to blame
    rejected: Mapping[int, tuple[Diagnostic, ...]]
    rejected_outputs: tuple[Diagnostic, ...]  # the findings about outputs of the model
    # of a model that was surveyed, faults of inputs that no choice of shapes removes
    input_faults: tuple[Diagnostic, ...] = ()

    @property
    def graph(self) -> OnnxGraph:
        """The working graph without its branches."""
        return self.folded.graph

    def to_source(self) -> SourceModel:
        """The source model, every tensor of which has a dtype and a rank; dims may be open.

        An AtcError has UNKNOWN_SHAPE for values of unknown rank, BAD_MODEL where shapes or types
        contradict each other or an attribute has no plain form, BAD_TENSOR for element types and
        ranks that are not supported, UNSUPPORTED_FORM for subgraphs other than the branches of If.
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


def sample(model: FoldedModel, positions: Collection[int]) -> SourceModel:
    """The nodes of `model` at `positions` in its graph, but for those that lowering cannot take.

    What no other of them computes is an input, and all that they compute is an output.
    """
    at_positions = (at for at in sorted(positions) if at not in model.rejected)
    nodes = tuple(model.source.nodes[at] for at in at_positions)
    outputs = {
        tensor: None for node in nodes for tensor in node.outputs if tensor and tensor.is_typed
    }
    read = dict.fromkeys(entry for node in nodes for entry in node.tensors_read)
    needed = (
        tensor for tensor in read if tensor.const is None or tensor.name in model.graph.inputs
    )
    return replace(
        model.source,
        inputs=tuple(tensor for tensor in needed if tensor not in outputs),
        outputs=tuple(outputs),
        nodes=nodes,
        file_nodes=len(nodes),
        weight_bytes=0,
    )

"""A model after folding: its source model, and the working graph that it was made from."""

import msgspec

from atc_py.diag import Sink
from atc_py.onnx_graph.folding.graph import WorkGraph
from atc_py.onnx_graph.folding.if_branches import FoldedGraph
from atc_py.onnx_graph.folding.static_types import report_untyped
from atc_py.onnx_graph.reading.tensors import TensorReader
from atc_py.onnx_graph.source import SourceModel


class FoldedModel(msgspec.Struct, frozen=True):
    """A model after folding.

    Attributes:
        source: the model as far as it is known.
        folded: the working graph, with those of the branches of the If nodes that are left.
        tensors: reads the tensors of its nodes' attributes.
    """

    source: SourceModel
    folded: FoldedGraph
    tensors: TensorReader

    @property
    def graph(self) -> WorkGraph:
        """The working graph without its branches."""
        return self.folded.graph

    def to_source(self) -> SourceModel:
        """The source model, every tensor of which has a dtype and a rank; dims may be open.

        Raises:
            AtcError: with every finding of `report_untyped`.
        """
        sink = Sink()
        report_untyped(self.folded, self.tensors, sink)
        sink.raise_errors()
        return self.source

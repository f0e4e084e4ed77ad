"""A file that has been folded and checked, from which fixing starts, any number of times."""

from __future__ import annotations

import msgspec

from atc_py.check.evaluate import Checked
from atc_py.onnx_graph.folding.folded import FoldedModel
from atc_py.onnx_graph.folding.graph import WorkGraph
from atc_py.onnx_graph.source import QuantizedNode
from atc_py.system.structs import replace


class Start(msgspec.Struct, frozen=True):
    """A file after folding, and its check.

    Attributes:
        model: the file after folding.
        checked: its check.
        kept: its graph as it was then; nothing changes it.
    """

    model: FoldedModel
    checked: Checked
    kept: WorkGraph

    @classmethod
    def of(cls, model: FoldedModel, checked: Checked) -> Start:
        """A start; what becomes of the graph of `model` later is of no concern."""
        return cls(model, checked, _copied(model.graph))

    @property
    def graph(self) -> WorkGraph:
        """A graph that may be changed."""
        return _copied(self.kept)

    @property
    def quantized(self) -> tuple[QuantizedNode, ...]:
        """The outcomes of the quantized layers outside of branches."""
        every, inner = self.model.source.quantized, self.model.folded.quantized
        return every[: len(every) - len(inner)]


def _copied(graph: WorkGraph) -> WorkGraph:
    return replace(
        graph,
        nodes=list(graph.nodes),
        inputs=dict(graph.inputs),
        consts=dict(graph.consts),
        foreign=dict(graph.foreign),
        declared=dict(graph.declared),
        types=dict(graph.types),
        kinds=dict(graph.kinds),
        pinned=dict(graph.pinned),
    )

"""Some nodes of a folded model as a model of their own, to be compiled apart from the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atc_py.diag import Sink
from atc_py.frontend.folding.folded import Translator
from atc_py.source.model import SourceModel

if TYPE_CHECKING:
    from collections.abc import Collection

    from atc_py.diag import Diagnostic
    from atc_py.frontend.folding.folded import FoldedModel
    from atc_py.frontend.folding.graph import WorkNode
    from atc_py.source.model import SourceNode, SourceValue

__all__ = ["Sample", "sample"]


@dataclass(frozen=True, slots=True)
class Sample:
    """Nodes of a model.

    Attributes:
        source: the nodes as a model: what no other of them computes is an input, and all that
            they compute is an output.
        faults: what `FoldedModel.to_source` says of nodes that cannot be among them, and of what
            the whole model is given and gives.
    """

    source: SourceModel
    faults: tuple[Diagnostic, ...]


def sample(model: FoldedModel, positions: Collection[int]) -> Sample:
    """The nodes of `model` at `positions` in its graph."""
    graph, sink = model.graph, Sink()
    translator = Translator(model.folded, model.tensors, sink)
    wanted = [graph.nodes[position] for position in sorted(positions)]
    found = [made for node in wanted if (made := _made(translator, node, sink))]
    for name in dict.fromkeys((*graph.outputs, *graph.inputs)):
        translator.value(name)
    nodes = [node for node, _ in found]
    outputs = {output: None for node in nodes for output in node.outputs if output is not None}
    read = [value for _, values in found for value in values]
    needed = dict.fromkeys(v for v in read if v.const is None or v.name in graph.inputs)
    source = SourceModel(
        path=graph.path,
        name=model.name,
        opsets=dict(graph.opsets),
        inputs=tuple(value for value in needed if value not in outputs),
        outputs=tuple(outputs),
        nodes=tuple(nodes),
        file_nodes=len(nodes),
        weight_bytes=0,
    )
    return Sample(source, tuple(sink.errors))


def _made(
    translator: Translator, node: WorkNode, sink: Sink
) -> tuple[SourceNode, list[SourceValue]] | None:
    """A node and the values that it and its branches read; None where one cannot be made."""
    before = len(sink.errors)
    made = translator.node(node)
    read = [translator.value(name) for name in node.reads]
    values = [value for value in read if value is not None]
    if len(sink.errors) > before or len(values) < len(read):
        return None
    return made, values

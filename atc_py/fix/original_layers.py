"""Quantized layers of a fixed model in the form of the file, which any ONNX runtime knows."""

from collections.abc import Collection, Mapping

from atc_py.fix.fixed import Fixed
from atc_py.ir import ConstData
from atc_py.onnx_graph.folding.graph import WorkGraph, WorkNode
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.rewriting.qdq.raising import means_the_same
from atc_py.system.structs import replace


def with_original_layers(fixed: Fixed) -> WorkGraph | None:
    """The graph in which quantized layers that no rule rewrote stand as in the file.

    The import of a quantized model, which lets rules see it as the compiler does, keeps the names
    of values. A node of the import gives way to the node of the file that makes the value of one
    name. None where there is no such node, or where the file's would mean another thing: at
    another opset, or where it chooses a graph.
    """
    graph, file = fixed.graph, fixed.file
    imported = {name for node in fixed.imported for name in node.writes}
    new = (node for applied in fixed.applied for node in applied.step.written)
    imported -= {name for node in new for name in node.writes}
    makers = {name: node for node in graph.nodes for name in node.writes}
    if imported.isdisjoint(makers):
        return None
    own = {name: node for node in file.nodes for name in node.writes}
    walk = _Walk(makers, own, imported, {*graph.consts, *graph.inputs})
    nodes = walk.nodes_of(graph.outputs)
    taken = set(file.nodes).difference(graph.nodes).intersection(nodes)
    opset = graph.opsets.get("", 0)
    if not taken or not all(means_the_same(node, opset) for node in taken):
        return None
    domains = {
        domain: file.opsets[domain] for domain in {n.domain for n in taken} if domain in file.opsets
    }
    return replace(
        graph,
        nodes=nodes,
        consts={**_weights(file, taken), **graph.consts},
        opsets={**domains, **graph.opsets},
    )


def _weights(file: OnnxFile, nodes: Collection[WorkNode]) -> dict[str, ConstData]:
    weights = file.contents.weights
    return {name: weights[name] for node in nodes for name in node.reads if name in weights}


class _Walk:
    """A walk from the outputs of a graph back to what makes them, in the file where it may.

    Args:
        makers: the nodes of the graph by their results.
        own: the nodes of the file by theirs.
        imported: results whose makers in the graph give way.
        there: constants and inputs of the graph.
    """

    def __init__(
        self,
        makers: Mapping[str, WorkNode],
        own: Mapping[str, WorkNode],
        imported: Collection[str],
        there: Collection[str],
    ) -> None:
        self._makers = makers
        self._own = own
        self._imported = imported
        self._there = there

    def nodes_of(self, names: Collection[str]) -> list[WorkNode]:
        """The nodes that make `names`, producers first."""
        done: dict[WorkNode, None] = {}
        opened: set[WorkNode] = set()
        waiting = [(name, False) for name in reversed([*names])]
        while waiting:
            name, is_ready = waiting.pop()
            node = self._maker(name)
            if node is None or node in done:
                continue
            if is_ready:
                done[node] = None
            elif node not in opened:
                opened.add(node)
                waiting.append((name, True))
                waiting += [(read, False) for read in reversed(node.reads)]
        return [*done]

    def _maker(self, name: str) -> WorkNode | None:
        """The node that makes a value; None for a constant or an input."""
        node = self._makers.get(name)
        if node is not None and name not in self._imported:
            return node
        if node is None and name in self._there:
            return None
        return self._own.get(name, node)

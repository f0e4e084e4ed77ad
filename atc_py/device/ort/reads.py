"""The values that a node reads, those in graphs inside it included."""

from collections.abc import Iterator

from onnx import NodeProto

from atc_py.onnx_graph.graph import subgraphs


def reads_of(node: NodeProto) -> Iterator[str]:
    """Yield the names that a node and the nodes of its graphs read, empty where one is absent."""
    yield from node.input
    for graph in subgraphs(node):
        for inner in graph.node:
            yield from reads_of(inner)

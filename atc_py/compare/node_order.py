"""Names that the nodes of an ONNX file read, the nodes within them, and an order in which they can run."""

from collections.abc import Iterable, Iterator

import onnx

_GRAPHS = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)


def read_by(node: onnx.NodeProto) -> list[str]:
    """List the names that a node reads, with those that graphs inside it take from outside."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        if attribute.type not in _GRAPHS:
            continue
        for graph in (attribute.g, *attribute.graphs):
            inside = {each.name for each in (*graph.initializer, *graph.input)}
            inside.update(name for each in graph.node for name in each.output)
            taken = (name for each in graph.node for name in read_by(each))
            handed = (each.name for each in graph.output)
            names += [name for name in (*taken, *handed) if name and name not in inside]
    return names


def nodes_within(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Yield nodes, each with the nodes of the graphs in it."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from nodes_within(graph.node)


def producers_first(nodes: Iterable[onnx.NodeProto], known: set[str]) -> list[onnx.NodeProto]:
    """Sort `nodes` with producers first, else in their order; those of a cycle come last."""
    found: list[onnx.NodeProto] = []
    left = list(nodes)
    while left:
        ready, waiting = [], []
        for node in left:
            if known.issuperset(read_by(node)):
                ready.append(node)
                known.update(node.output)
            else:
                waiting.append(node)
        if not ready:
            return found + waiting
        found += ready
        left = waiting
    return found

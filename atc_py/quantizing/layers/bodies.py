"""Layers in the graphs of nodes: branches of If, bodies of Loop and Scan."""

from collections import Counter
from collections.abc import Iterable

from onnx import GraphProto

from atc_py.onnx_graph.folding.graph import WorkGraph, WorkNode, subgraphs
from atc_py.quantizing.layers.layers import KINDS


def layers_in_bodies(graph: WorkGraph) -> list[tuple[WorkNode, dict[str, int]]]:
    """The nodes whose own graphs have layers, with how many of each operator."""
    found = []
    for node in graph.nodes:
        counts = Counter(_kinds(subgraphs(node.proto)))
        if counts:
            found.append((node, dict(sorted(counts.items()))))
    return found


def _kinds(graphs: Iterable[GraphProto]) -> list[str]:
    found, left = [], list(graphs)
    while left:
        for node in left.pop().node:
            if not node.domain and node.op_type in KINDS:
                found.append(node.op_type)
            left.extend(subgraphs(node))
    return found

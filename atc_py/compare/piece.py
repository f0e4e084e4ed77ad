"""Pieces of the original: nodes that run together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import onnx

from atc_py.compare.node_order import read_by


@dataclass(frozen=True, slots=True)
class Piece:
    """Some nodes of the graph that run together.

    Attributes:
        nodes: the nodes.
        reads: values from earlier nodes; initializers are not among them.
        writes: their results.
    """

    nodes: tuple[onnx.NodeProto, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]


def piece_of(nodes: Sequence[onnx.NodeProto], constants: Mapping[str, object]) -> Piece:
    """`nodes` with the names they read and write."""
    writes = dict.fromkeys(name for node in nodes for name in node.output if name)
    reads = dict.fromkeys(
        name
        for node in nodes
        for name in read_by(node)
        if name and name not in writes and name not in constants
    )
    return Piece(tuple(nodes), tuple(reads), tuple(writes))

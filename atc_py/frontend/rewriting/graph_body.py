"""Graphs inside of nodes as plain values: the bodies of If, Loop and Scan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from onnx import numpy_helper

from atc_py.frontend.rewriting.function_body import BodyNode, body_node

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from atc_py.frontend.folding.graph import WorkNode

__all__ = ["GraphBody", "graph_bodies"]


@dataclass(frozen=True, slots=True)
class GraphBody:
    """A graph inside of a node.

    Attributes:
        inputs: names of its inputs.
        outputs: names of its outputs.
        nodes: producers first.
        constants: data of its initializers by name.
        nested: whether a node of it holds a graph in turn.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[BodyNode, ...]
    constants: Mapping[str, NDArray[Any]]
    nested: bool


def graph_bodies(node: WorkNode) -> dict[str, GraphBody]:
    """Return the graphs that a node holds, by the names of their attributes."""
    found: dict[str, GraphBody] = {}
    for attribute in node.proto.attribute:
        if not attribute.HasField("g"):
            continue
        graph = attribute.g
        nested = any(part.HasField("g") for each in graph.node for part in each.attribute)
        constants = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
        found[attribute.name] = GraphBody(
            tuple(each.name for each in graph.input if each.name not in constants),
            tuple(each.name for each in graph.output),
            () if nested else tuple(body_node(each) for each in graph.node),
            constants,
            nested,
        )
    return found

"""Nodes that mean another thing on a generation of CANN than in ONNX, or that its parser does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.check.bound_node import BoundNode
from atc_py.check.deviations import met_deviations, parser_opsets
from atc_py.check.restating import OpsetPlacement, place_node
from atc_py.frontend.reading.history import history
from atc_py.spec import ONNX_DOMAINS
from atc_py.spec.generations import find_generation

if TYPE_CHECKING:
    from atc_py.check.bound_node import Conditions
    from atc_py.source import SourceNode
    from atc_py.spec import Library

__all__ = ["bound_node", "is_unknown_to_parser", "names_of_deviations"]


def bound_node(node: SourceNode, library: Library, conditions: Conditions) -> BoundNode | None:
    """Return a node bound to its specification; None if it stands at no listed opset."""
    spec = library.find(node.op_type, node.domain)
    placement = None if spec is None else place_node(node, spec, history())
    if spec is None or not isinstance(placement, OpsetPlacement):
        return None
    return BoundNode(spec, placement.view, placement.opset, conditions, node.opset)


def names_of_deviations(
    node: SourceNode, library: Library, conditions: Conditions
) -> frozenset[str]:
    """Return the deviations that a node meets, or may meet, as `GRU/clip-ignored`."""
    bound = bound_node(node, library, conditions)
    if bound is None:
        return frozenset()
    return frozenset(f"{bound.spec.op}/{met.row.name}" for met in met_deviations(bound))


def is_unknown_to_parser(node: SourceNode, library: Library, conditions: Conditions) -> bool:
    """Return True if the generation's parser has a listed operator at no opset."""
    spec = library.find(node.op_type, node.domain)
    if spec is None or (spec.custom and node.domain not in ONNX_DOMAINS):
        return False
    return not parser_opsets(spec, find_generation(conditions.cann).edition)

"""Nodes that onnx's inference misjudges: the form that it is shown, and when it is not believed.

STFT: inference takes the result to be two-sided where `onesided` is not set, though ONNX's default
is 1. It is shown the default.

Attention: inference takes an open extent of V for 0. It is not asked as long as one is open.

Resize to sizes, StringNormalizer, Pad along computed axes: inference refuses an open extent, or a
number of axes that it does not know, for what it might be. It is not asked before it is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
from onnx import helper

from atc_py.frontend.typing.type_corrections import known_type

if TYPE_CHECKING:
    from atc_py.frontend.folding.graph import WorkGraph, WorkNode

__all__ = ["as_shown", "is_misjudged", "postponed_nodes"]

_FORGOTTEN = {"STFT": ("onesided", 1)}
"""Defaults that inference forgets."""

_CLOSED = {"Attention": 3, "StringNormalizer": 1}
"""Operators that inference understands where the extents of so many first inputs are known."""

_SIZES = 3
"""Position of the sizes among the inputs of Resize."""

_AXES = 3
"""Position of the axes among the inputs of Pad."""


def as_shown(node: WorkNode) -> onnx.NodeProto:
    """Return the node as inference is to see it."""
    plain = node.plain
    name, value = _FORGOTTEN.get(node.op_type, ("", 0)) if not node.domain else ("", 0)
    if not name or any(each.name == name for each in plain.attribute):
        return plain
    whole = onnx.NodeProto()
    whole.CopyFrom(plain)
    whole.attribute.append(helper.make_attribute(name, value))
    return whole


def postponed_nodes(graph: WorkGraph) -> set[WorkNode]:
    """Find the nodes that inference of the graph must not see before their inputs are known."""
    return {node for node in graph.nodes if not node.domain and node.op_type in _CLOSED}


def is_misjudged(graph: WorkGraph, node: WorkNode) -> bool:
    """Tell whether inference of the node may be wrong for what is not known yet."""
    if node.domain:
        return False
    if node.op_type in _CLOSED:
        return not all(_is_closed(graph, name) for name in node.inputs[: _CLOSED[node.op_type]])
    if node.op_type == "Resize":
        return _is_given(node, _SIZES) and not _is_closed(graph, node.inputs[_SIZES])
    if node.op_type == "Pad":
        return _is_given(node, _AXES) and node.inputs[_AXES] not in graph.consts
    return False


def _is_given(node: WorkNode, position: int) -> bool:
    """Tell whether the input at `position` is there."""
    return position < len(node.inputs) and bool(node.inputs[position])


def _is_closed(graph: WorkGraph, name: str) -> bool:
    """Tell whether all dims of an input are known; those of an absent one are."""
    known = known_type(graph, name) if name else None
    return not name or (known is not None and known.shape is not None)

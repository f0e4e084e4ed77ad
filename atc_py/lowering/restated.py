"""Restating: the source model with its nodes in the form of the listed opsets that they stand at."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, cast

from atc_py.source import scope_name
from atc_py.source.model import SourceNode
from atc_py.spec.rewrites import performs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from atc_py.check.restating import Placement
    from atc_py.source import NodeView, TensorView
    from atc_py.source.model import SourceAttr, SourceBranch, SourceModel, SourceValue

__all__ = ["restated"]

Key: TypeAlias = "tuple[int, str, str]"
"""Position, first output and scope of a node."""


@performs("restate")
def restated(model: SourceModel, placements: Sequence[Placement | None]) -> SourceModel:
    """Return `model` with every node that was restated in its new form.

    Args:
        model: the model in the file's form.
        placements: where each of its nodes stands, in the nodes' order.
    """
    by_node = {
        _key(placement.view, placement.view.scope): placement
        for placement in placements
        if placement is not None and placement.restated
    }
    if not by_node:
        return model
    return replace(model, nodes=tuple(_node(node, by_node, "") for node in model.nodes))


def _key(node: SourceNode | NodeView, scope: str) -> Key:
    """What tells a node from all others: function calls put several nodes in one place."""
    return node.index, _first_name(node.outputs), scope


def _first_name(outputs: Iterable[TensorView | SourceValue | None]) -> str:
    """Return the first output of a node."""
    return next((value.name for value in outputs if value), "")


def _node(node: SourceNode, placements: Mapping[Key, Placement], scope: str) -> SourceNode:
    """Return the node as it is placed, and those of its branches."""
    if node.branches:
        node = replace(node, branches=_branches(node, placements, scope))
    placement = placements.get(_key(node, scope))
    if placement is None:
        return node
    view = placement.view
    values = {value.name: value for value in node.inputs if value}
    inputs = tuple(values[tensor.name] if tensor else None for tensor in view.inputs)
    new = [name for name in view.attributes if name not in node.attributes]
    moved = {name: cast("SourceAttr", view.attributes[name]) for name in new}
    kept = {name: value for name, value in node.attributes.items() if name in view.attributes}
    return SourceNode(
        index=node.index,
        name=node.name,
        op_type=node.op_type,
        domain=node.domain,
        opset=placement.opset,
        since_version=view.since_version,
        inputs=inputs,
        outputs=node.outputs,
        attributes={**kept, **moved},
        branches=node.branches,
    )


def _branches(
    node: SourceNode, placements: Mapping[Key, Placement], scope: str
) -> dict[str, SourceBranch]:
    """Return the branches of a node with their nodes as they are placed."""
    found = {}
    for name, branch in node.branches.items():
        inner = scope_name(name, node.name, node.index, scope)
        nodes = tuple(_node(each, placements, inner) for each in branch.nodes)
        found[name] = replace(branch, nodes=nodes)
    return found

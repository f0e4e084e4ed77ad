"""Restating: the source model with its nodes in the form of the listed opsets that they stand at."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from atc_py.frontend.model import SourceNode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from atc_py.check.restating import Placement
    from atc_py.frontend.model import SourceAttr, SourceModel, SourceValue
    from atc_py.source import TensorView

__all__ = ["restated"]


def restated(model: SourceModel, placements: Sequence[Placement | None]) -> SourceModel:
    """`model` with every node that was restated in its new form.

    Args:
        model: the model in the file's form.
        placements: where each of its nodes stands, in the nodes' order.
    """
    by_node = {
        (placement.view.index, _first_name(placement.view.outputs)): placement
        for placement in placements
        if placement is not None and placement.restated
    }
    if not by_node:
        return model
    return replace(model, nodes=tuple(_node(node, by_node) for node in model.nodes))


def _first_name(outputs: Iterable[TensorView | SourceValue | None]) -> str:
    """The first output of a node: what tells apart nodes that a function call put in one place."""
    return next((value.name for value in outputs if value), "")


def _node(node: SourceNode, placements: Mapping[tuple[int, str], Placement]) -> SourceNode:
    """The node as it is placed."""
    placement = placements.get((node.index, _first_name(node.outputs)))
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
    )

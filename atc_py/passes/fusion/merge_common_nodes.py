"""Nodes that compute the same of the same become one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.passes.base import Pass, PassContext
from atc_py.target import find_operator
from atc_py.tensor.shapes import element_count

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from atc_py.ir import Graph, Node, Origin, Value

__all__ = ["MergeCommonNodesPass"]

_NEVER = frozenset({"Merge", "Switch"})
"""Operators that decide what runs."""

_SMALL = 64
"""Elements of constants up to which their contents are compared; of larger ones the identity."""


class MergeCommonNodesPass(Pass):
    """f(x; a) and f(x; a) are one node; so are two constants of a few elements that are equal."""

    name = "merge-common-nodes"
    atc_names = ("CommonSubexpressionEliminationPass",)
    summary = "Merges nodes that do the same to the same operands."

    def run(self, graph: Graph, context: PassContext) -> int:
        """Merge all in one walk, producers first; returns how many nodes went."""
        first: dict[Hashable, Node] = {}
        twins: dict[Node, list[Node]] = {}
        graph.sort()
        for node in graph.nodes:
            if (
                node.op in _NEVER
                or _is_random(node)
                or any(value.is_output for value in node.outputs)
            ):
                continue
            controls = (context.controls.keeps(node), context.controls.custom_of(node) is not None)
            kept = first.setdefault((*_key(node), controls), node)
            if kept is not node:
                for mine, value in zip(node.outputs, kept.outputs, strict=True):
                    mine.replace_by(value)
                twins.setdefault(kept, []).append(node)
        for kept, others in twins.items():
            kept.origins = _origins(kept, others)
        gone = [node for others in twins.values() for node in others]
        graph.remove_nodes(gone)
        context.fusions.of(self.name).applied(len(gone))
        return len(gone)


def _is_random(node: Node) -> bool:
    """Return True if results may differ from run to run: the operator has a seed."""
    row = find_operator(node.op)
    return row is not None and row.attribute("seed") is not None


def _origins(kept: Node, twins: Sequence[Node]) -> tuple[Origin, ...]:
    """Return the origins of `kept` and its twins; its own come last."""
    others = dict.fromkeys(origin for twin in reversed(twins) for origin in twin.origins)
    return (*(origin for origin in others if origin not in kept.origins), *kept.origins)


def _key(node: Node) -> tuple[Hashable, ...]:
    """Return the key that nodes computing the same share; 0.0 and -0.0 differ."""
    operands = tuple(None if value is None else _operand_key(value) for value in node.inputs)
    types = tuple(value.type for value in node.outputs)
    attributes = tuple((name, repr(value)) for name, value in sorted(node.attributes.items()))
    return node.op, attributes, operands, types


def _operand_key(value: Value) -> Hashable:
    """Return a value, or the contents of a small constant."""
    if value.const is None or element_count(value.const.shape) > _SMALL:
        return value
    return value.type, value.const.numpy().tobytes()

"""Casts of constants become constants of the other dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.ir import CastConst, Phase
from atc_py.passes.base import Pass, PassContext

if TYPE_CHECKING:
    from atc_py.ir import Graph, Node

__all__ = ["FoldConstantCastsPass"]


class FoldConstantCastsPass(Pass):
    """Cast(const) = const', worked out when it is written.

    Floats are clamped to finite values unless the user does not want weights clipped.
    """

    name = "fold-constant-casts"
    summary = "Turns casts of constants into constants."
    requires = Phase.TYPED

    def run(self, graph: Graph, context: PassContext) -> int:
        """Fold every match; returns how many."""
        matches = [node for node in graph.nodes if _is_constant_cast(node)]
        for node in matches:
            source, old = node.inputs[0], node.output
            if source is None or source.const is None:
                continue
            data = CastConst(source.const, old.type.dtype, clip=context.controls.clip_weights)
            old.replace_by(graph.constant(source.name, data, like=old.type))
        graph.remove_nodes(matches)
        return len(matches)


def _is_constant_cast(node: Node) -> bool:
    """Return True if `node` casts a constant."""
    value = node.input(0)
    return node.op == "Cast" and value is not None and value.const is not None

"""Nodes that hand on their operand as it is go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.passes.fusion.matching import Match, MissError, RewritePass

if TYPE_CHECKING:
    from atc_py.ir import Node

__all__ = ["RemoveIdentitiesPass"]


class RemoveIdentitiesPass(RewritePass):
    """What hands on its one operand as it is goes: ConcatD of one, ExpandD, slices and Pads of all."""

    name = "remove-identities"
    summary = (
        "Removes ConcatD, ExpandD, PadV3D, SplitVD, StridedSliceD and TileD that change nothing."
    )
    anchors = frozenset({"ConcatD", "ExpandD", "PadV3D", "SplitVD", "StridedSliceD", "TileD"})

    def rewrite(self, match: Match) -> None:
        """Every one of the anchors that keeps the extents keeps the elements, slices forward."""
        node = match.anchor
        if len(node.inputs) != 1 or len(node.outputs) != 1:
            raise MissError(f"one operand and one result are needed, found {node!r}", node)
        (source,) = node.present_inputs
        match.require_known_extents(node.output, source)
        if source.type.dims != node.output.type.dims:
            found = f"{source.type} and {node.output.type}"
            raise MissError(f"operand and result must have the same extents, found {found}", node)
        if node.op == "StridedSliceD" and min(_ints(node, "strides")) < 1:
            strides = list(_ints(node, "strides"))
            raise MissError(f"strides must be at least 1, found {strides}", node)
        if node.op == "PadV3D" and any(_ints(node, "paddings")):
            raise MissError(f"no border may be added, found {list(_ints(node, 'paddings'))}", node)
        match.pass_through(source)


def _ints(node: Node, name: str) -> tuple[int, ...]:
    """An attribute of type ints."""
    value = node.attributes.get(name, (1,))
    return tuple(int(item) for item in value) if isinstance(value, tuple) else ()

"""Nodes that pass on their operand unchanged are removed."""

from atc_py.passes.fusion.matching import Match, MissError, RewritePass
from atc_py.target.stored_nodes import numbers_of
from atc_py.text import Text, all_of


class RemoveIdentitiesPass(RewritePass):
    """Removal of identities: ConcatD of one operand, ExpandD, slices and Pads of all."""

    def rewrite(self, match: Match) -> None:
        """Remove anchors that keep dims and elements, and slices that reach all forward."""
        node = match.anchor
        if len(node.inputs) != 1 or len(node.outputs) != 1:
            raise MissError(
                Text("one operand and one result are needed, found {node}", node=repr(node)), node
            )
        (source,) = node.present_inputs
        match.require_known_dims(node.output, source)
        if source.type.dims != node.output.type.dims:
            found = all_of(map(str, (source.type, node.output.type)))
            raise MissError(
                Text("operand and result must have the same dims, found {actual}", actual=found),
                node,
            )
        strides = numbers_of(node.attributes.get("strides", (1,)))
        if node.op == "StridedSliceD" and min(strides) < 1:
            raise MissError(
                Text("strides must be at least 1, found {strides}", strides=list(strides)), node
            )
        paddings = numbers_of(node.attributes.get("paddings", (1,)))
        if node.op == "PadV3D" and any(paddings):
            raise MissError(
                Text("no border may be added, found {paddings}", paddings=list(paddings)), node
            )
        match.pass_through(source)

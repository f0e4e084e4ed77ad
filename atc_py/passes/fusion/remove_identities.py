"""Nodes that pass on their operand unchanged are removed."""

from atc_py.passes.fusion.matching import Match, MissError, RewritePass
from atc_py.target.stored_nodes import numbers_of
from atc_py.text import all_of


class RemoveIdentitiesPass(RewritePass):
    """Removal of identities: ConcatD of one operand, ExpandD, slices and Pads of all."""

    def rewrite(self, match: Match) -> None:
        node = match.anchor
        if len(node.inputs) != 1 or len(node.outputs) != 1:
            raise MissError("one operand and one result are needed, found {node}", node)
        (source,) = node.present_inputs
        match.require_known_dims(node.output, source)
        if source.type.dims != node.output.type.dims:
            found = all_of(map(str, (source.type, node.output.type)))
            raise MissError(
                "operand and result must have the same dims, found {actual}", node, actual=found
            )
        strides = numbers_of(node.attributes.get("strides", (1,)))
        if node.op == "StridedSliceD" and min(strides) < 1:
            raise MissError(
                "strides must be at least 1, found {strides}", node, strides=list(strides)
            )
        paddings = numbers_of(node.attributes.get("paddings", (1,)))
        if node.op == "PadV3D" and any(paddings):
            raise MissError(
                "no border may be added, found {paddings}", node, paddings=list(paddings)
            )
        match.pass_through(source)

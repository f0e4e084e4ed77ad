"""Casts of constants become constants of the other dtype."""

from atc_py.diag import INFINITY_CLIPPED
from atc_py.ir import CastConst, Graph, Node
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.precision.weight_clip import clipped_infinities, is_clipped
from atc_py.text import COLON


class FoldConstantCastsPass(Pass):
    """Cast(const) = const', worked out when it is written.

    Floats are clamped to finite values unless the user does not want weights clipped, or they bound
    others: a bound beyond the dtype's range bounds nothing. What becomes of infinities is reported.
    Casts of floats to integers are left to the device, which has its own results beyond their range.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        """Fold every match; returns how many."""
        if context.controls.clip_weights:
            for each in clipped_infinities(graph):
                message = each.observed + COLON + each.lack
                place = context.place(each.node)
                context.sink.add(INFINITY_CLIPPED.diagnostic(message, place=place))
        matches = [node for node in graph.nodes if _is_constant_cast(node)]
        for node in matches:
            source, old = node.inputs[0], node.output
            if source is None or source.const is None:
                continue
            clip = context.controls.clip_weights and is_clipped(node)
            data = CastConst(source.const, old.type.dtype, clip=clip)
            old.replace_by(graph.constant(source.name, data, like=old.type))
        graph.remove_nodes(matches)
        return len(matches)


def _is_constant_cast(node: Node) -> bool:
    """True if `node` casts a constant, and not floats to integers."""
    value = node.input(0)
    if node.op != "Cast" or value is None or value.const is None:
        return False
    return not (value.type.dtype.is_float and node.output.type.dtype.is_integer)

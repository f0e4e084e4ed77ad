"""A Transpose and a change of shape beside it become one operator."""

from atc_py.ir import Graph, Node, Value
from atc_py.passes.base import PassContext
from atc_py.passes.fusion.matching import Match, MissError, RewritePass

_BLOCK = 16
_MOST_AXES = 8


class FuseConfusionTransposePass(RewritePass):
    """Reshape(TransposeD(x; p); s) = ConfusionTransposeD(x; p, s), transposed first.

    TransposeD(Reshape(x; s); p) = ConfusionTransposeD(x; p, s), transposed last. The last two dims
    of what goes in and of what comes out are whole blocks of 16, so that heads of attention are split
    off and joined without leaving the blocks of matrices.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        return super().run(graph, context) if context.soc.confusion_transpose else 0

    def rewrite(self, match: Match) -> None:
        turn = match.anchor
        after = match.follows(turn, "Reshape")
        view = match.keep(after or _view_before(turn))
        source, last = (turn, view) if after is not None else (view, turn)
        x, y = source.input(0), last.output
        if x is None:
            raise MissError("a Reshape must have an operand", view)
        match.require_known_dims(x, y, view.output)
        for value in (x, y):
            dims = value.type.shape
            fits = dims and all(length and length % _BLOCK == 0 for length in dims[-2:])
            match.require(
                fits, "the last two dims must be multiples of 16, found {type}", type=value.type
            )
            match.require(
                len(dims) <= _MOST_AXES, "axes must be at most 8, found {type}", type=value.type
            )
        attributes = {
            "perm": turn.attributes["perm"],
            "shape": view.output.type.shape,
            "transpose_first": after is not None,
        }
        match.rule = "" if after is not None else "ReshapeTransposeFusionPass"
        match.become(last, "ConfusionTransposeD", [x], attributes)


def _view_before(turn: Node) -> Node:
    source: Value | None = turn.input(0)
    node = None if source is None else source.producer
    if source is None or node is None or node.op != "Reshape":
        raise MissError("a Reshape must stand before or after the Transpose", turn)
    if len(source.consumers) != 1:
        raise MissError("only the Transpose may read %{source}", node, source=source.name)
    return node

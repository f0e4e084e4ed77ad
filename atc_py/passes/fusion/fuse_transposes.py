"""A Transpose becomes a part of the change of shape or of the matrix product beside it."""

from functools import partial

from atc_py.ir import Graph, Node, Value
from atc_py.passes.base import PassContext
from atc_py.passes.fusion.matching import Match, MissError, RewritePass, merged_origins
from atc_py.text import Text

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


_FLAGS = {"MatMulV2": ("transpose_x1", "transpose_x2"), "BatchMatMulV2": ("adj_x1", "adj_x2")}


class FuseTransposeMatmulPass(RewritePass):
    """MatMul(TransposeD(a), b) = MatMul(a, b; transpose_x1 turned round), alike for b.

    The Transpose may have other readers; then it stays for them. One that moves other axes as well
    is none of the product.
    """

    def rewrite(self, match: Match) -> None:
        product = match.anchor
        found = [place for place in (0, 1) if _is_turned(product, place)]
        if not found:
            raise MissError(partial(_reason, product), product)
        turns = [match.producer(product.input(place), "TransposeD") for place in found]
        match.require_one_precision()
        for place, turn in zip(found, turns, strict=True):
            flag = _FLAGS[product.op][place]
            product.attributes[flag] = not product.attributes.get(flag, False)
            product.set_input(place, turn.input(0))
            product.origins = merged_origins(product, turn)
            if not turn.output.is_used:
                turn.drop_inputs()
                match.dead.append(turn)


def _is_turned(product: Node, place: int) -> bool:
    turn = product.producer(place)
    if turn is None or turn.op != "TransposeD":
        return False
    perm = turn.attributes["perm"]
    rank = turn.output.type.rank
    return perm == (*range(rank - 2), rank - 1, rank - 2)


def _reason(product: Node) -> Text:
    makers = [value.producer for value in product.present_inputs[:2]]
    turns = [node for node in makers if node is not None and node.op == "TransposeD"]
    if turns:
        perm = turns[0].attributes["perm"]
        return Text(
            "a Transpose must exchange the last two axes and no other, found perm {perm}", perm=perm
        )
    found = Text(", ", context="and").join(
        Text("a value from outside") if node is None else node.op for node in makers
    )
    return Text("an operand must come from TransposeD, found {actual}", actual=found)

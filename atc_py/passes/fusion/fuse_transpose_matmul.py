"""A Transpose of the last two axes becomes a flag of the matrix product that reads it."""

from functools import partial

from atc_py.ir import Node
from atc_py.passes.fusion.matching import Match, MissError, RewritePass, merged_origins
from atc_py.text import Text

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

"""A stack of matrices times one matrix stays a stack, as CANN has it, where blocks tell the two apart."""

from atc_py.ir import Graph, Node, Value
from atc_py.passes.base import PassContext
from atc_py.passes.fusion.matching import Match, MissError, RewritePass
from atc_py.tensor.shapes import Shape

_BIAS = 2
_TALL, _LOW = 4096, 64
"""Least matrices and most rows of stacks of rank 3 that become rows whatever follows."""

_MANY, _FEW = 50, 32
"""The same of products to which a vector is added."""

_STACK_RANK = 3


class KeepStacksPass(RewritePass):
    """Reshape(MatMulV2(Reshape(x), w)) = BatchMatMulV2(x, w), x with the dims of the model.

    CANN's parser makes BatchMatMulV2 of every MatMul, and its BatchMatMulV2ReshapeFusionPass sees a
    stack as the rows of one matrix only where there are many matrices of few rows. Stacks have their
    last two dims in fractals, so that sums, norms and functions of each element after them stay in
    FRACTAL_NZ with the dims of the model, and a stack of odd rows has padding in each matrix. SoCs
    whose copies make fractals of rows have rows in memory, which are the same either way.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        return 0 if context.soc.fractal_copies else super().run(graph, context)

    def rewrite(self, match: Match) -> None:
        """Match from the Reshape after the product back to the one before."""
        view = match.anchor
        product = match.producer(view.input(0), "MatMulV2")
        before = product.input(0)
        rows = before.producer if before is not None else None
        if rows is None or rows.op != "Reshape":
            raise MissError("a Reshape must stand before the product", product)
        match.borrow(rows)
        x, weights = rows.input(0), product.input(1)
        if x is None or weights is None:
            raise MissError("a product must have two operands", product)
        match.require_known_dims(x, weights, view.output)
        _check(match, x, product)
        attributes = {"adj_x2": bool(product.attributes.get("transpose_x2", False))}
        match.become(view, "BatchMatMulV2", [x, weights, *product.inputs[_BIAS:]], attributes)


def _check(match: Match, x: Value, product: Node) -> None:
    """Require floats, an `x` that stands upright and keeps its dims, and no stack that CANN flattens."""
    stack, result = x.type.shape, match.anchor.output.type.shape
    match.require(x.type.dtype.is_float, "floats must be multiplied, found {type}", type=x.type)
    match.require(not product.attributes.get("transpose_x1"), "x1 must not be turned", product)
    columns = product.output.type.shape[-1]
    kept = len(stack) >= _STACK_RANK and result == (*stack[:-1], columns)
    rows = product.present_inputs[0].type.shape
    match.require(
        kept and rows[-1] == stack[-1],
        "rows must keep the dims of {x}, found {type}",
        x=x.type,
        type=match.anchor.output.type,
    )
    match.require(
        not _is_flattened(stack, has_bias=product.input(_BIAS) is not None),
        "many matrices of few rows are one product, found {x}",
        x=x.type,
    )


def _is_flattened(stack: Shape, *, has_bias: bool) -> bool:
    if len(stack) != _STACK_RANK:
        return False
    count, rows = stack[:2]
    low = count >= _TALL and rows <= _LOW
    return low or (has_bias and count >= _MANY and rows <= _FEW)

"""A vector that is added to every row of a matrix product becomes its bias."""

from atc_py.ir import Node, Value
from atc_py.passes.fusion.matching import Match, MissError, RewritePass

_PRODUCTS = ("MatMulV2", "BatchMatMulV2")
_BIAS = 2


class FuseMatmulBiasPass(RewritePass):
    """Add(MatMul(a, b), c) = MatMul(a, b, bias = c), c a constant with an element per column.

    A Reshape that keeps the columns may stand between. The bias is added to the float32 sums, so
    float16 results are rounded once where they were twice.
    """

    def rewrite(self, match: Match) -> None:
        bias, product, reshape = _operands(match)
        _check(match, bias, product)
        add = match.anchor
        _require_rows(match, (reshape or product).output)
        inputs = [*product.inputs[:_BIAS], bias]
        if reshape is None:
            match.become(add, product.op, inputs, product.attributes)
            return
        match.become(add, "Reshape", [product.output, reshape.input(1)], survivors=[product])
        product.set_inputs(inputs)
        product.output.name = match.graph.fresh_name(f"{add.output.name}.rows")


def _operands(match: Match) -> tuple[Value, Node, Node | None]:
    """The constant vector, the product, and the Reshape between."""
    add = match.anchor
    constants = [value for value in add.present_inputs if value.const is not None]
    if len(constants) != 1:
        raise MissError("one operand must be constant, found {node}", add)
    node = match.producer(match.other(add, constants[0]), *_PRODUCTS, "Reshape")
    if node.op != "Reshape":
        return constants[0], node, None
    return constants[0], match.producer(node.input(0), *_PRODUCTS), node


def _require_rows(match: Match, rows: Value) -> None:
    """Require that the addition repeats no rows: a Reshape may have changed the columns."""
    found, wanted = list(match.anchor.output.type.dims), list(rows.type.dims)
    match.require(
        found == wanted,
        "the sum must keep the dims {wanted}, found {actual}",
        wanted=wanted,
        actual=found,
    )


def _check(match: Match, bias: Value, product: Node) -> None:
    """Require a float vector with an element per column, and no bias so far."""
    columns = product.output.type.dims[-1]
    found = list(bias.type.dims)
    last = list(match.anchor.output.type.dims[-1:])
    match.require(
        found == [columns],
        "the vector must have shape [{columns}], found {actual}",
        columns=columns,
        actual=found,
    )
    match.require(
        last == [columns],
        "rows must keep {columns} columns, found {last}",
        columns=columns,
        last=last,
    )
    match.require(product.input(_BIAS) is None, "the product must have no bias, found one", product)
    dtype = product.output.type.dtype
    same = dtype.is_float and bias.type.dtype is dtype and product.present_inputs[0].type.dtype
    match.require(
        same is dtype, "all must be floats of one dtype, found {dtype}", product, dtype=dtype.value
    )

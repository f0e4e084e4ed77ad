"""The larger of an input and the input times a factor below 1 becomes one operator."""

from atc_py.ir import Node, Value
from atc_py.passes.fusion.matching import Match, MissError, RewritePass, scalar


class FuseMulMaximumPass(RewritePass):
    """max(x, a * x) = LeakyRelu(x; a) for a < 1: a * x is the larger of the two below 0 alone.

    The factor is a float of rank 0, as CANN's pass has it; the product is rounded once in both forms.
    """

    def rewrite(self, match: Match) -> None:
        larger = match.anchor
        x, product = _operands(larger)
        multiply = match.producer(product, "Mul")
        factor = match.other(multiply, x)
        slope = scalar(factor)
        if slope is None or factor.type.dims:
            raise MissError(
                "the factor must be a constant of rank 0, found {factor}",
                multiply,
                factor=factor.type,
            )
        match.require(
            slope < 1, "the factor must be below 1, found {slope}", multiply, slope=f"{slope:g}"
        )
        match.require_type_of(x, larger)
        match.become(larger, "LeakyRelu", [x], {"negative_slope": slope})


def _operands(larger: Node) -> tuple[Value, Value]:
    """The operand that is itself a factor of the other one, and that other one."""
    first, second = larger.present_inputs
    for x, product in ((first, second), (second, first)):
        if product.producer is not None and x in product.producer.present_inputs:
            return x, product
    return first, second

"""Products and divisions with one number become operators that have it as an attribute."""

from atc_py.ir import Graph, Node, Value
from atc_py.passes.base import PassContext
from atc_py.passes.fusion.matching import Match, MissError, RewritePass, scalar
from atc_py.target.soc import Isa
from atc_py.tensor.dtypes import DType

_LEAST = 1e-6
"""Numbers that are not farther from 0 stay divisors."""

_WITHOUT = {Isa.NONE, Isa.V310}
"""The generic device, and Ascend950, for which the guide to CANN's rules does not name it."""


class DivideByProductPass(RewritePass):
    """RealDiv(x, c) = Muls(x; 1 / c), c one float32; the reciprocal and the product are rounded.

    Where c is no power of two the result may be another in its last bit. Dims must be known, as CANN's
    pass has it, and a constant of float16 stays a divisor.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        return 0 if context.soc.isa in _WITHOUT else super().run(graph, context)

    def rewrite(self, match: Match) -> None:
        divide = match.anchor
        x, divisor = divide.present_inputs
        number = scalar(divisor)
        match.require(
            number is not None and divisor.type.dtype is DType.FLOAT32,
            "the divisor must be a float32 constant of one element, found {divisor}",
            divisor=divisor.type,
        )
        number = number or 0.0
        match.require_known_dims(x)
        match.require(
            abs(number) > _LEAST, "the divisor must not be near 0, found {number}", number=number
        )
        match.require_type_of(x, divide)
        match.become(divide, "Muls", [x], {"value": 1 / number})


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

"""A division by one number becomes a product with its reciprocal."""

from atc_py.ir import Graph
from atc_py.passes.base import PassContext
from atc_py.passes.fusion.matching import Match, RewritePass, scalar
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

"""The root mean square normalization that exporters write out becomes one operator."""

from atc_py.passes.fusion.matching import Match, MissError, RewritePass
from atc_py.passes.fusion.norm_pattern import (
    constant_operand,
    first_axis,
    parameter,
    quotient_of,
    root_of,
)


class FuseRmsNormPass(RewritePass):
    """x / sqrt(mean(x^2) + epsilon) * gamma = RmsNorm(x, gamma), sums in float32, rounded once."""

    def rewrite(self, match: Match) -> None:
        root = root_of(match)
        quotient, divided = quotient_of(match)
        x = match.source_of(divided)
        if x is not match.source_of(root.squared):
            raise MissError(
                "what is squared must be divided, found %{divided}", quotient, divided=divided.name
            )
        gamma, last = constant_operand(match, match.ahead(quotient), "Mul")
        axis = first_axis(match, x, last, root.axes)
        scale = parameter(match, x, gamma, axis, 1.0)
        match.become(last, "RmsNorm", [x, scale], {"epsilon": root.epsilon})

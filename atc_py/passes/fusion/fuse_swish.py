"""An input multiplied with its own sigmoid becomes one operator."""

from atc_py.passes.fusion.matching import Match, RewritePass
from atc_py.passes.fusion.weights import CONVOLUTIONS


class FuseSwishPass(RewritePass):
    """x * Sigmoid(scale * x) = Swish(x; scale), in float32 and rounded once; scale may be 1.

    CANN has a rule where a convolution computes x and scale is 1; its kernel takes all three at once.
    """

    def rewrite(self, match: Match) -> None:
        gate = match.anchor
        x, scale = gate.input(0), 1.0
        product = match.consumer(gate, "Mul")
        other = match.other(product, gate.output)
        if other is not x and x is not None:
            scaling = match.producer(x, "Mul", "Muls", "RealDiv")
            scale = match.scaled(scaling, other)
        match.require_type_of(other, product)
        maker = other.producer
        match.require(
            not match.context.only_atc_passes
            or (scale == 1 and maker is not None and maker.op in CONVOLUTIONS),
            "CANN has this rule only after a convolution, found %{x}",
            product,
            x=other.name,
        )
        match.become(product, "Swish", [other], {"scale": scale})

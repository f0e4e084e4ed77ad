"""The layer normalization that exporters write out becomes one operator."""

from atc_py.ir import Node, Value
from atc_py.passes.fusion.matching import Match, MissError, RewritePass
from atc_py.passes.fusion.norm_pattern import (
    constant_operand,
    first_axis,
    parameter,
    quotient_of,
    root_of,
)


class FuseLayerNormPass(RewritePass):
    """d / sqrt(mean(d^2) + epsilon) * gamma + beta = LayerNorm(x, gamma, beta), d = x - mean(x).

    The square is Pow or Mul, the quotient RealDiv, or Mul by a Reciprocal; casts between floats may
    stand anywhere; gamma and beta may be missing. LayerNorm sums up in float32 and rounds once.
    """

    def rewrite(self, match: Match) -> None:
        root = root_of(match)
        shifted = match.producer(match.source_of(root.squared), "Sub")
        x = match.source_of(shifted.input(0))
        mean = match.producer(match.source_of(shifted.input(1)), "ReduceMeanD")
        same = match.source_of(mean.input(0)) is x and mean.attributes["axes"] == root.axes
        if not same or not mean.attributes.get("keep_dims", False):
            raise MissError(
                "the mean of x over {axes} must be kept, found {node}", mean, axes=list(root.axes)
            )
        quotient, divided = quotient_of(match)
        if divided is not shifted.output:
            _require_same_difference(match, divided, shifted)
        gamma, last = constant_operand(match, match.ahead(quotient), "Mul")
        beta, last = constant_operand(match, last, "Add") if gamma is not None else (None, last)
        axis = first_axis(match, x, last, root.axes)
        attributes = {
            "begin_norm_axis": axis,
            "begin_params_axis": axis,
            "epsilon": root.epsilon,
        }
        scale, shift = parameter(match, x, gamma, axis, 1.0), parameter(match, x, beta, axis, 0.0)
        match.become(last, "LayerNorm", [x, scale, shift], attributes)


def _require_same_difference(match: Match, divided: Value, shifted: Node) -> None:
    """Require the dividend to subtract the same mean; it may be a twin or cast."""
    again = match.producer(match.source_of(divided), "Sub")
    if again is shifted:
        return
    pairs = zip(again.present_inputs, shifted.present_inputs, strict=True)
    if any(match.source_of(one) is not match.source_of(two) for one, two in pairs):
        raise MissError("one difference must be squared and divided, found {node}", again)

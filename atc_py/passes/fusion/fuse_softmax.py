"""The softmax that exporters write out becomes one operator."""

from atc_py.ir import Node
from atc_py.passes.fusion.matching import Match, MissError, RewritePass
from atc_py.passes.fusion.norm_pattern import quotient_of
from atc_py.target.stored_nodes import numbers_of

_NATURAL = {"base": -1.0, "scale": 1.0, "shift": 0.0}
"""Attributes of an Exp that is the exponential of its input; a base of -1 stands for e."""


class FuseSoftmaxPass(RewritePass):
    """exp(x - max(x)) / sum(exp(x - max(x))) = SoftmaxV2(x), over one axis.

    The quotient is RealDiv, or Mul by a Reciprocal; casts between floats may stand anywhere. What
    subtracts no maximum stays: its exponentials overflow where those of SoftmaxV2 do not.
    """

    def rewrite(self, match: Match) -> None:
        axes = _one_kept_axis(match.anchor)
        power = match.producer(match.source_of(match.anchor.input(0)), "Exp")
        found = {name: power.attributes.get(name, value) for name, value in _NATURAL.items()}
        if found != _NATURAL:
            raise MissError("Exp must be to the base e, found {node} {actual}", power, actual=found)
        shifted = match.producer(match.source_of(power.input(0)), "Sub")
        x = match.source_of(shifted.input(0))
        largest = match.producer(match.source_of(shifted.input(1)), "ReduceMaxD")
        if match.source_of(largest.input(0)) is not x or _one_kept_axis(largest) != axes:
            raise MissError(
                "the largest x over {wanted} must be subtracted, found {node}",
                largest,
                wanted=list(axes),
            )
        quotient, divided = quotient_of(match)
        if match.source_of(divided) is not power.output:
            raise MissError("the exponentials must be divided, found {node}", quotient)
        last = match.ahead(quotient)
        match.require_type_of(x, last)
        match.become(last, "SoftmaxV2", [x], {"axes": axes})


def _one_kept_axis(node: Node) -> tuple[int, ...]:
    """The single reduced axis, counted from 0; it must stay as a dim of 1."""
    x = node.input(0)
    axes = numbers_of(node.attributes["axes"])
    if x is None or len(axes) != 1 or not node.attributes.get("keep_dims", False):
        raise MissError(
            "one axis must be summed over and kept, found {node} {axes}", node, axes=axes
        )
    return (axes[0] % x.type.rank,)

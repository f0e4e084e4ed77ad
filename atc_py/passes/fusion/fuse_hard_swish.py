"""An input multiplied with its own straight sigmoid becomes one operator."""

from atc_py.passes.fusion.matching import Match, MissError, RewritePass, is_close, scalar

_SIXTH, _THREE, _SIX = 1 / 6, 3.0, 6.0


class FuseHardSwishPass(RewritePass):
    """x * min(max(x + 3, 0), 6) / 6 = HardSwish(x), in float32 and rounded once.

    The bounded part is HardSigmoid with alpha = 1 / 6 and beta = 1 / 2, or ClipByValue of a sum.
    """

    def rewrite(self, match: Match) -> None:
        gate = match.anchor
        if gate.op == "HardSigmoid":
            alpha, beta = (float(gate.attributes[name]) for name in ("alpha", "beta"))  # type: ignore[arg-type]  # verified: floats
            if not (is_close(alpha, _SIXTH) and is_close(beta, 0.5)):
                raise MissError(
                    "alpha and beta must be 1 / 6 and 1 / 2, found {alpha}, {beta}",
                    gate,
                    alpha=f"{alpha:.6g}",
                    beta=f"{beta:.6g}",
                )
            product = match.consumer(gate, "Mul")
            x = match.other(product, gate.output)
            if x is not gate.input(0):
                raise MissError("x must be a factor, found %{x}", product, x=x.name)
            match.require_type_of(x, product)
            match.become(product, "HardSwish", [x])
            return
        _rewrite_clipped(match)


def _rewrite_clipped(match: Match) -> None:
    """Rewrite the form with a bounded sum; the sixth applies to the sum or to the product."""
    gate = match.anchor
    bounds = [scalar(gate.input(position)) for position in (1, 2)]
    if bounds != [0.0, _SIX]:
        raise MissError("the bounds must be 0 and 6, found {bounds}", gate, bounds=bounds)
    sum_ = match.producer(gate.input(0), "Add")
    shifts = [value for value in sum_.present_inputs if is_close(scalar(value), _THREE)]
    if not shifts:
        raise MissError("3 must be added to x, found {node}", sum_)
    x = match.other(sum_, shifts[0])
    first = match.consumer(gate, "Mul", "Muls", "RealDiv")
    is_product = first.op == "Mul" and x in first.inputs
    last = match.consumer(first, *(("Mul", "Muls", "RealDiv") if is_product else ("Mul",)))
    scaling, scaled = (last, first.output) if is_product else (first, gate.output)
    factor = match.scaled(scaling, scaled)
    if not is_close(factor, _SIXTH):
        raise MissError("the factor must be 1 / 6, found {factor}", scaling, factor=f"{factor:.6g}")
    if not is_product and match.other(last, first.output) is not x:
        raise MissError("x must be a factor, found {node}", last)
    match.require_type_of(x, last)
    match.become(last, "HardSwish", [x])

"""A constant factor after a layer goes into its weights and bias."""

import numpy as np

from atc_py.passes.fusion.matching import Match, MissError, RewritePass
from atc_py.passes.fusion.weights import (
    CONVOLUTIONS,
    PRODUCTS,
    channel_constant,
    channels_axis,
    weighted,
)

_BIAS = 2
_FAR = 16


class FuseScaleIntoWeightsPass(RewritePass):
    """Mul(Layer(x, w, b), c) = Layer(x, w c, b c), c a constant per output channel, or one.

    Alike for RealDiv by c. Layers are convolutions and products with constant weights; what they
    get is worked out in float32 and rounded once. Factors far from 1 stay outside: weights that
    they make large or small would leave the range in which float16 has all its bits.

    ATC does so with Mul after Conv2D alone, and does not check the size of factors.
    """

    def rewrite(self, match: Match) -> None:
        scale = match.anchor
        inverse = scale.op == "RealDiv"
        computed = next((value for value in scale.present_inputs if value.const is None), None)
        layer = match.producer(computed, *CONVOLUTIONS, *PRODUCTS)
        known = not match.context.only_atc_passes or (scale.op, layer.op) == ("Mul", "Conv2D")
        match.require(
            known,
            "ATC moves only a Mul after Conv2D, found {op} of {op_2}",
            op=scale.op,
            op_2=layer.op,
        )
        if inverse and scale.input(0) is not computed:
            raise MissError("the layer must be the dividend, found {node}", scale)
        weights, bias = layer.input(1), layer.input(_BIAS)
        if weights is None or weights.const is None:
            raise MissError("weights must be constant, found {node}", layer)
        factor = channel_constant(match, scale, layer)
        sizes = np.abs(factor.numpy().astype(np.float64))
        low, high = float(sizes.min(initial=1)), float(sizes.max(initial=1))
        match.require(
            match.context.only_atc_passes or (low * _FAR >= 1 and high <= _FAR),
            "factors must be within 1 / {far} and {far}, found {low} to {high}",
            far=_FAR,
            low=f"{low:.3g}",
            high=f"{high:.3g}",
        )
        axis = channels_axis(match, layer)
        inputs = [layer.input(0), weighted(match, weights, factor, axis, inverse=inverse)]
        if bias is not None:
            inputs.append(weighted(match, bias, factor, 0, inverse=inverse))
        match.become(scale, layer.op, inputs, layer.attributes)

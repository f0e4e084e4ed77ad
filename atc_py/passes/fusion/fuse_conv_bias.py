"""A constant per channel that is added to a convolution's result becomes its bias."""

from atc_py.passes.fusion.matching import Match, RewritePass
from atc_py.passes.fusion.weights import CONVOLUTIONS, channel_constant, summed
from atc_py.tensor.shapes import closed_shape

_BIAS = 2


class FuseConvBiasPass(RewritePass):
    """Add(Conv(x, w, b), c) = Conv(x, w, b + c), c a constant with an element per channel, or one.

    The bias is added to the float32 sums, so float16 results are rounded once where they were twice.
    """

    def rewrite(self, match: Match) -> None:
        add = match.anchor
        computed = next((value for value in add.present_inputs if value.const is None), None)
        conv = match.producer(computed, *CONVOLUTIONS)
        added = channel_constant(match, add, conv)
        (channels,) = closed_shape(conv.output.type.dims[1:2])
        bias = summed(match, conv.input(_BIAS), added, channels)
        match.become(add, conv.op, [*conv.inputs[:_BIAS], bias], conv.attributes)

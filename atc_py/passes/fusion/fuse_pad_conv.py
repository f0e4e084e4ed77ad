"""Borders that a Pad adds become padding of the convolution after it."""

from atc_py.passes.fusion.borders import added_pads, borders
from atc_py.passes.fusion.matching import Match, RewritePass
from atc_py.tensor.dtypes import DType


class FusePadConvPass(RewritePass):
    """Conv2D(PadV3D(x; p, c); q) = Conv2D(x; p + q), c being what the convolution pads with: 0.

    Of int8 data it is the quantized zero, offset_x. Both paddings count top, bottom, left, right.
    Alike for Conv3D, with front and back before them; ATC has no rule for that one.
    """

    def rewrite(self, match: Match) -> None:
        pad = match.anchor
        deep = () if match.context.only_atc_passes else ("Conv3D",)
        conv = match.consumer(pad, "Conv2D", "DepthwiseConv2D", *deep)
        match.require(conv.input(0) is pad.output, "the data must be padded, found weights", conv)
        added = borders(match)
        zero = conv.attributes.get("offset_x", 0) if pad.output.type.dtype is DType.INT8 else 0
        found = pad.attributes.get("constant_values", 0.0)
        match.require(
            found == zero, "the border must be of {zero}, found {actual}", zero=zero, actual=found
        )
        pads = added_pads(match, conv, added)
        match.rule = "PadDepthwiseConv2dFusionPass" if conv.op == "DepthwiseConv2D" else ""
        match.become(conv, conv.op, [pad.input(0), *conv.inputs[1:]], {**conv.attributes, **pads})

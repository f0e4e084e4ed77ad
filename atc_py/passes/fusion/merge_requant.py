"""Sums become int8 in the launch that computes them."""

from atc_py.passes.fusion.merge_conversions import ConversionPass


class MergeRequantPass(ConversionPass):
    """Convolution or product and AscendRequant are one launch."""

    name = "merge-requant"
    atc_names = ("TbeConvRequantFusionPass", "TbeMatmulRequantFusionPass")
    summary = "Launches a convolution or product together with AscendRequant after it."
    conversions = frozenset({"AscendRequant"})

"""Sums become floats in the launch that computes them."""

from atc_py.passes.fusion.merge_conversions import ConversionPass


class MergeDequantPass(ConversionPass):
    """Convolution or product, AscendDequant or Cast, functions, AscendQuant are one launch.

    A fix pipe alone narrows sums of floats, and it has one function and no AscendQuant after a
    conversion.
    """

    name = "merge-dequant"
    atc_names = (
        "TbeConvDequantFusionPass",
        "TbeConvDequantQuantFusionPass",
        "TbeConvDequantVaddReluFusionPass",
        "TbeConvDequantVaddReluQuantFusionPass",
        "TbeMatmulDequantFusionPass",
        "TbeConvFixPipeFusionPass",
        "TbeFixPipeFusionPass",
        "TbeMatmulFixPipeFusionPass",
    )
    summary = "Launches a convolution or product together with what turns its sums into floats."
    conversions = frozenset({"AscendDequant", "Cast"})

"""Convolutions are launched together with the functions after them."""

from atc_py.passes.fusion.merge_kernels import MergePass


class MergeConvElemwisePass(MergePass):
    """Convolution, bias and functions of each element, such as Relu, are one launch."""

    name = "merge-conv-elemwise"
    atc_names = (
        "TbeConvCommonRules0FusionPass",
        "TbeConvCommonRules2FusionPass",
        "TbeConv2DEltwisePass",
        "TbeDepthwiseConvElemwiseFusionPass",
        "TbeConv3dElemwisePass",
    )
    summary = "Launches a convolution together with the elementwise operators after it."
    families = frozenset({"conv"})

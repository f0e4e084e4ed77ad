"""Functions of each element are launched together."""

from atc_py.passes.fusion.merge_kernels import ELEMENTWISE, MergePass


class MergeElemwisePass(MergePass):
    """Functions of each element that follow one another are one launch."""

    name = "merge-elemwise"
    atc_names = ("TbeEltwiseFusionPass",)
    summary = "Launches elementwise operators that follow one another together."
    families = ELEMENTWISE

"""Matrix products are launched together with the functions after them."""

from atc_py.passes.fusion.merge_kernels import MergePass


class MergeMatmulElemwisePass(MergePass):
    """Matrix product, bias and functions of each element are one launch."""

    name = "merge-matmul-elemwise"
    atc_names = ("ATbeMatmulElemwiseFusionPass",)
    summary = "Launches a matrix product together with the elementwise operators after it."
    families = frozenset({"matmul"})
    repeats = True

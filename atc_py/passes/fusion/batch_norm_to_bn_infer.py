"""Batch normalization that no convolution took becomes its inference operator."""

from atc_py.ir import Graph
from atc_py.passes.base import Pass, PassContext


class BatchNormToBNInferPass(Pass):
    """BatchNorm(x, scale, offset, mean, variance) = BNInfer of the same, at inference."""

    def run(self, graph: Graph, context: PassContext) -> int:
        """Retype every BatchNorm; returns how many."""
        norms = [node for node in graph.nodes if node.op == "BatchNorm"]
        for node in norms:
            node.op = "BNInfer"
            node.attributes = {"epsilon": node.attributes["epsilon"]}
        return len(norms)

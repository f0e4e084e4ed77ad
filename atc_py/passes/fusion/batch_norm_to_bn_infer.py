"""Batch normalization that no convolution took becomes its inference operator."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.ir import CastConst, DenseConst, Graph, Node
from atc_py.passes.base import Pass, PassContext

Array = NDArray[Any]


class BatchNormToBnInferPass(Pass):
    """BatchNorm(x, scale, offset, mean, variance) = BNInfer of the same, at inference.

    On SoCs of CANN those of constants are BNInferenceD(x, a, k) = (x + a) * k with
    d = sqrt(variance + epsilon), k = scale * (1 / d) and a = offset / scale * d - mean, each step in
    float32 (BnHost after HostBNFusionPass; bit by bit what a file of CANN 8.0 has). Where a scale of 0
    or a small one makes numbers that float16 does not hold the statistics stay, which is inferred.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        norms = [node for node in graph.nodes if node.op == "BatchNorm"]
        for node in norms:
            folded = _folded(node) if context.soc.folded_norms else None
            if folded is None:
                node.op = "BNInfer"
                node.attributes = {"epsilon": node.attributes["epsilon"]}
                continue
            x, name = node.present_inputs[0], node.output.name
            numbers = (CastConst(DenseConst(array), x.type.dtype) for array in folded)
            made = zip(("mean", "variance"), numbers, strict=True)
            constants = [graph.constant(f"{name}.{label}", data) for label, data in made]
            node.op, node.attributes = "BNInferenceD", {}
            node.set_inputs([x, *constants])
        return len(norms)


_VECTORS = 4
_LARGEST = float(np.finfo(np.float16).max)


def _folded(node: Node) -> tuple[Array, Array] | None:
    """The summand and the factor of each channel, on axis 1; None where the statistics stay."""
    data = [value.const for value in node.present_inputs[1:]]
    known = [each for each in data if each is not None]
    if len(known) != _VECTORS or len({each.shape for each in known}) > 1:
        return None
    scale, offset, mean, variance = (each.numpy().astype(np.float32) for each in known)
    epsilon = np.float32(float(node.attributes["epsilon"]))  # type: ignore[arg-type]  # a float
    with np.errstate(all="ignore"):
        deviation = np.sqrt(variance + epsilon)
        factor = scale * (np.float32(1) / deviation)
        summand = offset / scale * deviation - mean
    if not all((np.abs(each) <= _LARGEST).all() for each in (summand, factor)):
        return None
    shape = (1, -1, *(1,) * (node.output.type.rank - len("NC")))
    return summand.reshape(shape), factor.reshape(shape)

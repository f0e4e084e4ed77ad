"""Relu after a dequantization becomes a flag of it."""

import numpy as np

from atc_py.ir import Graph, Node, OpaqueConst
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.quant.constants import counts_as_relu


class FoldReluIntoDequantPass(Pass):
    """Relu(AscendDequant(x)) = AscendDequant(x; relu_flag).

    Both clear negative values of the same rounded products. With sqrt_mode the flag comes before
    the second multiplication, which gives the same for factors above 0 alone. LeakyRelu with a
    slope of nearly 0 counts as Relu where CANN's passes take it for one.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        folded, flat = [], context.soc.quant_rules.flat_slope
        for relu in graph.nodes:
            dequant = _dequant_before(relu) if counts_as_relu(relu, flat) else None
            if dequant is None:
                continue
            dequant.attributes["relu_flag"] = True
            dequant.origins += relu.origins
            relu.output.replace_by(dequant.output)
            relu.drop_inputs()
            dequant.output.name = relu.output.name
            folded.append(relu)
        graph.remove_nodes(folded)
        return len(folded)


def _dequant_before(relu: Node) -> Node | None:
    dequant = relu.producer()
    if dequant is None or dequant.op != "AscendDequant":
        return None
    x = dequant.output
    if len(x.uses) != 1 or relu.output.type != x.type:
        return None
    if dequant.attributes.get("sqrt_mode", False) and not _is_positive(dequant):
        return None
    return dequant


def _is_positive(dequant: Node) -> bool:
    scale = dequant.input(1)
    if scale is None or scale.const is None or isinstance(scale.const, OpaqueConst):
        return False
    factors = np.asarray(scale.const.numpy(), np.float32)
    return bool(((factors > 0) & np.isfinite(factors)).all())

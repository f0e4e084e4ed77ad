"""The scale of a quantization goes into the dequantization before it."""

from atc_py.ir import Graph
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.quant.requant_groups import Finder, fold_scale
from atc_py.target.soc import Requant


class FoldQuantScalePass(Pass):
    """AscendQuant(AscendDequant(x; d); s, o) = AscendQuant(AscendDequant(x; d * s); 1, o).

    d * s is a float32 product. Relu, LeakyRelu and Concat may stand between, as `requant_groups`
    says. What the chain rounds to float16 on the way is now counted in steps of the result, so
    that some codes are one step apart.

    CANN's way on SoCs without a unit that requantizes.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        rules = context.soc.quant_rules
        if rules.requant is not Requant.FOLDED:
            return 0
        groups = Finder(rules.flat_slope, joins=False).groups(graph)
        return sum(fold_scale(graph, group) for group in groups)

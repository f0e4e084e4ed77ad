"""Rounds quantizations as the SoC's kernel does."""

from atc_py.ir import Graph
from atc_py.passes.base import Pass, PassContext

_TO_EVEN = "Round"


class SetRoundModePass(Pass):
    """AscendQuant(x; round_mode) = AscendQuant(x; Round) where the kernel knows nothing else.

    CANN's kernel of 2022 rounds to the nearest integer, ties to even, on Ascend310, and for int4
    on every SoC. `check` tells of the attribute.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        obeyed = context.soc.quant_rules.obeys_round_mode
        changes = 0
        for node in graph.nodes:
            if node.op != "AscendQuant" or node.output.type.dtype in obeyed:
                continue
            changes += node.attributes.get("round_mode", _TO_EVEN) != _TO_EVEN
            node.attributes["round_mode"] = _TO_EVEN
        return changes

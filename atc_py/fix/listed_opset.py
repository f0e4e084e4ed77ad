"""A fixed model stated at the opset that suits the operator list."""

from atc_py.check.findings import Standing
from atc_py.fix.fixed import Fixed
from atc_py.fix.restate import PREFERRED, best_opset, restate_graph
from atc_py.spec import Library


def state_at_listed_opset(fixed: Fixed, library: Library, cann: int | None = None) -> int:
    """State the graph at the opset that suits the list, check it there, and return the opset.

    The graph stays at its own opset where a node has no form at that one, or one with more errors.

    Args:
        fixed: the model.
        library: the operator list.
        cann: the generation of CANN whose parser is to have the operators at that opset, too; None
            for any.
    """
    folded, graph = fixed.folded, fixed.graph
    if folded is None or fixed.look is None:
        return 0
    own = graph.opsets.get("", 0)
    opset = best_opset(folded.source, library, PREFERRED, cann)
    nodes, opsets, errors = list(graph.nodes), graph.opsets, _errors(fixed)
    if restate_graph(graph, folded, library, opset) or opset == own:
        return own
    fixed.folded, fixed.after = fixed.look()
    if _errors(fixed) <= errors:
        return opset
    graph.nodes, graph.opsets = nodes, opsets
    for node in nodes:
        if not node.domain:
            node.opset = own
    fixed.folded, fixed.after = fixed.look()
    return own


def _errors(fixed: Fixed) -> int:
    return fixed.after.check.counts.get(Standing.ERROR, 0)

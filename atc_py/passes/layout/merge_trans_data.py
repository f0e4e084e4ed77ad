"""TransData are removed that do nothing, undo one another, or do the same."""

from atc_py.ir import Graph, Node, Value
from atc_py.passes.base import Pass, PassContext


class MergeTransDataPass(Pass):
    """TransData(TransData(x: A to B) to A) = x, and equal TransData of one value are one.

    Those that nobody reads any more go as well.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        graph.sort()
        first: dict[tuple[Value, object], Value] = {}
        for node in graph.nodes:
            if node.op == "TransData":
                source = _stored_before(node)
                key = node.present_inputs[0], node.output.type.storage
                same = source or first.setdefault(key, node.output)
                if same is not node.output:
                    node.output.replace_by(same)
        return graph.remove_unread("TransData")


def _stored_before(node: Node) -> Value | None:
    source, wanted = node.present_inputs[0], node.output.type.storage
    if source.type.storage == wanted:
        return source
    before = source.producer
    if before is None or before.op != "TransData":
        return None
    first = before.present_inputs[0]
    return first if first.type.storage == wanted else None

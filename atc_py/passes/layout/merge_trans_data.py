"""TransData are removed that do nothing, undo one another, or do the same."""

from collections.abc import Iterator

from atc_py.ir import Graph, Node, Value
from atc_py.passes.base import Pass, PassContext


class MergeTransDataPass(Pass):
    """TransData(TransData(x: A to B) to A) = x, and equal TransData of one value are one.

    Those that nobody reads any more go as well.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        """Merge; returns how many nodes went."""
        graph.sort()
        first: dict[tuple[Value, object], Value] = {}
        for node in graph.nodes:
            if node.op == "TransData":
                source = _stored_before(node)
                same = source or first.setdefault((node.present_inputs[0], _to(node)), node.output)
                if same is not node.output:
                    node.output.replace_by(same)
        count = 0
        while idle := list(_idle(graph)):
            graph.remove_nodes(idle)
            count += len(idle)
        return count


def _to(node: Node) -> object:
    return node.output.type.storage


def _stored_before(node: Node) -> Value | None:
    """The value that a TransData gives again, or None."""
    source = node.present_inputs[0]
    if source.type.storage == _to(node):
        return source
    before = source.producer
    if before is None or before.op != "TransData":
        return None
    first = before.present_inputs[0]
    return first if first.type.storage == _to(node) else None


def _idle(graph: Graph) -> Iterator[Node]:
    """Yield the TransData whose results nothing uses."""
    for node in graph.nodes:
        if node.op == "TransData" and not node.output.is_used:
            yield node

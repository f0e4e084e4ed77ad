"""Dead code elimination: nodes that no output needs."""

from atc_py.ir import Graph, Node
from atc_py.passes.base import Pass, PassContext


class EliminateDeadCodePass(Pass):
    """live = result + producers(inputs of live); all others go."""

    def run(self, graph: Graph, context: PassContext) -> int:
        live: set[Node] = set()
        stack: list[Node] = [graph.result]
        while stack:
            node = stack.pop()
            if node not in live:
                live.add(node)
                stack.extend(node.producers)
        dead = [node for node in graph.nodes if node not in live]
        graph.remove_nodes(dead)
        return len(dead)

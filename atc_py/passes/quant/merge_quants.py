"""Equal quantizations of one value become one."""

from atc_py.ir import AttrValue, Graph, Node, Value
from atc_py.passes.base import Pass, PassContext
from atc_py.target import find_operator

Key = tuple[Value | None, tuple[AttrValue | None, ...]]


class MergeQuantsPass(Pass):
    """AscendQuant(x; a) = AscendQuant(x; b) where a = b, defaults included: one node for both."""

    def run(self, graph: Graph, context: PassContext) -> int:
        first: dict[Key, Node] = {}
        merged: dict[Node, list[Node]] = {}
        for node in graph.nodes:
            if node.op != "AscendQuant":
                continue
            kept = first.setdefault(_key(node), node)
            if kept is not node:
                node.output.replace_by(kept.output)
                merged.setdefault(kept, [kept]).append(node)
        gone = []
        for kept, alike in merged.items():
            kept.origins = tuple(dict.fromkeys(o for node in alike for o in node.origins))
            gone += alike[1:]
        graph.remove_nodes(gone)
        return len(gone)


def _key(node: Node) -> Key:
    row = find_operator(node.op)
    declared = row.attributes if row is not None else ()
    values = tuple(node.attributes.get(each.name, each.default) for each in declared)
    return node.input(0), values

"""A launch of functions of each element with a branch: CANN's TbeMultiOutputFusionPass."""

from atc_py.ir import Graph, Node
from atc_py.passes.base import PassContext
from atc_py.passes.fusion.merge_kernels import (
    ELEMENTWISE,
    MOST,
    MergePass,
    between_text,
    node_between,
    put_launches_in_order,
    unreached,
)
from atc_py.target import Soc
from atc_py.text import Text


class MergeBranchesPass(MergePass):
    """A result that two nodes read, and functions of each element among these, are one launch.

    Functions that follow one another end in a result with two readers. One of them, or both, are
    functions; the first may have more after it. The launch runs at its last node, so that nothing
    outside reads a part of it and is read by another part. These are the two patterns of
    TbeMultiOutputFusionPass, which has priority over chains without branches.
    """

    families = ELEMENTWISE

    def run(self, graph: Graph, context: PassContext) -> int:
        self._place = {node: place for place, node in enumerate(graph.nodes)}
        count = super().run(graph, context)
        if count:
            put_launches_in_order(graph)
        return count

    def _members(self, head: Node, soc: Soc) -> tuple[list[Node], str, Node]:
        stem, reason, at = self._functions(head, head, soc)
        fork = stem[-1] if stem else head
        readers = fork.output.consumers
        if fork.output.is_output or len(readers) != len("ab"):
            return [], reason, at
        refusals = [
            self._unfit(head, fork, node) or unreached(head, head, [node], soc) for node in readers
        ]
        functions = [node for node, why in zip(readers, refusals, strict=True) if not why]
        if not functions:
            return [], refusals[0], readers[0]
        arm, _, _ = self._functions(head, functions[0], soc)
        members = [*stem, functions[0], *arm, *functions[1:]]
        members = sorted(dict.fromkeys(members), key=self._place.__getitem__)
        if len(members) > MOST:
            text = Text("a launch holds at most {most} nodes after its head", most=MOST)
            return [], text, members[MOST]
        between = node_between([head, *members], self._place)
        if between is not None:
            return [], between_text(between), between
        return members, "", head

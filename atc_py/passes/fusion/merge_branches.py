"""A launch of functions of each element with a branch: CANN's TbeMultiOutputFusionPass."""

from collections.abc import Iterator, Sequence

from atc_py.ir import Graph, Node, launch_positions, producers_first
from atc_py.passes.base import PassContext
from atc_py.passes.fusion.merge_kernels import ELEMENTWISE, MOST, MergePass, unreached
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
        """Give every branching launch a scope; returns how many there are."""
        self._place = {node: place for place, node in enumerate(graph.nodes)}
        count = super().run(graph, context)
        if count:
            _put_launches_in_order(graph)
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
        between = self._between([head, *members])
        if between is not None:
            text = Text("{node} reads a part of the launch, and another part reads it")
            return [], text.with_values(node=repr(between)), between
        return members, "", head

    def _between(self, launch: Sequence[Node]) -> Node | None:
        """A node outside of `launch` that must run after one of its nodes and before another.

        What stands after the launch is not read by it, unless another launch holds nodes of both
        sides together: of a node that is reached all nodes of its launch are.
        """
        inside, last = set(launch), self._place[launch[-1]]
        reached = {node for member in launch for node in member.output.consumers} - inside
        waiting = [*reached]
        while waiting:
            node = waiting.pop()
            for other in self._after(node, last):
                if other in inside:
                    return node
                if other not in reached:
                    reached.add(other)
                    waiting.append(other)
        return None

    def _after(self, node: Node, last: int) -> Iterator[Node]:
        """Yield readers of `node` up to the place `last`, and its neighbors in a launch."""
        readers = [reader for value in node.outputs for reader in value.consumers]
        yield from (reader for reader in readers if self._place.get(reader, last + 1) <= last)
        if node.scope:
            makers = [value.producer for value in node.present_inputs if value.producer is not None]
            yield from (other for other in makers + readers if other.scope == node.scope)


def _put_launches_in_order(graph: Graph) -> None:
    """Sort nodes so that launches, each at its last node, stand after what they read."""
    launches = [
        tuple(graph.nodes[at] for at in places) for places in launch_positions(graph.nodes).values()
    ]
    launch_of = {node: launch for launch in launches for node in launch}

    def needs(launch: tuple[Node, ...]) -> list[tuple[Node, ...]]:
        makers = [value.producer for node in launch for value in node.present_inputs]
        needed = dict.fromkeys(launch_of[maker] for maker in makers if maker is not None)
        needed.pop(launch, None)
        return [*needed]

    graph.nodes = [node for launch in producers_first(launches, needs) for node in launch]

"""Functions of each element share a launch wherever they meet: CANN's AutomaticUbFusion."""

from collections.abc import Iterator

from atc_py.ir import Engine, Graph, Node
from atc_py.passes.base import Miss, Pass, PassContext, PassFusions
from atc_py.passes.fusion.merge_kernels import (
    BY_CHANNEL,
    between_text,
    is_function,
    node_between,
    put_launches_in_order,
)
from atc_py.target import Soc
from atc_py.text import Text

_MOST_READERS = 6
"""A result that more operands read is stored."""

_MOST_NODES = 29
"""Of one launch; of a launch that is made of two it is one less."""


class MergeGroupsPass(Pass):
    """Functions of each element, with operands repeated or not, share the launch of their readers.

    The conditions are those of CANN's fusion engine: all readers of a result are such functions, and
    so is everything between the result and its readers; no launch waits for itself. Nodes join from
    the last one up, each with its operands in turn. A view between two functions is a node of its
    own there, and keeps them apart.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        if not context.soc.vector_fusion:
            return 0
        groups = _Groups(graph, context.soc)
        count = groups.form(context.fusions[self.row.name])
        if count:
            put_launches_in_order(graph)
        return count


class _Groups:
    """Nodes with the launches that they form, which are the scopes of nodes.

    Attributes:
        _stored: functions whose result is stored, with the reason: others are read by functions
            alone, all in reach of one launch.
    """

    def __init__(self, graph: Graph, soc: Soc) -> None:
        self._nodes = graph.nodes
        self._place = {node: place for place, node in enumerate(graph.nodes)}
        self._functions = {node for node in graph.nodes if _is_free_function(node, soc)}
        self._stored: dict[Node, str] = {}
        for node in reversed(graph.nodes):
            if node in self._functions and (reason := self._reason_to_store(node)):
                self._stored[node] = reason
        self._before = max((node.scope for node in graph.nodes), default=0)
        self._next = self._before
        self._groups: dict[int, list[Node]] = {}

    def form(self, record: PassFusions) -> int:
        """Join what can be joined; number the launches in the order of their first nodes."""
        for node in reversed(self._nodes):
            if node in self._functions:
                for maker in dict.fromkeys(node.producers):
                    self._join(maker, node, record)
        scope = self._before
        for group in sorted(self._groups.values(), key=lambda nodes: self._place[nodes[0]]):
            scope += 1
            for node in group:
                node.scope = scope
        record.applied(len(self._groups))
        return len(self._groups)

    def _join(self, maker: Node, reader: Node, record: PassFusions) -> None:
        if maker not in self._functions or not _fits(maker, reader):
            return
        reason = self._stored.get(maker, "")
        ours, theirs = (self._groups.get(node.scope, [node]) for node in (maker, reader))
        if not reason and ours is not theirs:
            joined = sorted({*ours, *theirs}, key=self._place.__getitem__)
            both = len(ours) > 1 < len(theirs)
            if len(joined) > _MOST_NODES - both:
                reason = Text("a launch holds at most {most} nodes", most=_MOST_NODES)
            elif (between := node_between(joined, self._place)) is not None:
                reason = between_text(between)
            else:
                self._hold(joined, ours, theirs)
        if reason:
            record.missed(Miss.at(maker, reason, len("ab"), reader.name), matched=False)

    def _hold(self, joined: list[Node], *parts: list[Node]) -> None:
        for part in parts:
            self._groups.pop(part[0].scope, None)
        self._next += 1
        self._groups[self._next] = joined
        for node in joined:
            node.scope = self._next

    def _reason_to_store(self, node: Node) -> str:
        """The reason to store the result of a function, whose readers have been looked at before."""
        value, readers = node.output, node.output.consumers
        if value.is_output or not readers or len(value.uses) > _MOST_READERS:
            return Text(
                "functions must read %{value}, {most} at most", value=value.name, most=_MOST_READERS
            )
        for reader in readers:
            if reader not in self._functions or not _fits(node, reader):
                return Text("a function of each element must follow, found {op}", op=reader.op)
        stored = next(self._stored_between(readers), None)
        if stored is not None:
            return between_text(stored)
        return ""

    def _stored_between(self, readers: tuple[Node, ...]) -> Iterator[Node]:
        """Yield nodes from which one of `readers` follows as well, and whose results are stored."""
        last = max(self._place[reader] for reader in readers)
        reached, waiting = set(readers), [*readers]
        while waiting:
            for value in waiting.pop().outputs:
                new = {each for each in value.consumers if self._place.get(each, last) < last}
                waiting += new - reached
                reached |= new
        leading = set(readers)
        for node in sorted(reached, key=self._place.__getitem__, reverse=True):
            if any(not leading.isdisjoint(value.consumers) for value in node.outputs):
                leading.add(node)
                if node not in self._functions or node in self._stored:
                    yield node


def _is_free_function(node: Node, soc: Soc) -> bool:
    if not is_function(node) or node.scope or node.engine is not Engine.AICORE:
        return False
    types = [value.type for value in (*node.present_inputs, *node.outputs)]
    alike = len({type_.dtype for type_ in types}) == 1 and types[0].dtype.is_float
    known = alike and len(node.outputs) == 1 and not any(type_.is_open for type_ in types)
    return known and (node.op not in BY_CHANNEL or soc.channel_fusion)


def _fits(maker: Node, reader: Node) -> bool:
    """True if what one stores is what the other works on."""
    return maker.output.type.storage == reader.output.type.storage and (
        maker.output.type.dtype is reader.output.type.dtype
    )

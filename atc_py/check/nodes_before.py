"""Nodes of an operator that stand before a node in the model, for deviations that ask for them.

CANN's parser keeps flags in the process: what one node sets concerns those that it reads after it.
"""

from collections.abc import Callable, Sequence

from atc_py.onnx_graph.source import SourceNode
from atc_py.spec import OpSpec
from atc_py.spec.deviation_rules import NoneBeforeSets, SetsAsBefore


class NodesBefore:
    """For each node of a model those before it that set what a deviation asks for."""

    def __init__(
        self, nodes: Sequence[SourceNode], spec_of: Callable[[SourceNode], OpSpec | None]
    ) -> None:
        """Take the nodes of a model in its order.

        Args:
            nodes: of all graphs.
            spec_of: returns the specification of a node's operator, or None.
        """
        self._setters: dict[tuple[str, str, str], list[SourceNode]] = {}
        self._scoped: dict[tuple[str, str, str], list[SourceNode]] = {}
        asked: dict[tuple[str, str], set[str]] = {}
        for node in nodes:
            key = node.domain, node.op_type
            if key not in asked:
                asked[key] = _asked(spec_of(node))
            for name in sorted(asked[key] & node.attributes.keys()) if asked[key] else ():
                self._setters.setdefault((*key, name), []).append(node)
        self._asked = asked
        self._places = {node: at for at, node in enumerate(nodes)} if self._setters else {}

    def __call__(self, node: SourceNode) -> tuple[SourceNode, ...]:
        """The first node before a node, of its operator, that sets each attribute asked for.

        When the graph of a branch is parsed is not known, so its nodes may stand before any.
        """
        key = node.domain, node.op_type
        if not self._asked.get(key):
            return ()
        found = (self._first(node, (*key, name)) for name in sorted(self._asked[key]))
        return tuple(each for each in found if each is not None)

    def _first(self, node: SourceNode, key: tuple[str, str, str]) -> SourceNode | None:
        """The first node that sets an attribute before a node, or may."""
        setters = self._setters.get(key, [])
        # If neither of the first two is before the node, no other outside of branches is.
        likely = [*setters[:2], *self._in_branches(key)]
        others = (each for each in likely if each is not node)
        return next((each for each in others if self._may_precede(each, node)), None)

    def _in_branches(self, key: tuple[str, str, str]) -> list[SourceNode]:
        """The first two nodes of branches that set an attribute."""
        if key not in self._scoped:
            self._scoped[key] = [each for each in self._setters.get(key, []) if each.scope][:2]
        return self._scoped[key]

    def _may_precede(self, one: SourceNode, other: SourceNode) -> bool:
        """True if a node is parsed before another one, or may be."""
        return bool(one.scope or other.scope) or self._places[one] < self._places[other]


def depends_on_nodes_before(spec: OpSpec | None) -> bool:
    """True if deviations of an operator depend on nodes before a node."""
    return bool(_asked(spec))


def _asked(spec: OpSpec | None) -> set[str]:
    """The attributes of nodes before that deviations of an operator depend on."""
    rules = () if spec is None else (row.unless for row in spec.deviations)
    found = [each for each in rules if isinstance(each, NoneBeforeSets | SetsAsBefore)]
    return {name for rule in found for name in (rule.attribute, rule.along)}

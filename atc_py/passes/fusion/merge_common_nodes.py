"""Nodes that compute the same of the same become one."""

from collections.abc import Hashable, Sequence
from functools import lru_cache

from atc_py.ir import AttrValue, Graph, Node, Origin, Value
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.precision.controls import Controls
from atc_py.target import find_operator
from atc_py.tensor.shapes import element_count

_SMALL = 64
"""Elements of constants up to which their contents are compared; of larger ones the identity."""


class MergeCommonNodesPass(Pass):
    """f(x; a) and f(x; a) are one node; so are two constants of a few elements that are equal."""

    def run(self, graph: Graph, context: PassContext) -> int:
        first = _FirstNodes(context.controls)
        twins: dict[Node, list[Node]] = {}
        graph.sort()
        for node in graph.nodes:
            if _decides_anew(node.op) or any(value.is_output for value in node.outputs):
                continue
            kept = first.like(node)
            if kept is not node:
                for mine, value in zip(node.outputs, kept.outputs, strict=True):
                    mine.replace_by(value)
                twins.setdefault(kept, []).append(node)
        for kept, others in twins.items():
            kept.origins = _origins(kept, others)
        gone = [node for others in twins.values() for node in others]
        graph.remove_nodes(gone)
        context.fusions[self.row.name].applied(len(gone))
        return len(gone)


@lru_cache(maxsize=1024)
def _decides_anew(op: str) -> bool:
    """True for operators that decide what runs, or draw numbers."""
    row = find_operator(op)
    return op in {"Merge", "Switch"} or (row is not None and row.attribute("seed") is not None)


class _FirstNodes:
    """The first of the nodes that do the same.

    Contents of constants, which may be the result of arithmetic that is left for later, are read
    where nodes are alike in all else.
    """

    def __init__(self, controls: Controls) -> None:
        self._controls = controls
        self._concerned = controls.concern_nodes
        self._single: dict[Hashable, Node | None] = {}
        self._read: dict[Hashable, Node] = {}

    def like(self, node: Node) -> Node:
        """The first node that does the same as `node`, which may be itself.

        What nodes before it read is final: those that went were replaced when they were met.
        """
        controls = self._concerned and (
            self._controls.keeps(node),
            self._controls.custom.of(node) is not None,
        )
        key = *_key(node), controls
        if key not in self._single:
            self._single[key] = node
            return node
        single = self._single[key]
        if single is not None:
            self._single[key] = None
            read = *key, *_contents(single)
            self._read[read] = single
        read = *key, *_contents(node)
        return self._read.setdefault(read, node)


def _origins(kept: Node, twins: Sequence[Node]) -> tuple[Origin, ...]:
    """The origins of `kept` and its twins; its own come last."""
    others = dict.fromkeys(origin for twin in reversed(twins) for origin in twin.origins)
    return (*(origin for origin in others if origin not in kept.origins), *kept.origins)


def _key(node: Node) -> tuple[Hashable, ...]:
    """Key that nodes with equal results share, beside contents; 0.0 and -0.0 differ."""
    operands = [value.type if value and _is_small(value) else value for value in node.inputs]
    types = [value.type for value in node.outputs]
    attributes = [(name, _told_apart(value)) for name, value in sorted(node.attributes.items())]
    return node.op, tuple(attributes), tuple(operands), tuple(types)


def _told_apart(value: AttrValue) -> Hashable:
    """A value that equals no other of its attribute: floats as text."""
    first = value[0] if isinstance(value, tuple) and value else value
    return repr(value) if isinstance(first, float) else value


def _contents(node: Node) -> list[bytes]:
    small = [value.const for value in node.present_inputs if _is_small(value)]
    return [const.numpy().tobytes() for const in small if const is not None]


def _is_small(value: Value) -> bool:
    return value.const is not None and element_count(value.const.shape) <= _SMALL

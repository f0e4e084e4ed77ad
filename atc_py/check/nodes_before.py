"""The nodes of an operator that stand before a node in the model, for deviations that ask for them.

CANN's parser keeps flags in the process: what one node sets concerns those that it reads after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.spec.deviation_rules import NoneBeforeSets, SetsAsBefore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atc_py.source import SourceNode
    from atc_py.spec import OpSpec

__all__ = ["NodesBefore"]


class NodesBefore:
    """The nodes before each node of a model; none for operators without such deviations."""

    def __init__(
        self, nodes: Sequence[SourceNode], spec_of: Callable[[SourceNode], OpSpec | None]
    ) -> None:
        """Take the nodes of a model in its order.

        Args:
            nodes: of all graphs.
            spec_of: returns the specification of a node's operator, or None.
        """
        self._found: dict[SourceNode, tuple[SourceNode, ...]] = {}
        earlier: dict[tuple[str, str], tuple[SourceNode, ...]] = {}
        asks: dict[tuple[str, str], bool] = {}
        for node in nodes:
            key = node.domain, node.op_type
            if key not in asks:
                asks[key] = _asks(spec_of(node))
            if asks[key]:
                self._found[node] = earlier.get(key, ())
                earlier[key] = (*self._found[node], node)

    def __call__(self, node: SourceNode) -> tuple[SourceNode, ...]:
        """Return the nodes of its operator before a node."""
        return self._found.get(node, ())


def _asks(spec: OpSpec | None) -> bool:
    """Return True if a deviation of the operator depends on nodes before."""
    rows = () if spec is None else spec.deviations
    return any(isinstance(row.unless, NoneBeforeSets | SetsAsBefore) for row in rows)

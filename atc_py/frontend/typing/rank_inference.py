"""Ranks that onnx's inference leaves open although the inputs tell them.

Where a shape, or the axes that go, are computed, the rank of the result follows from how many
numbers there are. Extents stay open. Besides these: HardSigmoid-1, for which ONNX has no inference,
and the scalars that Transpose and GatherND make, which it drops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.frontend.folding.graph import ValueType
from atc_py.frontend.reading.attributes import numeric_attributes
from atc_py.frontend.typing.type_corrections import known_type
from atc_py.tensor.shapes import MAX_RANK

if TYPE_CHECKING:
    from collections.abc import Callable

    from atc_py.frontend.folding.graph import WorkGraph, WorkNode

__all__ = ["told_type", "told_types"]


def told_types(graph: WorkGraph) -> dict[str, ValueType]:
    """Return types of all results that inference left without a rank and that inputs tell."""
    found: dict[str, ValueType] = {}
    for node in graph.nodes:
        if node.op_type in _RULES and node not in graph.unsound:
            found.update(told_type(graph, node))
    return found


def told_type(graph: WorkGraph, node: WorkNode) -> dict[str, ValueType]:
    """Return the type of a node's first output where it has no rank yet and its inputs tell it."""
    rule = None if node.domain else _RULES.get(node.op_type)
    name = node.outputs[0] if node.outputs else ""
    if rule is None or not name or name in graph.consts:
        return {}
    known = graph.types.get(name)
    x = _input(graph, node, 0)
    if x is None or not x.element or (known is not None and known.dims is not None):
        return {}
    dims = rule(graph, node, x)
    return {} if dims is None else {name: ValueType(x.element, dims)}


def _input(graph: WorkGraph, node: WorkNode, position: int) -> ValueType | None:
    """Return what is known of an input; None where it is absent or unknown."""
    if position >= len(node.inputs) or not node.inputs[position]:
        return None
    return known_type(graph, node.inputs[position])


def _count(graph: WorkGraph, node: WorkNode, position: int) -> int | None:
    """Return the length of a vector among the inputs."""
    known = _input(graph, node, position)
    dims = None if known is None else known.dims
    return dims[0] if dims is not None and len(dims) == 1 else None


def _open(rank: int | None) -> tuple[None, ...] | None:
    """Open extents of so many axes; None for more than a tensor can have."""
    return None if rank is None or not 0 <= rank <= MAX_RANK else (None,) * rank


def _reshape(graph: WorkGraph, node: WorkNode, _x: ValueType) -> tuple[int | None, ...] | None:
    """Return as many axes as the shape has numbers."""
    return _open(_count(graph, node, 1))


def _expand(graph: WorkGraph, node: WorkNode, x: ValueType) -> tuple[int | None, ...] | None:
    """Return as many axes as the shape has numbers, or x has if it has more."""
    count = _count(graph, node, 1)
    return None if count is None or x.dims is None else _open(max(count, len(x.dims)))


def _squeeze(graph: WorkGraph, node: WorkNode, x: ValueType) -> tuple[int | None, ...] | None:
    """Return the axes of x without as many as are named."""
    count = _count(graph, node, 1)
    return None if count is None or x.dims is None else _open(len(x.dims) - count)


def _unsqueeze(graph: WorkGraph, node: WorkNode, x: ValueType) -> tuple[int | None, ...] | None:
    """Return the axes of x and as many as are named."""
    count = _count(graph, node, 1)
    return None if count is None or x.dims is None else _open(len(x.dims) + count)


def _reduce(graph: WorkGraph, node: WorkNode, x: ValueType) -> tuple[int | None, ...] | None:
    """Return the axes of x less those named, unless they are kept; if none is named, all go."""
    attributes = numeric_attributes(node)
    count = _count(graph, node, 1)
    if count is None or x.dims is None:
        return None
    if attributes.get("keepdims", 1):
        return _open(len(x.dims))
    if not count and not attributes.get("noop_with_empty_axes", 0):
        return ()
    return _open(len(x.dims) - count)


def _same(_graph: WorkGraph, _node: WorkNode, x: ValueType) -> tuple[int | None, ...] | None:
    """Return the axes of x."""
    return x.dims


def _scalar(_graph: WorkGraph, _node: WorkNode, x: ValueType) -> tuple[int | None, ...] | None:
    """Return a scalar where x is one."""
    return () if x.dims == () else None


def _gather_nd(graph: WorkGraph, node: WorkNode, x: ValueType) -> tuple[int | None, ...] | None:
    """Return a scalar where one tuple of indices reaches into every axis."""
    count = _count(graph, node, 1)
    return () if x.dims is not None and count == len(x.dims) else None


_RULES: dict[str, Callable[[WorkGraph, WorkNode, ValueType], tuple[int | None, ...] | None]] = {
    "Expand": _expand,
    "GatherND": _gather_nd,
    "HardSigmoid": _same,
    "ReduceSum": _reduce,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Transpose": _scalar,
    "Unsqueeze": _unsqueeze,
}

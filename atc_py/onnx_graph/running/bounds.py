"""Bounds of what is run on drawn data by itself, as nobody has asked for the run."""

from collections.abc import Iterable, Mapping
from math import prod

from atc_py.onnx_graph.reading.history import history
from atc_py.onnx_graph.running.piece import Piece
from atc_py.onnx_graph.source import SourceNode

_MOST_WEIGHTS = 512 << 20
"""Bytes of constants."""

_MOST_VALUES = 1 << 24
"""Elements that are fed and that all nodes together may write."""

_MOST_WORK = 1 << 30
"""Products that all nodes together may sum up."""

_FILTERED = {"Conv": 0, "ConvTranspose": 1}
"""The axis of a filter along which results are its own."""

_UNBOUNDED = frozenset({"If", "Loop", "Scan"})
"""Operators whose work does not follow from dims."""


def is_short(
    piece: Piece, inputs: Mapping[str, Iterable[object] | None], nodes: Iterable[SourceNode]
) -> bool:
    """True if all dims are known, and data and work are small; others' operators are not known.

    `inputs` are fed, with their dims, and all that the piece reads is among them; `nodes` are those
    of the piece with what is known of their values.
    """
    if not inputs.keys() >= {*piece.reads} or piece.constant_bytes > _MOST_WEIGHTS:
        return False
    if piece.operators & _UNBOUNDED:
        return False
    values, work = sum(_count(dims or ()) for dims in inputs.values()), 0
    for node in nodes:
        if node.domain or not history().versions(node.op_type):
            return False
        for value in node.outputs:
            if value is None:
                continue
            if value.dims is None or None in value.dims:
                return False
            values += _count(value.dims)
            work += _count(value.dims) * _products(node)
    return values <= _MOST_VALUES and work <= _MOST_WORK


def _count(dims: Iterable[object]) -> int:
    return prod(dim for dim in dims if isinstance(dim, int))


def _products(node: SourceNode) -> int:
    """Terms that an element of a result sums up, at most: those of a filter, a window, a row."""
    window = node.attributes.get("kernel_shape")
    most = _count(window) if isinstance(window, list | tuple) else 1
    for value in node.inputs[1:]:
        dims = () if value is None or value.dims is None else value.dims
        if node.op_type in _FILTERED and len(dims) > 1:
            most = max(most, _count(dims) // max(dims[_FILTERED[node.op_type]] or 1, 1))
        most = max(most, *(dim or 1 for dim in dims[-2:]), 1)
    return most

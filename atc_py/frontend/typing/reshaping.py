"""Reshapes whose shape is known and whose data cannot have it; onnx's inference passes them over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.frontend.folding.fold_views import ints_of
from atc_py.frontend.reading.attributes import numeric_attributes
from atc_py.frontend.typing.type_corrections import known_type
from atc_py.tensor.shapes import element_count, format_shape

if TYPE_CHECKING:
    from atc_py.frontend.folding.graph import WorkGraph, WorkNode
    from atc_py.tensor.shapes import Shape

__all__ = ["reshape_complaint"]


def reshape_complaint(graph: WorkGraph, node: WorkNode) -> str | None:
    """Return why a Reshape fails whatever it is fed, in a sentence, or None.

    A node of a branch is left alone, since the branch need not be taken.
    """
    wanted = _wanted(graph, node)
    if wanted is None:
        return None
    if min(wanted, default=0) < -1 or wanted.count(-1) > 1:
        return f"the shape {list(wanted)} of a Reshape may have one -1, its other extents are >= 0"
    known = known_type(graph, node.inputs[0])
    shape = known.shape if known else None
    if shape is None:
        return None
    keeps = not numeric_attributes(node).get("allowzero")
    if keeps and 0 in wanted[len(shape) :]:
        return f"the shape {list(wanted)} keeps an axis that {format_shape(shape)} does not have"
    extents = [shape[at] if keeps and not extent else extent for at, extent in enumerate(wanted)]
    if _fits(shape, extents):
        return None
    return f"data of the shape {format_shape(shape)} cannot be given the shape {list(wanted)}"


def _wanted(graph: WorkGraph, node: WorkNode) -> tuple[int, ...] | None:
    """Return the constant shape of a Reshape that runs for certain; None for any other node."""
    if node.domain or node.op_type != "Reshape" or len(node.inputs) < 2:  # noqa: PLR2004
        return None
    if not graph.always_runs or node in graph.unsound:
        return None
    return ints_of(graph.consts.get(node.inputs[1]))


def _fits(shape: Shape, extents: list[int]) -> bool:
    """Return True if as many elements as `shape` has can be laid out so; one extent may be -1."""
    count = element_count(shape)
    fixed = element_count(extent for extent in extents if extent >= 0)
    if -1 not in extents:
        return count == fixed
    return count % fixed == 0 if fixed else count == 0

"""Types of what custom operators of the list give, which neither ONNX nor, often, the file tells.

What the file states of a result counts, and is held against the inputs where the node is lowered;
what it leaves open is worked out here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.frontend.folding.fold_views import ints_of
from atc_py.frontend.folding.graph import ValueType
from atc_py.frontend.reading.attributes import simple_attributes
from atc_py.frontend.reading.tensors import dtype_of_element, element_of_dtype
from atc_py.frontend.typing.type_corrections import known_type
from atc_py.source.custom_results import (
    CUSTOM_RESULTS,
    ContradictionError,
    Given,
    custom_results,
)

if TYPE_CHECKING:
    from atc_py.frontend.folding.graph import WorkGraph, WorkNode
    from atc_py.tensor.dtypes import DType
    from atc_py.tensor.shapes import Dims

__all__ = ["custom_complaint", "custom_type", "custom_types", "is_custom"]


def is_custom(node: WorkNode) -> bool:
    """Return True if it is one of the list's custom operators, in whatever domain."""
    return node.op_type in CUSTOM_RESULTS and node.schema is None


def custom_types(graph: WorkGraph) -> dict[str, ValueType]:
    """Return result types of custom operators of which more is known than `graph.types` has.

    They need what is known of their inputs by now.
    """
    found: dict[str, ValueType] = {}
    for node in graph.nodes:
        if node.op_type not in CUSTOM_RESULTS or node in graph.unsound:
            continue
        types = custom_type(graph, node)
        # Inference leaves out a node of which something is told; then all of it must be.
        if any(graph.types.get(name) != known for name, known in types.items()):
            found.update(types)
    return found


def custom_type(graph: WorkGraph, node: WorkNode) -> dict[str, ValueType]:
    """Return types of a node's results, as far as they are known; empty for other operators."""
    if not is_custom(node):
        return {}
    try:
        results = _results(graph, node)
    except ContradictionError:
        return {}
    types = {
        name: ValueType(element_of_dtype(dtype), dims)
        for name, (dtype, dims) in zip(node.outputs, results, strict=False)
        if name
    }
    return {name: _joined(graph.types.get(name), known) for name, known in types.items()}


def custom_complaint(graph: WorkGraph, node: WorkNode) -> str | None:
    """Return a sentence on how a node contradicts the definition of its operator, or None."""
    try:
        _results(graph, node)
    except ContradictionError as error:
        return f"{node.op_type} {error.reason}"
    return None


def _results(graph: WorkGraph, node: WorkNode) -> tuple[tuple[DType, Dims], ...]:
    """Return the types of the node's results; nothing where its inputs are not known."""
    inputs = [_given(graph, name) for name in node.inputs]
    if any(name and given is None for name, given in zip(node.inputs, inputs, strict=True)):
        return ()
    return custom_results(node.op_type, inputs, simple_attributes(node))


def _given(graph: WorkGraph, name: str) -> Given | None:
    """Return what is known of an input; None where that is not enough, or it is absent."""
    known = known_type(graph, name) if name else None
    dtype = None if known is None else dtype_of_element(known.element)
    if known is None or known.dims is None or dtype is None:
        return None
    return Given(dtype, known.dims, ints_of(graph.consts.get(name)))


def _joined(stated: ValueType | None, found: ValueType) -> ValueType:
    """Return `found` joined with what is known, which wins unless only `found` is not open."""
    if stated is None:
        return found
    return ValueType(stated.element or found.element, _joined_dims(stated.dims, found.dims))


def _joined_dims(stated: Dims | None, found: Dims | None) -> Dims | None:
    """Return the dims of two shapes that do not contradict each other; else those stated."""
    if stated is None or found is None:
        return found if stated is None else stated
    pairs = list(zip(stated, found, strict=False))
    contradictory = any(None not in pair and pair[0] != pair[1] for pair in pairs)
    if len(stated) != len(found) or contradictory:
        return stated
    return tuple(mine if theirs is None else theirs for mine, theirs in pairs)

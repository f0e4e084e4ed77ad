"""The type of a value as far as it is known by now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.frontend.folding.graph import ValueType
from atc_py.frontend.reading.tensors import element_of_dtype

if TYPE_CHECKING:
    from atc_py.frontend.folding.graph import WorkGraph

__all__ = ["known_type"]


def known_type(graph: WorkGraph, name: str) -> ValueType | None:
    """Return what is known of a value: an input, a constant, or what was inferred."""
    const = graph.consts.get(name)
    if const is not None:
        return ValueType(element_of_dtype(const.dtype), const.shape)
    return graph.types.get(name) or graph.inputs.get(name)

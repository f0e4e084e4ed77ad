"""Data of constants of a graph that is being rewritten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atc_py.frontend.folding.graph import WorkGraph

__all__ = ["known_const"]


def known_const(graph: WorkGraph, name: str) -> NDArray[Any] | None:
    """Return the data of a constant."""
    found = graph.consts.get(name)
    return None if found is None else found.numpy()

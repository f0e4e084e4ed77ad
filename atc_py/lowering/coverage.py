"""Operators of a model that are on the list and that nothing lowers yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Diagnostic, Place
from atc_py.diag.codes import NOT_LOWERED
from atc_py.lowering.lower import can_lower

if TYPE_CHECKING:
    from collections.abc import Iterable

    from atc_py.source import SourceNode
    from atc_py.spec import Library

__all__ = ["not_lowered"]


def not_lowered(nodes: Iterable[SourceNode], path: str, specs: Library) -> list[Diagnostic]:
    """Return one finding for each listed operator among `nodes` that cannot be lowered."""
    found: dict[tuple[str, str], list[SourceNode]] = {}
    for node in nodes:
        listed = specs.find(node.op_type, node.domain) is not None
        if listed and not can_lower(node.op_type, node.domain, specs):
            found.setdefault((node.domain, node.op_type), []).append(node)
    return [_finding(views, path) for views in found.values()]


def _finding(views: list[SourceNode], path: str) -> Diagnostic:
    """Return the finding for all nodes of one operator."""
    first = views[0]
    count = f"{len(views)} node{'s' if len(views) > 1 else ''}"
    return NOT_LOWERED.diagnostic(
        f"{first.op_type} is on the operator list, but atc-py does not compile it yet; {count}",
        place=Place(path, first.index, first.name, first.op_type),
    )

"""A model on which rules have settled: its form, and the opset at which that is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag.codes import FIX_NOT_SETTLED
from atc_py.fix.restate import best_opset, restate_graph

if TYPE_CHECKING:
    from atc_py.fix.engine import Fixed
    from atc_py.source import SourceModel
    from atc_py.spec import Library

__all__ = ["settled_model", "state_at_listed_opset"]

PREFERRED = 12
"""Opset at which every operator of the list `base` is listed."""


def settled_model(fixed: Fixed) -> SourceModel:
    """Return the model in its new form; refuse rules that undo each other.

    Raises:
        AtcError: FIX_NOT_SETTLED.
    """
    if not fixed.settled or fixed.model is None:
        rules = ", ".join(dict.fromkeys(each.rule.name for each in fixed.applied[-8:]))
        raise FIX_NOT_SETTLED.error(
            f"rules undo each other: {rules}", help="leave one of them out with --skip"
        )
    return fixed.model


def state_at_listed_opset(fixed: Fixed, library: Library) -> int:
    """State the graph of a settled model at the opset that suits the list; return it."""
    model = settled_model(fixed)
    opset = best_opset(model, library, PREFERRED)
    failed = restate_graph(fixed.graph, model, library, opset)
    return model.opsets.get("", 0) if failed else opset

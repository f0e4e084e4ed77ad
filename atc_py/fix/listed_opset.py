"""A fixed model stated at the opset that suits the operator list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.restate import PREFERRED, best_opset, restate_graph

if TYPE_CHECKING:
    from atc_py.fix.engine import Fixed
    from atc_py.spec import Library

__all__ = ["PREFERRED", "state_at_listed_opset"]


def state_at_listed_opset(fixed: Fixed, library: Library, cann: int | None = None) -> int:
    """State the graph at the opset that suits the list; return it.

    Args:
        fixed: the model.
        library: the operator list.
        cann: the generation of CANN whose parser is to have the operators at that opset, too; what
            it makes of the nodes there is looked at again. None for any.
    """
    model = fixed.model
    if model is None:
        return 0
    opset = best_opset(model, library, PREFERRED, cann)
    failed = restate_graph(fixed.graph, model, library, opset)
    if failed:
        return model.opsets.get("", 0)
    if cann is not None:
        fixed.look_again()
    return opset

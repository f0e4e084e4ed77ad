"""Rule recurrent-layout: recurrent operators whose batch is the first axis, with the sequence there (layout of LSTM-14, GRU-14, RNN-14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_BATCHED_INPUTS = (0, 5, 6)
"""Positions of X, initial_h and initial_c, whose first two axes change places."""

_STATE, _SEQUENCE = (1, 0, 2), (2, 0, 1, 3)
"""Axes of layout 0 in the order of layout 1: those of states, and of Y."""


@fix_rule(
    "recurrent-layout",
    ("GRU", "LSTM", "RNN"),
    Exactness.REORDERED,
    RuleText(
        before=Words("LSTM, GRU or RNN with layout 1", "layout 为 1 的 LSTM、GRU 或 RNN"),
        after=Words(
            "Transpose, the operator with layout 0, Transpose",
            "Transpose、layout 为 0 的同一算子、Transpose",
        ),
        condition=Words("layout is 1", "layout 为 1"),
    ),
    example=RuleCase(
        "RNN",
        (Fed((2, 3, 4)), data(1, 5, 4), data(1, 5, 5)),
        {"hidden_size": 5, "layout": 1},
        opset=14,
        outputs=2,
    ),
    near_miss=RuleCase(
        "RNN",
        (Fed((3, 2, 4)), data(1, 5, 4), data(1, 5, 5)),
        {"hidden_size": 5, "layout": 0},
        opset=14,
        outputs=2,
    ),
)
def recurrent_layout(site: Site) -> Sequence[str]:
    """Write the operator with the sequence as the first axis."""
    require(site.integer("layout", 0) == 1, "layout is 1", "layout 为 1")
    inputs = [
        site.transpose(site.name(at), _STATE)
        if at in _BATCHED_INPUTS and site.tensor(at) is not None
        else site.name(at)
        for at in range(len(site.node.inputs))
    ]
    found = site.again(inputs, len(site.node.outputs), layout=None)
    orders = (_SEQUENCE, _STATE, _STATE)
    return [
        "" if site.output(at) is None else site.transpose(name, orders[at])
        for at, name in enumerate(found)
    ]

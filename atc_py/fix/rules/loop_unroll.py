"""Rule loop-unroll: a Loop whose number of steps is known before it runs, written step by step.

The condition may depend on states that start as constants and on constants alone; that part of the
body is run to count the steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import CaseGraph, ConstInput, Fed, RuleCase
from atc_py.fix.parts.steps import MOST_STEPS
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_FIRST_STATE = 2
"""Inputs of a Loop before its states: the trip count and the condition."""

_BODY = CaseGraph(
    {"step": Fed((), DType.INT64), "going": Fed((), DType.BOOL), "state": Fed((2,))},
    ("on", "next", "seen"),
    (
        ("Identity", ("going",), ("on",), {}),
        ("Add", ("state", "state"), ("next",), {}),
        ("Identity", ("state",), ("seen",), {}),
    ),
)


@fix_rule(
    "loop-unroll",
    ("Loop",),
    Exactness.EQUAL,
    RuleText(
        before=Words("Loop", "Loop"),
        after=Words(
            "the body, step by step; Unsqueeze and Concat of what is scanned",
            "逐步展开循环体；扫描输出经 Unsqueeze 与 Concat 堆叠",
        ),
        condition=Words(
            "constants decide the number of steps, which is 1 to 512; the body holds no graph",
            "步数由常量决定，为 1 至 512；循环体不含子图",
        ),
    ),
    example=RuleCase(
        "Loop",
        (ConstInput(np.array(3)), ConstInput(np.ones((), np.bool_)), Fed((2,))),
        {"body": _BODY},
        outputs=2,
    ),
    near_miss=RuleCase(
        "Loop",
        (Fed((), DType.INT64, (1, 3)), ConstInput(np.ones((), np.bool_)), Fed((2,))),
        {"body": _BODY},
        outputs=2,
    ),
)
def loop_unroll(site: Site) -> Sequence[str]:
    """Write the steps one after the other."""
    body = site.graph("body")
    limit = MOST_STEPS
    if site.tensor(0) is not None:
        limit = min(limit, int(site.constant(0).reshape(-1)[0]))
    going = site.tensor(1) is None or bool(site.constant(1).reshape(-1)[0])
    found = site.count_steps(limit, going=going, first=_FIRST_STATE)
    require(found is not None, "constants decide the number of steps", "步数由常量决定")
    total = min(found or 0, limit)
    bounded = site.tensor(0) is not None or (found or 0) <= MOST_STEPS
    require(bounded and 0 < total <= MOST_STEPS, "1 to 512 steps", "1 至 512 步")
    count = len(site.node.inputs) - _FIRST_STATE
    states = [site.name(_FIRST_STATE + at) for at in range(count)]
    true = site.const(np.ones((), np.bool_), DType.BOOL, "going")
    stacked: list[list[str]] = []
    for step in range(total):
        results = site.inline(body, [site.const(step, label="step"), true, *states])
        states = list(results[1 : 1 + count])
        stacked.append(list(results[1 + count :]))
    scanned = [[site.unsqueeze(each[at], [0]) for each in stacked] for at in range(len(stacked[0]))]
    joined = [rows[0] if len(rows) == 1 else site.op("Concat", rows, axis=0) for rows in scanned]
    return [*states, *joined]

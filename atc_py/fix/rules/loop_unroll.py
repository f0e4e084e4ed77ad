"""Rule loop-unroll: a Loop whose number of steps is known before it runs, written step by step.

The condition may depend on states that start as constants and on constants alone; that part of the
body is run to count the steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import CaseGraph, ConstInput, Fed, RuleCase
from atc_py.fix.parts.bodies import body_of
from atc_py.fix.parts.steps import FIRST_STATE, MOST_STEPS, check_room, loop_steps, stack
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.surroundings import MOST_NODES
from atc_py.fix.unfit import require
from atc_py.frontend.reading.tensors import dtype_of_element
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site
    from atc_py.frontend.rewriting.graph_body import GraphBody

__all__: list[str] = []

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
            f"constants decide the number of steps, which is at most {MOST_STEPS}; "
            f"the model has at most {MOST_NODES} nodes then",
            f"步数由常量决定，不超过 {MOST_STEPS}；展开后模型不超过 {MOST_NODES} 个节点",
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
    last=True,
)
def loop_unroll(site: Site) -> Sequence[str]:
    """Write the steps one after the other."""
    body, total = body_of(site, "body"), loop_steps(site)
    require(total <= MOST_STEPS, f"at most {MOST_STEPS} steps", f"不超过 {MOST_STEPS} 步")
    check_room(site, body, total)
    count = len(site.node.inputs) - FIRST_STATE
    states = [site.name(FIRST_STATE + at) for at in range(count)]
    if not total:
        return [*states, *(_nothing(site, body, at) for at in range(count, len(site.node.outputs)))]
    true = site.const(tables.ones((), np.bool_), DType.BOOL, "going")
    stacked: list[list[str]] = []
    for step in range(total):
        results = site.inline(body, [site.const(step, label="step"), true, *states])
        states = list(results[1 : 1 + count])
        stacked.append(list(results[1 + count :]))
    return [*states, *(stack(site, list(each), 0) for each in zip(*stacked, strict=True))]


def _nothing(site: Site, body: GraphBody, position: int) -> str:
    """Return what a scanned output is after no step; "" where nothing uses it."""
    if site.output(position) is None:
        return ""
    stated = body.types[1 + position]
    dtype = None if stated is None else dtype_of_element(stated.element)
    dims = None if stated is None else stated.shape
    known = dtype is not None and dims is not None
    require(known, "the body states the dims of what is scanned", "循环体给出扫描输出的形状")
    return site.const(tables.zeros((0, *(dims or ()))), dtype, "nothing")

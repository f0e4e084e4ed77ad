"""Rule lstm-unroll: every step of an LSTM, one after the other (LSTM-7 to -22 of ONNX).

i, o and f are functions of sums of products with W (of the step), R (of the state) and P (of the cell,
for o of the new one); the new cell is f . C + i . g(c), the new state o . h(C).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.activations import activations_of
from atc_py.fix.parts.steps import MOST_STEPS
from atc_py.fix.parts.unrolled import UnrolledLayer, driven_gates, part_of, unrolled
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.parts.unrolled import States, Step
    from atc_py.fix.site import Site

__all__: list[str] = []

_BIAS, _FIRST, _CELL, _PEEPHOLES = 3, 5, 6, 7
"""Positions of inputs."""

_BOUND = 1e-3
"""onnxruntime's LSTM takes functions with errors of 5e-8, which later steps may multiply."""


@fix_rule(
    "lstm-unroll",
    ("LSTM",),
    Exactness.BOUNDED,
    RuleText(
        before=Words(
            "LSTM with peepholes, input_forget, clip, or activations of its own",
            "带 P、input_forget、clip 或自定激活函数的 LSTM",
        ),
        after=Words(
            "MatMul for all steps; then, for each, Slice, MatMul, Add, the activations, Mul; Concat",
            "先对所有步做 MatMul，再逐步 Slice、MatMul、Add、激活、Mul，最后 Concat",
        ),
        condition=Words(
            "dims are known; at most 512 steps; the sequence is the first axis",
            "形状已知；至多 512 步；序列为第一轴",
        ),
    ),
    example=RuleCase(
        "LSTM",
        (Fed((3, 2, 4)), data(1, 20, 4), data(1, 20, 5), data(1, 40)),
        {"hidden_size": 5, "input_forget": 1},
        outputs=3,
    ),
    near_miss=RuleCase(
        "LSTM",
        (Fed((MOST_STEPS + 1, 1, 1)), data(1, 4, 1), data(1, 4, 1)),
        {"hidden_size": 1, "input_forget": 1},
        outputs=3,
    ),
    bound=_BOUND,
    deviations=(
        "LSTM/activations-ignored",
        "LSTM/clip-ignored",
        "LSTM/input-forget-ignored",
        "LSTM/peepholes-ignored",
    ),
)
def lstm_unroll(site: Site) -> Sequence[str]:
    """Write the steps of every direction."""
    functions = activations_of(site, ["Sigmoid", "Tanh", "Tanh"] * site.shape(1)[0])
    size = site.shape(2)[2]
    coupled = site.flag("input_forget", default=False)

    def driven(way: int) -> str:
        bias = part_of(site, _BIAS, way)
        if bias:
            halves = [site.slice(bias, 0, at * size, (at + 4) * size) for at in (0, 4)]
            bias = site.op("Add", halves)
        return driven_gates(site, way, bias)

    def open_cell(way: int) -> Step:
        f, g, last = functions[3 * way : 3 * way + 3]
        last = replace(last, clip=0.0)  # the gates alone are clipped in onnxruntime
        r = site.transpose(part_of(site, 2, way), [1, 0])
        peeps = part_of(site, _PEEPHOLES, way)

        def seen(gate: str, at: int, cell: str) -> str:
            """Add what a gate sees of the cell."""
            if not peeps or not cell:
                return gate
            weight = site.slice(peeps, 0, at * size, (at + 1) * size)
            return site.op("Add", [gate, site.op("Mul", [weight, cell])])

        def step(x: str, states: States) -> Sequence[str]:
            h, cell = states
            if h:
                x = site.op("Add", [x, site.op("MatMul", [h, r])])
            i, o, keep, new = (site.slice(x, 1, at * size, (at + 1) * size) for at in range(4))
            i = f.write(site, seen(i, 0, cell))
            added = site.op("Mul", [i, g.write(site, new)])
            if cell:
                if coupled:
                    keep = site.op("Sub", [site.scalar(1.0), i])
                else:
                    keep = f.write(site, seen(keep, 2, cell))
                added = site.op("Add", [site.op("Mul", [keep, cell]), added])
            o = f.write(site, seen(o, 1, added))
            return [site.op("Mul", [o, last.write(site, added)]), added]

        return step

    return unrolled(site, UnrolledLayer([_FIRST, _CELL], open_cell, driven))

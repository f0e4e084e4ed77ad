"""Rule rnn-unroll: h' = f(x W' + h R' + b) of every step, one after the other (RNN-7 to -22 of ONNX)."""

from __future__ import annotations

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

_BIAS, _FIRST = 3, 5
"""Positions of inputs."""

_TANH = 1e-3
"""Bound: onnxruntime's RNN takes functions with errors of 5e-8, which later steps may multiply."""


@fix_rule(
    "rnn-unroll",
    ("RNN",),
    Exactness.BOUNDED,
    RuleText(
        before=Words("RNN", "RNN"),
        after=Words(
            "MatMul for all steps; then, for each, Slice, MatMul, Add and the activation; Concat",
            "先对所有步做 MatMul，再逐步 Slice、MatMul、Add、激活，最后 Concat",
        ),
        condition=Words(
            "dims are known; at most 512 steps; the sequence is the first axis",
            "形状已知；至多 512 步；序列为第一轴",
        ),
    ),
    example=RuleCase(
        "RNN",
        (Fed((3, 2, 4)), data(1, 5, 4), data(1, 5, 5), data(1, 10)),
        {"hidden_size": 5, "activations": ["Relu"]},
        outputs=2,
    ),
    near_miss=RuleCase(
        "RNN",
        (Fed((MOST_STEPS + 1, 1, 1)), data(1, 1, 1), data(1, 1, 1)),
        {"hidden_size": 1, "activations": ["Relu"]},
        outputs=2,
    ),
    bound=_TANH,
)
def rnn_unroll(site: Site) -> Sequence[str]:
    """Write the steps of every direction."""
    functions = activations_of(site, ["Tanh"] * site.shape(1)[0])
    size = site.shape(1)[1]

    def driven(way: int) -> str:
        bias = part_of(site, _BIAS, way)
        if bias:
            both = site.reshape(bias, [2, size])
            bias = site.reduce("ReduceSum", both, [0], keepdims=False)
        return driven_gates(site, way, bias)

    def open_cell(way: int) -> Step:
        r = site.transpose(part_of(site, 2, way), [1, 0])

        def step(x: str, states: States) -> Sequence[str]:
            if states[0]:
                x = site.op("Add", [x, site.op("MatMul", [states[0], r])])
            return [functions[way].write(site, x)]

        return step

    return unrolled(site, UnrolledLayer([_FIRST], open_cell, driven))

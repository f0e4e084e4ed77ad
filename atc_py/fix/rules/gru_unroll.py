"""Rule gru-unroll: every step of a GRU, one after the other (GRU-7 to -22 of ONNX).

z and r are f of sums of products with W (of the step) and R (of the state h); the candidate c is
g(x Wc' + (r . h) Rc' + b), or g(x Wc' + b + r . (h Rc' + b')) with linear_before_reset; the new state
is (1 - z) . c + z . h.
"""

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

_BOUND = 1e-3
"""onnxruntime's GRU takes functions with errors of 5e-8, which later steps may multiply."""


@fix_rule(
    "gru-unroll",
    ("GRU",),
    Exactness.BOUNDED,
    RuleText(
        before=Words(
            "GRU with linear_before_reset 0, clip, or activations of its own",
            "linear_before_reset 为 0、带 clip 或自定激活函数的 GRU",
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
        "GRU",
        (Fed((3, 2, 4)), data(1, 15, 4), data(1, 15, 5), data(1, 30)),
        {"hidden_size": 5},
        outputs=2,
    ),
    near_miss=RuleCase(
        "GRU",
        (Fed((MOST_STEPS + 1, 1, 1)), data(1, 3, 1), data(1, 3, 1)),
        {"hidden_size": 1},
        outputs=2,
    ),
    bound=_BOUND,
    deviations=("GRU/reset-after-product", "GRU/activations-ignored", "GRU/clip-ignored"),
)
def gru_unroll(site: Site) -> Sequence[str]:
    """Write the steps of every direction."""
    functions = activations_of(site, ["Sigmoid", "Tanh"] * site.shape(1)[0])
    size = site.shape(2)[2]
    linear = site.flag("linear_before_reset", default=False)

    def driven(way: int) -> str:
        return driven_gates(site, way, _bias(site, way, size, linear=linear))

    def open_cell(way: int) -> Step:
        f, g = functions[2 * way : 2 * way + 2]
        r = site.transpose(part_of(site, 2, way), [1, 0])
        of_gates, of_new = site.slice(r, 1, 0, 2 * size), site.slice(r, 1, 2 * size, 3 * size)
        bias = part_of(site, _BIAS, way)
        added = site.slice(bias, 0, 5 * size, 6 * size) if bias and linear else ""

        def step(x: str, states: States) -> Sequence[str]:
            h = states[0]
            gates, new = site.slice(x, 1, 0, 2 * size), site.slice(x, 1, 2 * size, 3 * size)
            if h:
                gates = site.op("Add", [gates, site.op("MatMul", [h, of_gates])])
            gates = f.write(site, gates)
            update, reset = site.slice(gates, 1, 0, size), site.slice(gates, 1, size, 2 * size)
            kept = ""
            if linear:
                kept = site.op("MatMul", [h, of_new]) if h else ""
                kept = site.op("Add", [kept, added]) if kept and added else kept or added
                kept = site.op("Mul", [reset, kept]) if kept else ""
            elif h:
                kept = site.op("MatMul", [site.op("Mul", [reset, h]), of_new])
            new = g.write(site, site.op("Add", [new, kept]) if kept else new)
            if not h:
                return [site.op("Sub", [new, site.op("Mul", [update, new])])]
            more = site.op("Mul", [update, site.op("Sub", [h, new])])
            return [site.op("Add", [new, more])]

        return step

    return unrolled(site, UnrolledLayer([_FIRST], open_cell, driven))


def _bias(site: Site, way: int, size: int, *, linear: bool) -> str:
    """Write the biases that every step adds at once; that of a product that reset follows stays out."""
    bias = part_of(site, _BIAS, way)
    if not bias:
        return ""
    first, second = site.slice(bias, 0, 0, 3 * size), site.slice(bias, 0, 3 * size, 6 * size)
    if not linear:
        return site.op("Add", [first, second])
    gates = [site.slice(each, 0, 0, 2 * size) for each in (first, second)]
    new = site.slice(first, 0, 2 * size, 3 * size)
    return site.op("Concat", [site.op("Add", gates), new], axis=0)

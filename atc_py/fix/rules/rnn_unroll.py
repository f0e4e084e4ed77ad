"""Rule rnn-unroll: h' = f(x W' + h R' + b) of every step, one after the other (RNN-7 to -22 of ONNX)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.activations import activations_of
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.steps import MOST_STEPS
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.parts.activations import Activation
    from atc_py.fix.site import Site

__all__: list[str] = []

_LENGTHS, _FIRST = 4, 5
"""Positions of inputs."""


@dataclass(frozen=True, slots=True)
class _Way:
    """One direction of the layer: its place among the directions, and the order of its steps."""

    at: int
    order: Sequence[int]
    activation: Activation


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
    require(site.element in FLOATS, "the dtype is float16 or float32", "类型为 float16 或 float32")
    require(not site.integer("layout", 0), "the sequence is the first axis", "序列为第一轴")
    steps = site.shape(0)[0]
    require(0 < steps <= MOST_STEPS, "there are 1 to 512 steps", "1 至 512 步")
    count = site.shape(1)[0]
    functions = activations_of(site, ["Tanh"] * count)
    backward = site.text("direction", "forward") == "reverse"
    orders = [range(steps), range(steps)[::-1]]
    ways = [_Way(at, orders[at ^ backward], functions[at]) for at in range(count)]
    there = _there(site, steps)
    done = [_run(site, way, there) for way in ways]
    rows = [
        site.unsqueeze(_joined(site, [found[step] for step in range(steps)], 0), [1])
        for found, _ in done
    ]
    last = [site.unsqueeze(state, [0]) for _, state in done]
    return [_joined(site, rows, 1), _joined(site, last, 0)]


def _joined(site: Site, parts: Sequence[str], axis: int) -> str:
    """Return `parts` one after the other."""
    return parts[0] if len(parts) == 1 else site.op("Concat", parts, axis=axis)


def _there(site: Site, steps: int) -> list[str]:
    """Return for each step which sequences of the batch have it, `[batch, 1]`; nothing if all do."""
    lengths = site.tensor(_LENGTHS)
    if lengths is None:
        return []
    if lengths.const is not None:
        known = site.constant(_LENGTHS).reshape(-1, 1)
        if (known >= steps).all():
            return []
        return [site.const(known > step, DType.BOOL, "there") for step in range(steps)]
    column = site.reshape(site.cast(lengths.name, DType.FLOAT32), [-1, 1])
    return [
        site.op("Greater", [column, site.const(step, DType.FLOAT32, "step")])
        for step in range(steps)
    ]


def _run(site: Site, way: _Way, there: Sequence[str]) -> tuple[dict[int, str], str]:
    """Return the result of each step of one direction, `[1, batch, size]`, and the last state."""
    _, batch, _ = site.shape(0)
    _, size, _ = site.shape(1)
    w, r = (site.transpose(_part(site, at, way.at), [1, 0]) for at in (1, 2))
    driven = site.op("MatMul", [site.name(0), w])
    if site.tensor(3) is not None:
        bias = site.reshape(_part(site, 3, way.at), [2, size])
        driven = site.op("Add", [driven, site.reduce("ReduceSum", bias, [0], keepdims=False)])
    state = ""
    if site.tensor(_FIRST) is not None:
        state = _part(site, _FIRST, way.at)
    zeros = site.const(np.zeros((batch, size)), site.element, "zeros")
    results = {}
    for step in way.order:
        x = site.squeeze(site.slice(driven, 0, step, step + 1), [0])
        if state:
            x = site.op("Add", [x, site.op("MatMul", [state, r])])
        new = way.activation.write(site, x)
        seen = new
        if there:
            seen = site.op("Where", [there[step], new, zeros])
            new = site.op("Where", [there[step], new, state or zeros])
        state = new
        results[step] = site.unsqueeze(seen, [0])
    if there and site.tensor(_FIRST) is not None:
        # A sequence of no steps has no last state; onnxruntime's is 0 then, not the first one.
        state = site.op("Where", [there[0], state, zeros])
    return results, state


def _part(site: Site, position: int, way: int) -> str:
    """Return an input of one direction."""
    if site.shape(position)[0] == 1:
        return site.squeeze(site.name(position), [0])
    return site.squeeze(site.slice(site.name(position), 0, way, way + 1), [0])

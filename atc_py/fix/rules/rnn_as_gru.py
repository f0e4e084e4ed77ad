"""Rule rnn-as-gru: h' = tanh(x W' + h R' + b) as a GRU whose update gate is closed and whose reset gate is open.

A GRU has h' = (1 - z) g + z h with g = tanh(x W' + (r h) R' + b); biases of -100 and 100 make
z = sigmoid(-100) = 0 and r = sigmoid(100) = 1 beyond the digits of float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.unrolled import require_finite_weights
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_CLOSED, _OPEN = -100.0, 100.0
"""Biases of the gates z and r."""


_TANH = 1e-3
"""Bound: onnxruntime's RNN takes functions with errors of 5e-8, which later steps may multiply."""


@fix_rule(
    "rnn-as-gru",
    ("RNN",),
    Exactness.BOUNDED,
    RuleText(
        before=Words("RNN with Tanh", "激活为 Tanh 的 RNN"),
        after=Words("GRU with constant gates", "门为常数的 GRU"),
        condition=Words(
            "dims are known; the activation is Tanh; nothing is clipped; the sequence is the first "
            "axis",
            "形状已知；激活为 Tanh；不裁剪；序列为第一轴",
        ),
        float16=Words("as a GRU: the state is rounded at each step", "同 GRU：每步状态舍入一次"),
    ),
    example=RuleCase(
        "RNN",
        (Fed((3, 2, 4)), data(1, 5, 4), data(1, 5, 5), data(1, 10)),
        {"hidden_size": 5},
        outputs=2,
    ),
    near_miss=RuleCase(
        "RNN",
        (Fed((3, 2, 4)), data(1, 5, 4), data(1, 5, 5), data(1, 10)),
        {"hidden_size": 5, "activations": ["Relu"]},
        outputs=2,
    ),
    bound=_TANH,
)
def rnn_as_gru(site: Site) -> Sequence[str]:
    """Write the GRU."""
    require(site.element in FLOATS, "the dtype is float16 or float32", "类型为 float16 或 float32")
    names = site.node.attributes.get("activations", ())
    require(
        isinstance(names, tuple) and all(str(each).lower() == "tanh" for each in names),
        "the activation is Tanh",
        "激活为 Tanh",
    )
    require(not site.number("clip", 0.0), "nothing is clipped", "不裁剪")
    require(not site.integer("layout", 0), "the sequence is the first axis", "序列为第一轴")
    require_finite_weights(site)
    ways, size, width = site.shape(1)
    w = _after_gates(site, site.name(1), tables.zeros((ways, 2 * size, width)))
    r = _after_gates(site, site.name(2), tables.zeros((ways, 2 * size, size)))
    gates = tables.repeat(tables.repeat(np.array([[_CLOSED, _OPEN]]), size, -1), ways, 0)
    own = zeros = site.const(tables.zeros((ways, size)), site.element, "zeros")
    recurrent = zeros
    if site.tensor(3) is not None:
        own = site.slice(site.name(3), 1, 0, size)
        recurrent = site.slice(site.name(3), 1, size, 2 * size)
    idle = site.const(tables.zeros((ways, 2 * size)), site.element, "zeros")
    parts = [site.const(gates, site.element, "gates"), own, idle, recurrent]
    b = site.op("Concat", parts, axis=1)
    inputs = [site.name(0), w, r, b, site.name(4), site.name(5)]
    while not inputs[-1]:
        inputs.pop()
    direction = site.text("direction", "forward")
    return site.ops("GRU", inputs, len(site.node.outputs), hidden_size=size, direction=direction)


def _after_gates(
    site: Site, x: str, gates: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
) -> str:
    """Return weights of a GRU: those of the gates, then `x`."""
    return site.op("Concat", [site.const(gates, site.element, "gates"), x], axis=1)

"""Rule linear-attention-unroll: S' = exp(g) S + k (b (v - k' exp(g) S)), o = scale q' S' of every step (LinearAttention-27 of ONNX and that of onnxruntime)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.steps import MOST_STEPS
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_STATE, _DECAY, _RATE = 3, 4, 5
"""Positions of inputs."""

_RULES = {
    "linear": (False, False),
    "gated": (True, False),
    "delta": (False, True),
    "gated_delta": (True, True),
}
"""Whether the state decays, and whether what it holds of a key is taken from the value."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """The tensors of the recurrence, one step a slice of axis 1.

    Attributes:
        q: `[batch, steps, groups, shared, size]`, scaled.
        k: `[batch, steps, groups, 1, size]`.
        v: `[batch, steps, groups, 1, value_size]`.
        decay: factors of the state, `[batch, steps, groups, size or 1, 1]`; "" for none.
        rate: factors of the update, `[batch, steps, groups or 1, 1, 1]`; "" for none.
    """

    q: str
    k: str
    v: str
    decay: str
    rate: str


@fix_rule(
    "linear-attention-unroll",
    ("LinearAttention", "com.microsoft::LinearAttention"),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "LinearAttention of ONNX or onnxruntime", "ONNX 或 onnxruntime 的 LinearAttention"
        ),
        after=Words(
            "for each step Slice, Mul, MatMul, Sub, Add; Concat",
            "逐步 Slice、Mul、MatMul、Sub、Add，最后 Concat",
        ),
        condition=Words(
            "dims are known; at most 512 steps; the state has no window; no fewer heads of the "
            "query than of the key",
            "形状已知；至多 512 步；状态无窗口；查询头数不少于键头数",
        ),
        float16=Words("the state is rounded at each step", "每步状态舍入一次"),
    ),
    example=RuleCase(
        "LinearAttention",
        (*[Fed((1, 2, 8))] * 3,),
        {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"},
        opset=1,
        outputs=2,
        domain="com.microsoft",
    ),
    near_miss=RuleCase(
        "LinearAttention",
        (*[Fed((1, 2, 8))] * 3, Fed((2, 1, 2, 4, 4))),
        {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear", "state_window": 2},
        opset=1,
        outputs=2,
        domain="com.microsoft",
    ),
)
def linear_attention_unroll(site: Site) -> Sequence[str]:
    """Write the recurrence step by step."""
    require(site.element in FLOATS, "the dtype is float16 or float32", "类型为 float16 或 float32")
    require(not site.integer("state_window", 0), "the state has no window", "状态无窗口")
    batch, steps, _ = site.shape(0)
    require(0 < steps <= MOST_STEPS, "there are 1 to 512 steps", "1 至 512 步")
    groups, heads = site.integer("kv_num_heads", 1), site.integer("q_num_heads", 1)
    require(heads % groups == 0, "no fewer heads of the query", "查询头数不少于键头数")
    parts = _parts(site, batch, steps, heads, groups)
    size, value_size = site.shape(0)[2] // heads, site.shape(2)[2] // groups
    state = site.name(_STATE)
    if not state:
        state = site.const(tables.zeros((batch, groups, size, value_size)), site.element, "state")
    results = []
    for step in range(steps):
        state = _next(site, parts, state, step)
        y = site.op("MatMul", [_at(site, parts.q, step), state])
        results.append(site.reshape(y, [batch, 1, heads * value_size]))
    y = results[0] if steps == 1 else site.op("Concat", results, axis=1)
    return [y, state]


def _parts(site: Site, batch: int, steps: int, heads: int, groups: int) -> _Parts:
    """Return the tensors of the recurrence."""
    decays, subtracts = _RULES.get(site.text("update_rule", "gated_delta"), (None, None))
    require(decays is not None, "the update rule is known", "已知的更新规则")
    size = site.shape(0)[2] // heads
    scale = site.number("scale", 0.0) or size**-0.5
    scaled = site.op("Mul", [site.name(0), site.scalar(scale, "scale")])
    decay = rate = ""
    if decays:
        width = site.shape(_DECAY)[2] // groups
        factors = site.op("Exp", [site.name(_DECAY)])
        decay = site.reshape(factors, [batch, steps, groups, width, 1])
    if subtracts:
        rate = site.reshape(site.name(_RATE), [batch, steps, site.shape(_RATE)[2], 1, 1])
    return _Parts(
        site.reshape(scaled, [batch, steps, groups, heads // groups, size]),
        site.reshape(site.name(1), [batch, steps, groups, 1, size]),
        site.reshape(site.name(2), [batch, steps, groups, 1, -1]),
        decay,
        rate,
    )


def _at(site: Site, x: str, step: int) -> str:
    """Return one step of a tensor."""
    return site.squeeze(site.slice(x, 1, step, step + 1), [1])


def _next(site: Site, parts: _Parts, state: str, step: int) -> str:
    """Return the state after one step."""
    key, value = _at(site, parts.k, step), _at(site, parts.v, step)
    if parts.decay:
        state = site.op("Mul", [state, _at(site, parts.decay, step)])
    if parts.rate:
        held = site.op("MatMul", [key, state])
        value = site.op("Mul", [site.op("Sub", [value, held]), _at(site, parts.rate, step)])
    update = site.op("Mul", [site.transpose(key, [0, 1, 3, 2]), value])
    return site.op("Add", [state, update])

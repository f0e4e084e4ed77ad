"""Rule causal-conv-as-conv: a convolution of each channel over the past and x (CausalConvWithState-27 of ONNX and that of onnxruntime)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_STATE = 3
_SEQUENCES = 3
_OTHER_LAYOUTS = ("state_window", "state_length", "input_channels", "state_update_capacity")
"""Attributes of onnxruntime that give input and state other dims."""


@fix_rule(
    "causal-conv-as-conv",
    ("CausalConvWithState", "com.microsoft::CausalConvWithState"),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "CausalConvWithState of ONNX or onnxruntime",
            "ONNX 或 onnxruntime 的 CausalConvWithState",
        ),
        after=Words(
            "Concat of the state, Conv of each channel, Sigmoid, Mul, Slice",
            "拼接状态、逐通道 Conv、Sigmoid、Mul、Slice",
        ),
        condition=Words(
            "dims are known; one axis of positions; the state has no window",
            "形状已知；仅一个位置轴；状态无窗口",
        ),
    ),
    example=RuleCase(
        "CausalConvWithState",
        (Fed((1, 3, 8)), data(3, 1, 4), data(3), Fed((1, 3, 3))),
        {"activation": "silu"},
        opset=1,
        outputs=2,
        domain="com.microsoft",
    ),
    near_miss=RuleCase(
        "CausalConvWithState",
        (Fed((1, 3, 8)), data(3, 1, 4), data(3), Fed((2, 1, 3, 3))),
        {"state_window": 2},
        opset=1,
        outputs=2,
        domain="com.microsoft",
    ),
)
def causal_conv_as_conv(site: Site) -> Sequence[str]:
    """Write the convolution, its activation and the state after it."""
    require(site.element in FLOATS, "the dtype is float16 or float32", "类型为 float16 或 float32")
    plain = not any(site.integer(name, 0) for name in _OTHER_LAYOUTS)
    require(plain, "the state has no window", "状态无窗口")
    dims = site.shape(0)
    one = site.integer("ndim", 1) == 1 and len(dims) == _SEQUENCES
    require(one, "there is one axis of positions", "仅一个位置轴")
    last = site.flag("channels_last", default=False)
    order = [0, 2, 1] if last else [0, 1, 2]
    batch, channels, length = (dims[at] for at in order)
    dilation = site.integer("dilation", 1)
    held = (site.shape(1)[2] - 1) * dilation
    kept = held > 0 or site.output(1) is None
    require(kept, "the state after it has elements", "其后的状态非空")
    x = site.transpose(site.name(0), order)
    if held:
        if site.tensor(_STATE) is not None:
            own = site.shape(_STATE)
            fits = [own[at] for at in order] == [batch, channels, held]
            require(fits, "the state has the taps before X", "状态为 X 之前的各抽头")
            state = site.transpose(site.name(_STATE), order)
        else:
            state = site.const(tables.zeros((batch, channels, held)), site.element, "state")
        x = site.op("Concat", [state, x], axis=2)
    weights = [site.name(at) for at in (1, 2) if site.tensor(at) is not None]
    y = site.op("Conv", [x, *weights], group=channels, dilations=[dilation])
    kind = site.text("activation", "none")
    require(kind in {"none", "silu", "swish"}, "the activation is known", "已知的激活函数")
    if kind != "none":
        y = site.op("Mul", [y, site.op("Sigmoid", [y])])
    used = held and site.output(1) is not None
    state = site.transpose(site.slice(x, 2, length, length + held), order) if used else ""
    return [site.transpose(y, order), state]

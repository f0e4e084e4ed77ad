"""Random cases of the rules of operators that carry a state from call to call."""

from typing import Any

import numpy as np

from atc_py.fix.case import Fed, RuleCase, data
from tests.fix.draws import draws
from tests.fix.draws.attention import one_of


def of_either(
    rng: np.random.Generator, op_type: str, inputs: list[Any], attributes: dict[str, Any]
) -> RuleCase:
    """Return a case of the operator of ONNX or of that of onnxruntime."""
    opset, domain = (27, "") if rng.integers(2) else (1, "com.microsoft")
    return RuleCase(op_type, tuple(inputs), attributes, opset=opset, outputs=2, domain=domain)


@draws("linear-attention-unroll")
def linear_attention_unroll(rng: np.random.Generator) -> RuleCase:
    batch, steps, groups, each, size, value = (int(n) for n in rng.integers(1, 4, 6))
    heads = groups * each
    rule = one_of(rng, "linear", "gated", "delta", "gated_delta")
    decay = Fed((batch, steps, groups * one_of(rng, 1, size)))
    rate = Fed((batch, steps, one_of(rng, 1, groups)))
    inputs = [
        Fed((batch, steps, heads * size)), Fed((batch, steps, groups * size)),
        Fed((batch, steps, groups * value)),
        Fed((batch, groups, size, value)) if rng.integers(2) else None,
        decay if "gated" in rule else None, rate if "delta" in rule else None,
    ]  # fmt: skip
    attributes = {"q_num_heads": heads, "kv_num_heads": groups, "update_rule": rule}
    return of_either(rng, "LinearAttention", inputs, attributes)


@draws("causal-conv-as-conv")
def causal_conv_as_conv(rng: np.random.Generator) -> RuleCase:
    batch, channels, length, taps = (int(n) for n in rng.integers(1, 5, 4))
    taps += 1
    attributes: dict[str, Any] = {"activation": one_of(rng, "none", "silu", "swish")}
    bias = data(channels, seed=1) if rng.integers(2) else None
    state = Fed((batch, channels, taps - 1)) if rng.integers(2) else None
    inputs: list[Any] = [Fed((batch, channels, length)), data(channels, 1, taps), bias, state]
    case = of_either(rng, "CausalConvWithState", inputs, attributes)
    if not case.domain or rng.integers(2):
        return case
    dilation = int(rng.integers(1, 3))
    last = {"channels_last": 1, "dilation": dilation}
    held = Fed((batch, (taps - 1) * dilation, channels)) if state else None
    inputs = [Fed((batch, length, channels)), data(channels, 1, taps), bias, held]
    return RuleCase(
        case.op_type, tuple(inputs), attributes | last, opset=1, outputs=2, domain=case.domain
    )

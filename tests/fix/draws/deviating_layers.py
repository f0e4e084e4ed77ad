"""Random cases of the rules that write recurrent layers of CANN step by step."""

from typing import Any

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.tensor.dtypes import DType
from tests.fix.draws import draws
from tests.fix.draws.attention import one_of

FUNCTIONS = ("HardSigmoid", "Relu", "Sigmoid", "Softsign", "Tanh")


def layer(
    rng: np.random.Generator, op: str, gates: int, functions: int, **attributes: Any
) -> RuleCase:
    """Return a layer of either or both directions that meets a deviation."""
    steps, batch, width, size = (int(n) for n in rng.integers(1, 5, 4))
    direction = one_of(rng, "forward", "reverse", "bidirectional")
    ways = 2 if direction == "bidirectional" else 1
    lengths = ConstInput(rng.integers(1, steps + 1, batch).astype(np.int32))
    at_run_time = Fed((batch,), DType.INT32, (1, steps))
    bias = data(ways, 2 * gates * size, seed=2) if rng.integers(2) else None
    states = [Fed((ways, batch, size)) if rng.integers(2) else None for _ in range(functions - 1)]
    peepholes = [data(ways, 3 * size, seed=3)] if op == "LSTM" and rng.integers(2) else []
    inputs = (
        Fed((steps, batch, width)), data(ways, gates * size, width),
        data(ways, gates * size, size, seed=1), bias, one_of(rng, None, lengths, at_run_time),
        *states, *peepholes,
    )  # fmt: skip
    more: dict[str, Any] = {"clip": 0.6} if rng.integers(2) else {}
    if rng.integers(2):
        more["activations"] = [one_of(rng, *FUNCTIONS) for _ in range(ways * functions)]
    given = {"hidden_size": size, "direction": direction, **attributes, **more}
    opset, cann = one_of(rng, 11, 13), one_of(rng, "5", "9.1")
    return RuleCase(op, inputs, given, opset, outputs=functions, cann=cann)


@draws("gru-unroll")
def gru_unroll(rng: np.random.Generator) -> RuleCase:
    return layer(rng, "GRU", 3, 2, linear_before_reset=int(rng.integers(2)))


@draws("gru-of-reversed")
def gru_of_reversed(rng: np.random.Generator) -> RuleCase:
    steps, batch, width, size = (int(n) for n in rng.integers(1, 5, 4))
    bias = data(1, 6 * size, seed=2) if rng.integers(2) else None
    state = Fed((1, batch, size)) if rng.integers(2) else None
    inputs = (
        Fed((steps, batch, width)), data(1, 3 * size, width), data(1, 3 * size, size, seed=1), bias,
        None, state,
    )  # fmt: skip
    given = {"hidden_size": size, "direction": "reverse", "linear_before_reset": 1}
    return RuleCase("GRU", inputs, given, outputs=2, cann=one_of(rng, "5", "9.1"))


@draws("lstm-unroll")
def lstm_unroll(rng: np.random.Generator) -> RuleCase:
    return layer(rng, "LSTM", 4, 3, input_forget=int(rng.integers(2)))

"""Random cases of the rules of recurrent operators."""

from typing import Any

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.tensor.dtypes import DType
from tests.fix.draws import draws
from tests.fix.draws.attention import one_of

FUNCTIONS = (
    "Affine", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "ScaledTanh",
    "Sigmoid", "Softplus", "Softsign", "Tanh", "ThresholdedRelu",
)  # fmt: skip
BETA = {"Affine", "HardSigmoid", "ScaledTanh"}
ALPHA = {*BETA, "Elu", "LeakyRelu", "ThresholdedRelu"}


def rnn(rng: np.random.Generator, **attributes: Any) -> RuleCase:
    """Return an RNN of either or both directions, with lengths and a first state or without."""
    steps, batch, width, size = (int(n) for n in rng.integers(1, 5, 4))
    direction = one_of(rng, "forward", "reverse", "bidirectional")
    ways = 2 if direction == "bidirectional" else 1
    lengths = ConstInput(rng.integers(1, steps + 1, batch).astype(np.int32))
    at_run_time = Fed((batch,), DType.INT32, (1, steps))
    bias = data(ways, 2 * size, seed=2) if rng.integers(2) else None
    first = Fed((ways, batch, size)) if rng.integers(2) else None
    inputs = (
        Fed((steps, batch, width)), data(ways, size, width), data(ways, size, size, seed=1), bias,
        one_of(rng, None, lengths, at_run_time), first,
    )  # fmt: skip
    activations = [one_of(rng, *attributes.pop("of", ["Tanh"])) for _ in range(ways)]
    alphas = [name for name in activations if name in ALPHA]
    if alphas:
        attributes["activation_alpha"] = [float(each) for each in rng.uniform(0.1, 1, len(alphas))]
    betas = [name for name in activations if name in BETA]
    if betas:
        attributes["activation_beta"] = [float(each) for each in rng.uniform(0.1, 1, len(betas))]
    given = {"hidden_size": size, "direction": direction, "activations": activations}
    return RuleCase("RNN", inputs, given | attributes, opset=one_of(rng, 11, 14), outputs=2)


@draws("rnn-as-gru")
def rnn_as_gru(rng: np.random.Generator) -> RuleCase:
    return rnn(rng)


@draws("rnn-unroll")
def rnn_unroll(rng: np.random.Generator) -> RuleCase:
    clip = {"clip": 0.6} if rng.integers(2) else {}
    return rnn(rng, of=FUNCTIONS, **clip)


@draws("recurrent-layout")
def recurrent_layout(rng: np.random.Generator) -> RuleCase:
    steps, batch, width, size = (int(n) for n in rng.integers(1, 5, 4))
    op_type, gates = one_of(rng, ("RNN", 1), ("RNN", 1), ("GRU", 3), ("LSTM", 4))
    first = [None, Fed((batch, 1, size))] if rng.integers(2) else []
    inputs: list[Any] = [
        Fed((batch, steps, width)), data(1, gates * size, width),
        data(1, gates * size, size, seed=1), data(1, 2 * gates * size, seed=2), *first,
    ]  # fmt: skip
    attributes = {"hidden_size": size, "layout": 1}
    outputs = 3 if op_type == "LSTM" else 2
    return RuleCase(op_type, tuple(inputs), attributes, opset=14, outputs=outputs)

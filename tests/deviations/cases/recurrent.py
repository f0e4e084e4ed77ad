"""Recurrent layers; formulas as in ONNX's definitions, with CANN's changes."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.deviations.case import DeviatingNode, DeviationCase, deviation

Array = npt.NDArray[Any]

_RANDOM = np.random.default_rng(5)
STEPS, BATCH, READ, HIDDEN = 3, 2, 4, 5


def drawn(*dims: int) -> Array:
    return (_RANDOM.standard_normal(dims) * 0.8).astype(np.float32)


X = drawn(STEPS, BATCH, READ)
GRU = {
    "W": drawn(1, 3 * HIDDEN, READ),
    "R": drawn(1, 3 * HIDDEN, HIDDEN),
    "B": drawn(1, 6 * HIDDEN),
}
LSTM = {
    "W": drawn(1, 4 * HIDDEN, READ),
    "R": drawn(1, 4 * HIDDEN, HIDDEN),
    "B": drawn(1, 8 * HIDDEN),
}
PEEPHOLES = {"P": drawn(1, 3 * HIDDEN) * 3}


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def gru_on_cann(x: Array) -> Array:
    """Return Y of DynamicGRUV2 with reset_after, of the gates z, r, h."""
    w, r, b = GRU["W"][0], GRU["R"][0], GRU["B"][0]
    wb, rb = np.split(b, 2)
    hidden = np.zeros((BATCH, HIDDEN), np.float32)
    steps = []
    for step in x:
        read = np.split(step @ w.T + wb, 3, axis=1)
        kept = np.split(hidden @ r.T + rb, 3, axis=1)
        update, reset = sigmoid(read[0] + kept[0]), sigmoid(read[1] + kept[1])
        candidate = np.tanh(read[2] + reset * kept[2])
        hidden = (1 - update) * candidate + update * hidden
        steps.append(hidden)
    return np.stack(steps)[:, None]


def lstm_on_cann(x: Array) -> Array:
    """Return Y of DynamicRNN, of the gates i, o, f, c."""
    w, r, b = LSTM["W"][0], LSTM["R"][0], LSTM["B"][0].reshape(2, -1).sum(0)
    hidden = cell = np.zeros((BATCH, HIDDEN), np.float32)
    steps = []
    for step in x:
        i, o, f, c = np.split(step @ w.T + hidden @ r.T + b, 4, axis=1)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(c)
        hidden = sigmoid(o) * np.tanh(cell)
        steps.append(hidden)
    return np.stack(steps)[:, None]


def gru(opset: int = 13, **attributes: Any) -> DeviatingNode:
    given = {"hidden_size": HIDDEN, "linear_before_reset": 1, **attributes}
    return DeviatingNode("GRU", opset, (X,), given, GRU)


def lstm(opset: int = 13, more: dict[str, Array] | None = None, **attributes: Any) -> DeviatingNode:
    order = ("x0", "W", "R", "B", *(("", "", "", "P") if more else ()))
    return DeviatingNode(
        "LSTM", opset, (X,), {"hidden_size": HIDDEN, **attributes}, {**LSTM, **(more or {})}, order
    )


for _generation in (5, 9):
    deviation(
        DeviationCase(
            "GRU/reverse-as-forward",
            _generation,
            gru(direction="reverse"),
            gru(direction="forward"),
            gru_on_cann,
        )
    )
    deviation(
        DeviationCase(
            "GRU/reset-after-product", _generation, gru(linear_before_reset=0), gru(), gru_on_cann
        )
    )
    deviation(
        DeviationCase(
            "GRU/activations-ignored",
            _generation,
            gru(activations=["HardSigmoid", "Softsign"], activation_alpha=[0.3]),
            gru(activations=["sigmoid", "tanh"]),
            gru_on_cann,
        )
    )
    deviation(
        DeviationCase(
            "GRU/layout-ignored",
            _generation,
            gru(14, layout=1),
            gru(14, layout=0),
            None,
        )
    )
    deviation(
        DeviationCase(
            "LSTM/layout-ignored",
            _generation,
            lstm(14, layout=1),
            lstm(14, layout=0),
            None,
        )
    )
    deviation(DeviationCase("GRU/clip-ignored", _generation, gru(clip=0.2), gru(), gru_on_cann))
    deviation(
        DeviationCase(
            "LSTM/activations-ignored",
            _generation,
            lstm(activations=["Sigmoid", "Tanh", "Relu"]),
            lstm(activations=["Sigmoid", "Tanh", "Tanh"]),
            lstm_on_cann,
        )
    )
    deviation(DeviationCase("LSTM/clip-ignored", _generation, lstm(clip=0.2), lstm(), lstm_on_cann))
    deviation(
        DeviationCase(
            "LSTM/input-forget-ignored",
            _generation,
            lstm(input_forget=1),
            lstm(input_forget=0),
            lstm_on_cann,
        )
    )
    deviation(
        DeviationCase(
            "LSTM/peepholes-ignored", _generation, lstm(more=PEEPHOLES), lstm(), lstm_on_cann
        )
    )

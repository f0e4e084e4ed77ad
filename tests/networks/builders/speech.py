"""A streaming speech recognizer: convolutions, LSTM in both directions, GRU, log-probabilities."""

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from tests.networks.builders.graph import Net

Array = npt.NDArray[Any]


BATCH, FRAMES, BANDS = 2, 48, 80
CHANNELS, REDUCED, HIDDEN, TOKENS = 8, 4, 24, 20
STEPS, WIDTH = FRAMES // REDUCED, CHANNELS * BANDS // REDUCED


def build_speech_model(opset: int = 12, seed: int = 1) -> onnx.ModelProto:
    """Build features [2, 48, 80], lengths [2], states -> log-probabilities, tokens, new states.

    Lengths count frames; a step of the layers stands for four. States have the shape
    [directions, 2, 24].
    """
    net = Net("speech", opset, seed)
    features = net.input("features", np.float32, [BATCH, FRAMES, BANDS])
    lengths = net.input("lengths", np.int64, [BATCH])
    states = [
        net.input(name, np.float32, [directions, BATCH, HIDDEN])
        for name, directions in (("h_in", 2), ("c_in", 2), ("g_in", 1))
    ]
    x = _front_end(net, features)
    # PyTorch rounds up where a stride cuts; lengths that are not multiples of four tell.
    steps = net.op("Div", net.op("Add", lengths, net.longs(REDUCED - 1)), net.longs(REDUCED))
    steps = net.op("Cast", steps, to=6)
    x, units, cells = _lstm(net, x, steps, states[0], states[1])
    x, last = _gru(net, x, states[2])
    scores = net.linear(x, HIDDEN, TOKENS, scale=2.0)
    logs = net.op("LogSoftmax", scores, axis=2)
    net.output("log_probabilities", logs, np.float32, [STEPS, BATCH, TOKENS])
    tokens = net.op("ArgMax", logs, axis=2, keepdims=0)
    net.output("tokens", tokens, np.int64, [STEPS, BATCH])
    net.output("h_out", units, np.float32, [2, BATCH, HIDDEN])
    net.output("c_out", cells, np.float32, [2, BATCH, HIDDEN])
    net.output("g_out", last, np.float32, [1, BATCH, HIDDEN])
    return net.model()


def _front_end(net: Net, features: str) -> str:
    """Return normalized features, two convolutions of stride 2, a linear layer: [steps, 2, 24]."""
    mean, deviation = net.weights(BANDS, scale=0.5), net.const(net.random.uniform(1, 2, BANDS))
    x = net.op("Div", net.op("Sub", features, mean), deviation)
    x = net.unsqueeze(x, 1)
    x = net.conv_bn_relu(x, (1, CHANNELS), 3, 2)
    x = net.conv_bn_relu(x, (CHANNELS, CHANNELS), 3, 2)
    x = net.op("Transpose", x, perm=[0, 2, 1, 3])
    x = net.view(x, net.dim(x, 0), net.dim(x, 1), WIDTH)
    x = net.op("Relu", net.linear(x, WIDTH, HIDDEN))
    return net.op("Transpose", x, perm=[1, 0, 2])


def _lstm(net: Net, x: str, steps: str, units: str, cells: str) -> tuple[str, str, str]:
    """Return both directions side by side [steps, 2, 48], and the last states."""
    spread, wide = HIDDEN**-0.5, 4 * HIDDEN
    y, *last = net.ops(
        "LSTM",
        x,
        net.weights(2, wide, HIDDEN, scale=spread),
        net.weights(2, wide, HIDDEN, scale=spread),
        net.weights(2, 2 * wide, scale=0.1),
        steps,
        units,
        cells,
        count=3,
        direction="bidirectional",
        hidden_size=HIDDEN,
    )
    y = net.op("Transpose", y, perm=[0, 2, 1, 3])
    return net.op("Reshape", y, net.longs(0, 0, -1)), last[0], last[1]


def _gru(net: Net, x: str, state: str) -> tuple[str, str]:
    """Return results [steps, 2, 24] and the last state, with the reset gate after the product."""
    wide = 3 * HIDDEN
    y, last = net.ops(
        "GRU",
        x,
        net.weights(1, wide, 2 * HIDDEN, scale=(2 * HIDDEN) ** -0.5),
        net.weights(1, wide, HIDDEN, scale=HIDDEN**-0.5),
        net.weights(1, 2 * wide, scale=0.1),
        "",
        state,
        count=2,
        hidden_size=HIDDEN,
        linear_before_reset=1,
    )
    return net.squeeze(y, 1), last


def utterances(lengths: tuple[int, int], seed: int) -> dict[str, Array]:
    """Return two utterances of so many frames, then silence, with states of an earlier part."""
    random = np.random.default_rng(seed)
    # Speech is slow: neighboring frames are alike.
    steps = random.standard_normal((BATCH, FRAMES, BANDS)) * 1.5
    features = np.cumsum(steps, axis=1) / np.sqrt(np.arange(1, FRAMES + 1))[:, None]
    for row, length in enumerate(lengths):
        features[row, length:] = 0
    states = {
        name: random.uniform(-0.9, 0.9, (directions, BATCH, HIDDEN)).astype(np.float32)
        for name, directions in (("h_in", 2), ("c_in", 2), ("g_in", 1))
    }
    return {
        "features": features.astype(np.float32),
        "lengths": np.array(lengths, np.int64),
        **states,
    }

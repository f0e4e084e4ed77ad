"""Recurrent layers on the device: what their type rules refuse, and what CANN has beyond ONNX."""

from typing import Any

import numpy as np
import pytest

from atc_py.tensor.dtypes import DType
from tests.device.models import Array, random_array, run_operator
from tests.device.nodes import refusal

F32 = DType.FLOAT32
STEPS, BATCH, WIDTH, HIDDEN = 4, 2, 3, 5
X = random_array(1, (STEPS, BATCH, WIDTH))
W, R = random_array(2, (1, 20, WIDTH)), random_array(3, (1, 20, HIDDEN))
BOTH = random_array(4, (WIDTH + HIDDEN, 20))
LAYER: dict[str, Any] = {
    "hidden_size": HIDDEN,
    "activations": "sigmoid,tanh,tanh",
    "activation_alpha": [0.0] * 3,
    "activation_beta": [0.0] * 3,
}
WHOLE = [(F32, (STEPS, 1, BATCH, HIDDEN)), (F32, (1, BATCH, HIDDEN)), (F32, (1, BATCH, HIDDEN))]
PART = [(F32, (STEPS, BATCH, HIDDEN))] * 3


@pytest.mark.parametrize(
    ("inputs", "attributes", "words"),
    [
        ([X[0], W, R], {}, "x must have 3 axes"),
        ([X, W[:, :, :2], R], {}, "input 1 must have shape [1, 20, 3]"),
        ([X, W, R, None, np.array([4], np.int32)], {}, "input 4 must have shape [2]"),
        ([X, W, R, None, np.array([4, 4], np.int64)], {}, "lengths must be int32, found int64"),
        ([X, W.astype(np.float64), R], {}, "inputs must have the same dtype"),
        ([X, W, R], {"direction": "sideways"}, "direction must be one of forward"),
        ([X, W, R], {"activations": "sigmoid,tanh"}, "the same length, found 2, 3 and 3"),
        ([X, W, R], {"activations": "sigmoid,tanh,gelu"}, "no activation is called 'gelu'"),
        (
            [X, W, R],
            {"activations": "tanh", "activation_alpha": [0.0], "activation_beta": [0.0]},
            "3 activations are needed, found 1",
        ),
    ],
)
def test_a_bad_layer_is_refused(
    inputs: list[Array | None], attributes: dict[str, Any], words: str
) -> None:
    assert words in refusal("CommonLSTM", inputs, WHOLE, {**LAYER, **attributes})


@pytest.mark.parametrize(
    ("inputs", "attributes", "words"),
    [
        ([X, BOTH[:-1], BOTH[0]], {}, "input 1 must have shape [8, 20]"),
        ([X, BOTH, BOTH[0, :5]], {}, "input 2 must have shape [20]"),
        ([X, BOTH, BOTH[0]], {"gate_order": "ifjo"}, "gate_order must be 'ijfo'"),
        ([X, BOTH, BOTH[0]], {"activation": "relu"}, "activation must be 'tanh'"),
        ([X, BOTH, BOTH[0]], {"cell_clip": 1.0}, "cell_clip must be -1.0"),
        ([X, BOTH, BOTH[0]], {"direction": "forward"}, "direction must be UNIDIRECTIONAL or"),
        ([X, BOTH, BOTH[0], None, None, None, BOTH[0]], {}, "peepholes and mask are not read"),
    ],
)
def test_a_bad_layer_of_one_direction_is_refused(
    inputs: list[Array | None], attributes: dict[str, Any], words: str
) -> None:
    assert words in refusal("DynamicRNN", inputs, PART, attributes)


def test_gates_are_not_returned() -> None:
    assert "at most 3 outputs" in refusal("DynamicRNN", [X, BOTH, BOTH[0]], PART * 2, {})
    gru = [X, BOTH[:WIDTH, :15], BOTH[:HIDDEN, :15]]
    assert "at most 2 outputs" in refusal("DynamicGRUV2", gru, PART, {})


def test_gru_holds_its_weights_to_its_state() -> None:
    gru = [X, BOTH[:WIDTH, :15], BOTH[:HIDDEN, :12]]
    assert "input 2 must have shape [5, 15]" in refusal("DynamicGRUV2", gru, PART[:2], {})


def test_the_forget_bias_is_added_to_the_forget_gate() -> None:
    bias, biased = BOTH[0], BOTH[0].copy()
    biased[2 * HIDDEN : 3 * HIDDEN] += np.float32(0.75)
    found, *_ = run_operator("DynamicRNN", [X, BOTH, bias], PART, {"forget_bias": 0.75})
    expected, *_ = run_operator("DynamicRNN", [X, BOTH, biased], PART)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_infinite_gates_saturate() -> None:
    bias = np.full(20, np.inf, np.float32)
    found, *_ = run_operator("DynamicRNN", [X, BOTH, bias], PART)
    assert found[-1, 0, 0] == pytest.approx(np.tanh(STEPS))
    bias[:] = -np.inf
    found, *_ = run_operator("DynamicRNN", [X, BOTH, bias], PART)
    assert not found.any()

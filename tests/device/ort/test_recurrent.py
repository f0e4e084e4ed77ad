"""Recurrent layers as ONNX: one direction, layers as graphs state them, lengths and activations."""

from typing import Any

import numpy as np
import pytest

from atc_py.device.ort.model import emulate
from atc_py.diag import AtcError
from atc_py.tensor.dtypes import DType
from tests.device.models import Array, random_array, run_model
from tests.device.ort.apart import apart, model_of
from tests.device.ort.twin import run_on_ort
from tests.sampling import sampled

STEPS, BATCH, WIDTH, HIDDEN = 6, 3, 4, 5
LENGTHS = np.array([6, 0, 3], np.int32)
FLOATS = sampled([DType.FLOAT32, DType.FLOAT16], [DType.BFLOAT16, DType.FLOAT64])

NEAR = {
    DType.FLOAT32: 1e-6, DType.FLOAT16: 1e-3, DType.BFLOAT16: 8e-3, DType.FLOAT64: 1e-14,
}  # fmt: skip
"""Largest difference as a share of the largest magnitude: of 16-bit floats one in the last place."""

ACTIVATIONS = (
    "affine", "elu", "hardsigmoid", "leakyrelu", "relu", "scaledtanh", "sigmoid", "softplus",
    "softsign", "tanh", "thresholdedrelu",
)  # fmt: skip


def small(seed: int, shape: tuple[int, ...], dtype: DType) -> Array:
    """Return numbers with which no layer grows without bound."""
    numbers: Array = random_array(seed, shape) * np.float32(0.3)
    return numbers.astype(dtype.numpy)


def lstm_inputs(dtype: DType, *, lengths: bool, states: bool) -> list[Array | None]:
    """Return operands of DynamicRNN."""
    state = (1, BATCH, HIDDEN)
    return [
        random_array(1, (STEPS, BATCH, WIDTH), dtype),
        small(2, (WIDTH + HIDDEN, 4 * HIDDEN), dtype),
        small(3, (4 * HIDDEN,), dtype),
        LENGTHS if lengths else None,
        *([random_array(4, state, dtype), random_array(5, state, dtype)] if states else []),
    ]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("direction", ["UNIDIRECTIONAL", "REDIRECTIONAL"])
@pytest.mark.parametrize("read", [(0,), (0, 1), (0, 1, 2), (2,)])
@pytest.mark.parametrize("lengths", [False, True])
def test_lstm(dtype: DType, direction: str, read: tuple[int, ...], lengths: bool) -> None:
    inputs = lstm_inputs(dtype, lengths=lengths, states=lengths)
    outputs = [(dtype, (STEPS, BATCH, HIDDEN))] * 3
    for constants in ((), (1, 2)):
        attributes: dict[str, Any] = {"direction": direction, "forget_bias": 0.5}
        distance = apart("DynamicRNN", inputs, outputs, attributes, constants=constants, read=read)
        assert distance <= NEAR[dtype]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("direction", ["UNIDIRECTIONAL", "REDIRECTIONAL"])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("biases", [0, 1, 2])
def test_gru(dtype: DType, direction: str, after: bool, lengths: bool, biases: int) -> None:
    wide = 3 * HIDDEN
    inputs: list[Array | None] = [
        random_array(1, (STEPS, BATCH, WIDTH), dtype),
        small(2, (WIDTH, wide), dtype),
        small(3, (HIDDEN, wide), dtype),
        small(4, (wide,), dtype) if biases else None,
        small(5, (wide,), dtype) if biases > 1 else None,
        LENGTHS if lengths else None,
        *([random_array(6, (1, BATCH, HIDDEN), dtype)] if lengths else []),
    ]
    outputs = [(dtype, (STEPS, BATCH, HIDDEN))] * 2
    attributes: dict[str, Any] = {"direction": direction, "reset_after": after}
    for constants, read in (((), (0, 1)), ((1, 2), (0,))):
        distance = apart(
            "DynamicGRUV2", inputs, outputs, attributes, constants=constants, read=read
        )
        assert distance <= NEAR[dtype]


def layer(
    gates: int, dtype: DType, directions: int, steps: int = STEPS
) -> tuple[list[Array], list[Array], list[tuple[DType, tuple[int, ...]]]]:
    """Return x, w, r and b of a whole layer; its states; and its results."""
    wide, state = gates * HIDDEN, (directions, BATCH, HIDDEN)
    operands = [
        random_array(1, (steps, BATCH, WIDTH), dtype),
        small(2, (directions, wide, WIDTH), dtype),
        small(3, (directions, wide, HIDDEN), dtype),
        small(4, (directions, 2 * wide), dtype),
    ]
    states = [random_array(seed, state, dtype) for seed in range(5, 3 + gates)]
    types: list[tuple[DType, tuple[int, ...]]] = [(dtype, (steps, *state))]
    return operands, states, types + [(dtype, state)] * len(states)


def attributes_of(names: list[str], direction: str, **others: Any) -> dict[str, Any]:
    """Return the attributes of a whole layer."""
    return {
        "hidden_size": HIDDEN,
        "activations": ",".join(names),
        "activation_alpha": [0.2] * len(names) if names[0] != "sigmoid" else [0.0] * len(names),
        "activation_beta": [0.5] * len(names) if names[0] != "sigmoid" else [0.0] * len(names),
        "direction": direction,
        **others,
    }


@pytest.mark.parametrize("dtype", sampled([DType.FLOAT16], [DType.FLOAT32, DType.FLOAT64]))
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("steps", sampled([STEPS], [0]))
@pytest.mark.parametrize("option", [0, 1])
@pytest.mark.parametrize("clip", [-1.0, 0.6])
def test_whole_layers(dtype: DType, direction: str, steps: int, option: int, clip: float) -> None:
    directions = 2 if direction == "bidirectional" else 1
    lengths = np.minimum(LENGTHS, steps).astype(np.int32)
    peepholes = small(9, (directions, 3 * HIDDEN), dtype)
    for gates, op, name in (
        (4, "CommonLSTM", "input_forget"),
        (3, "CommonGRU", "linear_before_reset"),
    ):
        operands, states, types = layer(gates, dtype, directions, steps)
        usual = (["sigmoid"] + ["tanh"] * (gates - 2)) * directions
        attributes = attributes_of(usual, direction, clip=clip, **{name: option})
        bare: list[Array | None] = [*operands[:3]]
        full = [*operands, lengths, *states, *([peepholes] if gates == 4 else [])]
        for inputs in (bare, full):
            assert apart(op, inputs, types, attributes) <= NEAR[dtype]


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_whole_layers_with_other_activations(activation: str) -> None:
    for gates, op in ((4, "CommonLSTM"), (3, "CommonGRU")):
        for dtype in (DType.FLOAT32, DType.FLOAT64):
            operands, states, types = layer(gates, dtype, 1)
            attributes = attributes_of([activation] * (gates - 1), "forward")
            inputs: list[Array | None] = [*operands, LENGTHS, *states]
            assert apart(op, inputs, types, attributes) <= 20 * NEAR[dtype]


@pytest.mark.parametrize("op", ["CommonLSTM", "CommonGRU"])
def test_a_whole_layer_without_steps_has_the_states_that_it_began_with(op: str) -> None:
    operands, states, types = layer(4 if op == "CommonLSTM" else 3, DType.FLOAT32, 2, 0)
    usual = (["sigmoid"] + ["tanh"] * len(states)) * 2
    inputs = [*operands, None, *states]
    assert apart(op, inputs, types, attributes_of(usual, "bidirectional")) == 0


@pytest.mark.parametrize(
    ("read", "lengths", "op_type"),
    [
        ((0,), True, "LSTM"),
        ((0, 1), False, "LSTM"),
        ((0, 1), True, "Scan"),
        ((0, 2), False, "Scan"),
    ],
)
def test_onnx_has_an_operator_unless_a_state_is_read(
    read: tuple[int, ...], lengths: bool, op_type: str
) -> None:
    inputs = lstm_inputs(DType.FLOAT16, lengths=lengths, states=False)
    outputs = [(DType.FLOAT16, (STEPS, BATCH, HIDDEN))] * 3
    model, _ = model_of("DynamicRNN", inputs, outputs, constants=(1, 2), read=read)
    found = {node.op_type for node in emulate(model, flat=True).nodes}
    assert op_type in found
    (function,) = emulate(model, flat=False).functions
    assert len(function.output) == (3 if op_type == "Scan" else len(read))


@pytest.mark.parametrize("length", [-1, STEPS + 1])
def test_lengths_beyond_the_steps_stop_the_run(length: int) -> None:
    inputs = lstm_inputs(DType.FLOAT32, lengths=True, states=False)
    inputs[3] = np.array([STEPS, length, 3], np.int32)
    outputs = [(DType.FLOAT32, (STEPS, BATCH, HIDDEN))] * 3
    model, feeds = model_of("DynamicRNN", inputs, outputs)
    for run in (run_model, run_on_ort):
        with pytest.raises(AtcError):
            run(model, feeds)

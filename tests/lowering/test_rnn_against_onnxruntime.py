"""Recurrent layers in every form, through the whole compiler, against onnxruntime.

onnxruntime has no float64 layers; those are compared with the definition, written out below.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.diag import AtcError
from tests.end_to_end import one_node_model, run_with_atc_py, run_with_onnxruntime
from tests.sampling import examples

Array = npt.NDArray[Any]

KEEP = "must_keep_origin_dtype"
RELATIVE = {KEEP: 2e-5, "force_fp16": 4e-3}
"""Share of the results' range: of float32, and of float16, whose step is 1e-3 below 1, for gates,
states and weights that are rounded to it and a few steps in which errors add up."""

_LOGISTIC = 1.6e-7
"""Error of onnxruntime's sigmoid, a rational function: 1.53e-7 at most over [-16, 16], so that of
results of 5e-5, as gates at -10 make them, it has three digits right."""

GATES = {"LSTM": 4, "GRU": 3}
FUNCTIONS = {"LSTM": 3, "GRU": 2}
NAMES = {
    "LSTM": ("x", "w", "r", "b", "lengths", "h", "c", "p"),
    "GRU": ("x", "w", "r", "b", "lengths", "h"),
}
ACTIVATIONS = (
    "Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh",
    "HardSigmoid", "Elu", "Softsign", "Softplus",
)  # fmt: skip
OTHER_DEFAULTS = {"Affine", "ScaledTanh", "ThresholdedRelu"}
"""For which onnxruntime has alphas and betas of 0 where ONNX's operators have others."""


@dataclass
class Layer:
    """A model of one layer and what it is fed."""

    op: str
    opset: int
    operands: dict[str, Array]
    attributes: dict[str, Any] = field(default_factory=dict)
    fed: tuple[str, ...] = ("x",)

    @property
    def feeds(self) -> dict[str, Array]:
        return {name: self.operands[name] for name in self.fed}

    def model(self) -> onnx.ModelProto:
        constants = {name: a for name, a in self.operands.items() if name not in self.fed}
        order = [name if name in self.operands else "" for name in NAMES[self.op]]
        while not order[-1]:
            order.pop()
        return one_node_model(
            self.op, self.feeds, self.opset, constants=constants, order=order,
            outputs=FUNCTIONS[self.op], **self.attributes,
        )  # fmt: skip


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> Array:
    """Return normal numbers of a standard deviation."""
    generator = np.random.default_rng([seed, *shape])
    numbers: Array = np.float32(scale) * generator.standard_normal(shape, dtype=np.float32)
    return numbers


def run(layer: Layer, mode: str) -> dict[str, Array]:
    with tempfile.TemporaryDirectory() as folder:
        return run_with_atc_py(layer.model(), layer.feeds, Path(folder), precision_mode=mode)


def agree(layer: Layer, mode: str) -> None:
    """Check that both give the same results, to a share of their range."""
    expected = run_with_onnxruntime(layer.model(), layer.feeds)
    compare(run(layer, mode), expected, RELATIVE[mode], _LOGISTIC)


def compare(
    found: dict[str, Array], expected: dict[str, Array], relative: float, least: float = 0
) -> None:
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        scale = float(np.abs(array).max(initial=0))
        atol = max(relative * scale, least)
        np.testing.assert_allclose(found[name], array, rtol=0, atol=atol)


@st.composite
def layers(draw: st.DrawFn, op: str) -> Layer:
    """Return sizes, operands and attributes of every kind."""
    steps, batch, width, hidden = (draw(st.integers(1, most)) for most in (5, 3, 4, 4))
    direction = draw(st.sampled_from(["forward", "reverse", "bidirectional"]))
    count, wide = 1 + (direction == "bidirectional"), GATES[op] * hidden
    all_operands: dict[str, Array] = {
        "x": normal(steps, batch, width),
        "w": normal(count, wide, width, scale=0.4),
        "r": normal(count, wide, hidden, seed=1, scale=0.4),
        "b": normal(count, 2 * wide, seed=2, scale=0.4),
        "lengths": np.array(draw(st.lists(st.integers(0, steps), min_size=batch, max_size=batch)),
                            np.int32),
        "h": normal(count, batch, hidden, seed=3),
        "c": normal(count, batch, hidden, seed=4),
        "p": normal(count, 3 * hidden, seed=5, scale=0.4),
    }  # fmt: skip
    optional = draw(st.sets(st.sampled_from(NAMES[op][3:])))
    operands = {n: a for n, a in all_operands.items() if n in {"x", "w", "r", *optional}}
    attributes: dict[str, Any] = {"hidden_size": hidden, "direction": direction}
    if draw(st.booleans()):
        attributes["clip"] = draw(st.sampled_from([0.1, 0.7, 5.0]))
    name = "input_forget" if op == "LSTM" else "linear_before_reset"
    if draw(st.booleans()):
        attributes[name] = draw(st.integers(0, 1))
    fed = draw(st.sampled_from([("x",), ("x", "w"), tuple(operands)]))
    return Layer(op, draw(st.sampled_from([8, 11, 13])), operands, attributes, fed)


@given(layers("LSTM"), st.sampled_from([KEEP, "force_fp16"]))
def test_lstm(layer: Layer, mode: str) -> None:
    agree(layer, mode)


@given(layers("GRU"), st.sampled_from([KEEP, "force_fp16"]))
def test_gru(layer: Layer, mode: str) -> None:
    agree(layer, mode)


@given(layers("GRU"), st.lists(st.sampled_from(ACTIVATIONS), min_size=4, max_size=4), st.data())
@examples(25)
def test_gru_activations(layer: Layer, names: list[str], data: st.DataObject) -> None:
    _activate(layer, names, data)
    agree(layer, KEEP)


@given(layers("LSTM"), st.lists(st.sampled_from(ACTIVATIONS), min_size=6, max_size=6), st.data())
@examples(25)
def test_lstm_activations(layer: Layer, names: list[str], data: st.DataObject) -> None:
    _activate(layer, names, data)
    agree(layer, KEEP)


def _activate(layer: Layer, names: list[str], data: st.DataObject) -> None:
    """Give a layer activations, and alphas and betas for all, some or none of them."""
    chosen = names[: FUNCTIONS[layer.op] * len(layer.operands["w"])]
    layer.attributes["activations"] = chosen
    least = len(chosen) if OTHER_DEFAULTS & set(chosen) else 0
    numbers = st.lists(st.sampled_from([0.25, 0.5, 0.75]), min_size=least, max_size=6)
    for name in ("activation_alpha", "activation_beta"):
        given_ = data.draw(numbers)
        if given_:
            layer.attributes[name] = given_


@pytest.mark.parametrize(
    ("name", "define"),
    [
        ("Affine", lambda x: x),
        ("ScaledTanh", np.tanh),
        ("ThresholdedRelu", lambda x: np.where(x >= 1, x, 0)),
        ("HardSigmoid", lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
    ],
    ids=lambda item: item if isinstance(item, str) else "",
)
def test_activations_by_default_are_those_of_the_operators(
    name: str, define: Callable[[Array], Array]
) -> None:
    x, w = normal(1, 7, 4), normal(1, 9, 4)
    layer = Layer("GRU", 13, {"x": x, "w": w, "r": np.zeros((1, 9, 3), np.float32)})
    layer.attributes = {"hidden_size": 3, "activations": ["Sigmoid", name]}
    update, _, new = np.split(x[0] @ w[0].T, 3, axis=1)
    expected = (1 - sigmoid(update)) * define(new)
    np.testing.assert_allclose(run(layer, KEEP)["y1"][0], expected, rtol=1e-5, atol=1e-6)


def test_layer_without_steps_returns_its_initial_state() -> None:
    # Without steps onnxruntime returns zeros for LSTM, and ends for GRU.
    for op, gates in GATES.items():
        operands: dict[str, Array] = {
            "x": normal(0, 2, 3),
            "w": normal(1, gates * 4, 3),
            "r": normal(1, gates * 4, 4),
            "h": normal(1, 2, 4),
        }
        found = run(Layer(op, 13, operands, {"hidden_size": 4}), KEEP)
        assert found["y0"].shape == (0, 1, 2, 4)
        np.testing.assert_array_equal(found["y1"], operands["h"])


@pytest.mark.parametrize("op", ["LSTM", "GRU"])
@pytest.mark.parametrize("fed", [("x",), ("x", "w", "h")])
def test_layer_with_the_batch_first(op: str, fed: tuple[str, ...]) -> None:
    operands: dict[str, Array] = {
        "x": normal(2, 4, 3),
        "w": normal(1, GATES[op] * 5, 3),
        "r": normal(1, GATES[op] * 5, 5),
        "h": normal(2, 1, 5),
        "c": normal(2, 1, 5, seed=2),
    }
    if op == "GRU":
        del operands["c"]
    layer = Layer(op, 14, operands, {"hidden_size": 5, "layout": 1}, fed)
    turned = {name: a.swapaxes(0, 1).copy() if name in "xhc" else a for name, a in operands.items()}
    plain = Layer(op, 13, turned, {"hidden_size": 5}, fed)
    y, *states = run_with_onnxruntime(plain.model(), plain.feeds).values()
    expected = [y.transpose(2, 0, 1, 3), *(state.swapaxes(0, 1) for state in states)]
    named = {f"y{i}": array for i, array in enumerate(expected)}
    compare(run(layer, KEEP), named, RELATIVE[KEEP], _LOGISTIC)


@pytest.mark.parametrize("op", ["LSTM", "GRU"])
@pytest.mark.parametrize("fed", [("x",), ("x", "r")])
def test_only_the_last_state_is_asked_for(op: str, fed: tuple[str, ...]) -> None:
    g = GATES[op] * 4
    operands = {"x": normal(3, 2, 5), "w": normal(2, g, 5), "r": normal(2, g, 4)}
    layer = Layer(op, 13, operands, {"hidden_size": 4, "direction": "bidirectional"}, fed)
    model = layer.model()
    expected = {"y1": run_with_onnxruntime(model, layer.feeds)["y1"]}
    del model.graph.node[0].output[2:]
    model.graph.node[0].output[0] = ""
    kept = next(output for output in model.graph.output if output.name == "y1")
    del model.graph.output[:]
    model.graph.output.append(kept)
    with tempfile.TemporaryDirectory() as folder:
        found = run_with_atc_py(model, layer.feeds, Path(folder), precision_mode=KEEP)
    compare(found, expected, RELATIVE[KEEP], _LOGISTIC)


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B1"])
@pytest.mark.parametrize("mode", [KEEP, "force_fp16"])
def test_layers_run_with_and_without_a_cube_for_float32(soc: str, mode: str) -> None:
    for op in ("LSTM", "GRU"):
        layer = Layer(op, 13, _typed(op, np.float32), {"hidden_size": 3})
        expected = run_with_onnxruntime(layer.model(), layer.feeds)
        with tempfile.TemporaryDirectory() as folder:
            options = {"precision_mode": mode, "soc": soc}
            found = run_with_atc_py(layer.model(), layer.feeds, Path(folder), **options)
        compare(found, expected, RELATIVE[mode], _LOGISTIC)


# float64 and float16 ----------------------------------------------------------------------------


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def lstm_in_float64(o: dict[str, Array], *, reverse: bool) -> tuple[Array, ...]:
    """Return ONNX's definition for one direction without options: Y, Y_h and Y_c."""
    w, r, b = o["w"][0], o["r"][0], o["b"][0]
    h, c = o["h"][0], o["c"][0]
    y = np.zeros((len(o["x"]), *h.shape))
    for t in range(len(o["x"]))[:: -1 if reverse else 1]:
        gates = o["x"][t] @ w.T + h @ r.T + b[: len(w)] + b[len(w) :]
        i, out, f, new = np.split(gates, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(new)
        y[t] = h = sigmoid(out) * np.tanh(c)
    return y[:, None], h[None], c[None]


def gru_in_float64(o: dict[str, Array], *, reverse: bool) -> tuple[Array, ...]:
    """Return ONNX's definition for one direction without options: Y and Y_h."""
    (wz, wr, wh), (rz, rr, rh) = np.split(o["w"][0], 3), np.split(o["r"][0], 3)
    bz, br, bh, cz, cr, ch = np.split(o["b"][0], 6)
    h = o["h"][0]
    y = np.zeros((len(o["x"]), *h.shape))
    for t in range(len(o["x"]))[:: -1 if reverse else 1]:
        x = o["x"][t]
        z, reset = (sigmoid(x @ w.T + h @ u.T + b + c)
                    for w, u, b, c in ((wz, rz, bz, cz), (wr, rr, br, cr)))  # fmt: skip
        new = np.tanh(x @ wh.T + (reset * h) @ rh.T + ch + bh)
        y[t] = h = (1 - z) * new + z * h
    return y[:, None], h[None]


def _typed(op: str, dtype: type[Any]) -> dict[str, Array]:
    """Return operands of a layer of one direction, but for lengths and peepholes."""
    g = GATES[op] * 3
    shapes = {"x": (4, 2, 5), "w": (1, g, 5), "r": (1, g, 3), "b": (1, 2 * g), "h": (1, 2, 3)}
    if op == "LSTM":
        shapes["c"] = (1, 2, 3)
    return {
        n: normal(*s, seed=i, scale=0.5).astype(dtype) for i, (n, s) in enumerate(shapes.items())
    }


@pytest.mark.parametrize("op", ["LSTM", "GRU"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("mode", [KEEP, "force_fp16"])
@pytest.mark.parametrize("weights", ["constant", "fed"])
def test_layer_of_float64_stays_in_float64(op: str, reverse: bool, mode: str, weights: str) -> None:
    operands = _typed(op, np.float64)
    direction = "reverse" if reverse else "forward"
    fed = ("x",) if weights == "constant" else tuple(operands)
    layer = Layer(op, 11, operands, {"hidden_size": 3, "direction": direction}, fed)
    define = lstm_in_float64 if op == "LSTM" else gru_in_float64
    expected = dict(zip(("y0", "y1", "y2"), define(operands, reverse=reverse), strict=False))
    compare(run(layer, mode), expected, 1e-14)


@pytest.mark.parametrize("op", ["LSTM", "GRU"])
@pytest.mark.parametrize("mode", [KEEP, "force_fp16"])
def test_layer_of_float16_gives_float16(op: str, mode: str) -> None:
    operands = _typed(op, np.float16)
    layer = Layer(op, 13, operands, {"hidden_size": 3})
    wide = {name: array.astype(np.float64) for name, array in operands.items()}
    define = lstm_in_float64 if op == "LSTM" else gru_in_float64
    results = define(wide, reverse=False)
    expected = {f"y{i}": array.astype(np.float16) for i, array in enumerate(results)}
    compare(run(layer, mode), expected, RELATIVE["force_fp16"])


# What is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"activations": ["Tanh"]}, "needs 3 activations, found 1"),
        ({"activations": ["Tanh", "Sigmoid", "Gelu"]}, "found 'gelu'"),
        ({"hidden_size": 4}, "W of shape [1, 12, 5] where [1, 16, 5]"),
    ],
    ids=["count", "name", "shape"],
)
def test_a_layer_that_contradicts_itself_is_refused(attributes: dict[str, Any], words: str) -> None:
    layer = Layer("LSTM", 13, _typed("LSTM", np.float32), {"hidden_size": 3, **attributes})
    with pytest.raises(AtcError) as caught:
        run(layer, KEEP)
    assert any(words in diagnostic.message for diagnostic in caught.value.diagnostics)


@pytest.mark.parametrize("op", ["LSTM", "GRU"])
def test_lengths_beyond_the_sequence_stop_the_run(op: str) -> None:
    operands = {**_typed(op, np.float32), "lengths": np.array([2, 5], np.int32)}
    with pytest.raises(AtcError) as caught:
        run(Layer(op, 13, operands, {"hidden_size": 3}, ("x", "lengths")), KEEP)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code.name == "device-run-failed"
    assert "sequence lengths must be in [0, 4], found [2, 5]" in diagnostic.message

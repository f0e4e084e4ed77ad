"""Recurrent layers: LSTM and GRU, in one direction or as graphs state them."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, Launch, bound_kernel, kernel
from atc_py.device.sim.primitives.cells import (
    GateRule,
    Peepholes,
    Sequences,
    StateWeights,
    read_activations,
    run_gru,
    run_lstm,
    sigmoid,
)
from atc_py.device.sim.typing_rules import one_dtype, require_float, require_rank, require_shapes
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

Array = NDArray[Any]


_IJFO = (0, 3, 2, 1)
"""Positions of i, o, f and c (which CANN calls j) in a gate order of "ijfo"."""

_DIRECTIONS = {"UNIDIRECTIONAL": False, "REDIRECTIONAL": True}
_LAYERS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
"""Which of a layer's directions are reversed."""


def _check_operands(node: NodeView, lengths: int, wanted: Mapping[int, Shape]) -> None:
    require_float(node.x)
    others = (facts for position, facts in enumerate(node.inputs) if position != lengths and facts)
    one_dtype(others)
    given = node.input(lengths)
    if given is not None and given.dtype is not DType.INT32:
        text = Text("sequence lengths must be int32, found {found}")
        raise NodeError(text.with_values(found=given.dtype.value))
    require_shapes(node, wanted)


def _expect_one_direction(node: NodeView) -> None:
    for name, value in (
        ("cell_depth", 1), ("keep_prob", 1.0), ("cell_clip", -1.0), ("num_proj", 0),
        ("time_major", True), ("activation", "tanh"),
    ):  # fmt: skip
        node.expect(name, value)
    if node.text("direction") not in _DIRECTIONS:
        known = " or ".join(_DIRECTIONS)
        text = Text("direction must be {known}, found {found}")
        raise NodeError(text.with_values(known=known, found=repr(node.text("direction"))))


def _count_outputs(node: NodeView, most: int) -> None:
    if len(node.outputs) > most:
        text = Text("gates cannot be outputs; at most {most} outputs are allowed")
        raise NodeError(text.with_values(most=most))


# One direction ----------------------------------------------------------------------------------


def _dynamic_rnn_types(node: NodeView) -> tuple[TensorFacts, ...]:
    _expect_one_direction(node)
    node.expect("cell_type", "LSTM")
    node.expect("use_peephole", allowed=False)
    node.expect("gate_order", "ijfo")
    require_rank(node.x, 3, "x")
    require_rank(node.required(1), 2, "w")
    _count_outputs(node, 3)
    if any(node.input(position) is not None for position in range(6, 10)):
        raise NodeError(Text("peepholes and mask are not read on this device"))
    steps, batch, width = node.x.shape
    hidden = node.required(1).shape[1] // 4
    state = (1, batch, hidden)
    shapes = {1: (width + hidden, 4 * hidden), 2: (4 * hidden,), 3: (batch,), 4: state, 5: state}
    _check_operands(node, 3, shapes)
    return (TensorFacts(node.x.dtype, (steps, batch, hidden)),) * len(node.outputs)


@bound_kernel("DynamicRNN", _dynamic_rnn_types)
def dynamic_rnn(call: Call) -> Launch:
    """Compute `y`, and `output_h` and `output_c` after each step; see `run_lstm` for formulas.

    Weights that do not change are turned once.
    """
    batch, width = call.x.shape[1:]
    from_state = call.memoized(1, lambda: StateWeights.of(call.input(1)[width:].T, batch))

    def run() -> None:
        weights = call.input(1)[:width].T, from_state(), call.input(2)
        reverse = _DIRECTIONS[call.node.text("direction")]
        sequences = Sequences(call.x, call.optional(3), reverse, call.workers, call.workspace)
        state = (_part(call.optional(4), 0), _part(call.optional(5), 0))
        rule = GateRule(
            (sigmoid, np.tanh, np.tanh), forget_bias=call.node.number("forget_bias"), order=_IJFO
        )
        run_lstm(sequences, weights, state, rule, None, call.outputs)

    return run


def _dynamic_gru_types(node: NodeView) -> tuple[TensorFacts, ...]:
    _expect_one_direction(node)
    node.expect("gate_order", "zrh")
    require_rank(node.x, 3, "x")
    require_rank(node.required(2), 2, "weight_hidden")
    _count_outputs(node, 2)
    steps, batch, width = node.x.shape
    hidden = node.required(2).shape[0]
    wide = 3 * hidden
    shapes = {
        1: (width, wide), 2: (hidden, wide), 3: (wide,), 4: (wide,), 5: (batch,),
        6: (1, batch, hidden),
    }  # fmt: skip
    _check_operands(node, 5, shapes)
    return (TensorFacts(node.x.dtype, (steps, batch, hidden)),) * len(node.outputs)


@bound_kernel("DynamicGRUV2", _dynamic_gru_types)
def dynamic_gru(call: Call) -> Launch:
    """Compute `y`, and `output_h` after each step; `run_gru` has the formulas.

    Weights that do not change are turned once.
    """
    batch = call.x.shape[1]
    from_state = call.memoized(2, lambda: StateWeights.of(call.input(2).T, batch))

    def run() -> None:
        weights = call.input(1).T, from_state(), call.optional(3), call.optional(4)
        reverse = _DIRECTIONS[call.node.text("direction")]
        sequences = Sequences(call.x, call.optional(5), reverse, call.workers, call.workspace)
        rule = GateRule((sigmoid, np.tanh), reset_after=call.node.flag("reset_after"))
        run_gru(sequences, weights, _part(call.optional(6), 0), rule, call.outputs)

    return run


# Layers -----------------------------------------------------------------------------------------


def _layer_types(node: NodeView, gates: int, functions: int) -> tuple[TensorFacts, ...]:
    """[steps, directions, batch, hidden], then states [directions, batch, hidden]."""
    require_rank(node.x, 3, "x")
    if node.text("direction") not in _LAYERS:
        found = node.text("direction")
        text = Text("direction must be one of {known}, found {found}")
        raise NodeError(text.with_values(known=", ".join(_LAYERS), found=repr(found)))
    steps, batch, width = node.x.shape
    count, hidden = len(_LAYERS[node.text("direction")]), node.integer("hidden_size")
    rules = _activations(node)
    if len(rules) != functions * count:
        text = Text("{n} activations are needed, found {found}")
        raise NodeError(text.with_values(n=functions * count, found=len(rules)))
    wide, state = gates * hidden, (count, batch, hidden)
    shapes: dict[int, Shape] = {
        1: (count, wide, width), 2: (count, wide, hidden), 3: (count, 2 * wide), 4: (batch,),
        5: state, 6: state, 7: (count, 3 * hidden),
    }  # fmt: skip
    _check_operands(node, 4, shapes)
    results = ((steps, *state), *(state,) * (functions - 1))
    return tuple(TensorFacts(node.x.dtype, shape) for shape in results)


def _activations(node: NodeView) -> list[Any]:
    names = [name for name in node.text("activations").split(",") if name]
    alphas, betas = (node.attributes[f"activation_{name}"] for name in ("alpha", "beta"))
    wide = np.float64 if node.x.dtype is DType.FLOAT64 else np.float32
    return read_activations(names, alphas, betas, wide)  # type: ignore[arg-type]  # floats


def _rule(call: Call, direction: int, functions: int) -> GateRule:
    node = call.node
    chosen = _activations(node)[direction * functions :][:functions]
    clip = node.number("clip")
    return GateRule(
        tuple(chosen),
        clip=clip if clip > 0 else None,
        coupled=bool(node.attributes.get("input_forget", 0)),
        reset_after=bool(node.attributes.get("linear_before_reset", 0)),
    )


def _part(array: Array | None, direction: int) -> Array | None:
    return None if array is None else array[direction]


@kernel("CommonLSTM", partial(_layer_types, gates=4, functions=3))
def common_lstm(call: Call) -> None:
    """Apply `run_lstm` in each direction; `y_h` and `y_c` are the states after the last step."""
    y, *last = call.outputs
    hidden = call.node.integer("hidden_size")
    for direction, reverse in enumerate(_LAYERS[call.node.text("direction")]):
        bias, p = _part(call.optional(3), direction), _part(call.optional(7), direction)
        if bias is not None:
            bias = bias[: 4 * hidden] + bias[4 * hidden :]
        from_state = StateWeights.of(call.input(2)[direction], call.x.shape[1])
        weights = call.input(1)[direction], from_state, bias
        state = _part(call.optional(5), direction), _part(call.optional(6), direction)
        sequences = Sequences(call.x, call.optional(4), reverse, call.workers, call.workspace)
        peepholes = None if p is None else Peepholes(*p.reshape(3, hidden))
        rule = _rule(call, direction, 3)
        states = run_lstm(sequences, weights, state, rule, peepholes, [y[:, direction]])
        for output, part in zip(last, states, strict=True):
            output[direction] = part


@kernel("CommonGRU", partial(_layer_types, gates=3, functions=2))
def common_gru(call: Call) -> None:
    """Apply `run_gru` in each direction; `y_h` is the state after the last step."""
    y, last = call.outputs
    hidden = call.node.integer("hidden_size")
    for direction, reverse in enumerate(_LAYERS[call.node.text("direction")]):
        bias, state = _part(call.optional(3), direction), _part(call.optional(5), direction)
        biases = (None, None) if bias is None else tuple(bias.reshape(2, 3 * hidden))
        from_state = StateWeights.of(call.input(2)[direction], call.x.shape[1])
        weights = call.input(1)[direction], from_state, biases[0], biases[1]
        sequences = Sequences(call.x, call.optional(4), reverse, call.workers, call.workspace)
        rule = _rule(call, direction, 2)
        last[direction] = run_gru(sequences, weights, state, rule, [y[:, direction]])

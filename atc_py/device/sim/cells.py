"""Recurrent cells: a layer of LSTM or GRU in one direction, step by step.

What a layer does with the sequence as a whole is one matrix product before the first step; a step
is one product with the state and arithmetic in place. Formulas: ONNX's definitions of LSTM and
GRU. A sequence that is shorter than the longest of its batch stops at its own length: its results
behind that are 0 and its state stays. One of length 0 has the state 0, whatever it began with, as
in onnxruntime; ONNX does not say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from atc_py.device.sim.activations import Activation

    Array = NDArray[Any]

__all__ = ["Peepholes", "Rule", "Sequences", "run_gru", "run_lstm"]


@dataclass(frozen=True, slots=True)
class Rule:
    """How gates are computed.

    Attributes:
        activations: of LSTM f, g and h, of GRU f and g.
        clip: bound on the magnitude of what goes into the gates' activations, or None.
        coupled: LSTM: the forget gate is 1 minus the input gate.
        reset_after: GRU: the reset gate is applied behind the product with the state.
        forget_bias: LSTM: added to the forget gate.
        order: LSTM: where the gates i, o, f and c stand among the weights' columns.
    """

    activations: tuple[Activation, ...]
    clip: float | None = None
    coupled: bool = False
    reset_after: bool = False
    forget_bias: float = 0.0
    order: tuple[int, ...] = (0, 1, 2, 3)

    def bounded(self, gate: Array) -> Array:
        """`gate` held to the clip, in place."""
        if self.clip is not None:
            np.clip(gate, -self.clip, self.clip, out=gate)
        return gate


@dataclass(frozen=True, slots=True)
class Peepholes:
    """LSTM: weights [hidden] by which the cell's state enters the three gates."""

    into_input: Array
    into_output: Array
    into_forget: Array


@dataclass(frozen=True, slots=True)
class Sequences:
    """What a layer runs over.

    Attributes:
        x: [steps, batch, input].
        lengths: [batch], or None when all sequences are as long as x.
        reverse: from the last step to the first.
    """

    x: Array
    lengths: Array | None
    reverse: bool

    def start(self, state: Array | None, hidden: int) -> Array:
        """The state [batch, hidden] before the first step, a copy."""
        batch = self.x.shape[1]
        if state is None:
            return np.zeros((batch, hidden), self.x.dtype)
        if self.lengths is None:
            return np.array(state)
        begun: Array = np.where((self.lengths > 0)[:, None], state, state.dtype.type(0))
        return begun

    def steps(self) -> Iterator[tuple[int, Array | None]]:
        """Steps in order; with each, where sequences still run [batch, 1], None for everywhere."""
        count, lengths = len(self.x), self.lengths
        if lengths is not None and np.any((lengths < 0) | (lengths > count)):
            raise ValueError(f"sequence lengths must be in [0, {count}], found {lengths.tolist()}")
        for step in reversed(range(count)) if self.reverse else range(count):
            running = None if lengths is None else (lengths > step)[:, None]
            yield step, None if running is None or running.all() else running

    def times(self, weights: Array, bias: Array | None) -> Array:
        """`x` times weights [input, n] plus bias [n], for all steps at once."""
        steps, batch, width = self.x.shape
        product: Array = self.x.reshape(steps * batch, width) @ weights
        if bias is not None:
            product += bias
        return product.reshape(steps, batch, -1)


def run_lstm(
    sequences: Sequences,
    weights: tuple[Array, Array, Array | None],
    state: tuple[Array | None, Array | None],
    rule: Rule,
    peepholes: Peepholes | None,
    out: Array,
) -> Iterator[tuple[int, Array, Array]]:
    """Run a layer; results go to `out` [steps, batch, hidden].

    Args:
        sequences: the input.
        weights: of the input [input, 4 hidden], of the state [hidden, 4 hidden], and a bias
            [4 hidden] or None.
        state: of the hidden units and of the cells [batch, hidden], None for 0.
        rule: how gates are computed.
        peepholes: or None.
        out: what each step gives, 0 behind a sequence's end.

    Yields:
        Each step with the states behind it.
    """
    from_input, from_state, bias = weights
    hidden = len(from_state)
    f, g, h = rule.activations
    gates_of_x = sequences.times(from_input, bias)
    units, cells = (sequences.start(part, hidden) for part in state)
    for step, running in sequences.steps():
        gates = units @ from_state
        gates += gates_of_x[step]
        into, outward, forget, new = (gates[:, at * hidden :][:, :hidden] for at in rule.order)
        if rule.forget_bias:
            forget += forget.dtype.type(rule.forget_bias)
        if peepholes is not None:
            into += peepholes.into_input * cells
            forget += peepholes.into_forget * cells
        kept = f(rule.bounded(into))
        left = 1 - kept if rule.coupled else f(rule.bounded(forget))
        next_cells = left * cells + kept * g(rule.bounded(new))
        if peepholes is not None:
            outward += peepholes.into_output * next_cells
        next_units = f(rule.bounded(outward)) * h(next_cells)
        out[step] = next_units if running is None else np.where(running, next_units, 0)
        units, cells = _moved(running, next_units, units), _moved(running, next_cells, cells)
        yield step, units, cells


def run_gru(
    sequences: Sequences,
    weights: tuple[Array, Array, Array | None, Array | None],
    state: Array | None,
    rule: Rule,
    out: Array,
) -> Iterator[tuple[int, Array]]:
    """Run a layer; results go to `out` [steps, batch, hidden].

    Args:
        sequences: the input.
        weights: of the input [input, 3 hidden] and of the state [hidden, 3 hidden], and their
            biases [3 hidden] or None; gates in the order z, r, h.
        state: of the hidden units [batch, hidden], None for 0.
        rule: how gates are computed.
        out: what each step gives, 0 behind a sequence's end.

    Yields:
        Each step with the state behind it.
    """
    from_input, from_state, bias, state_bias = weights
    hidden = len(from_state)
    f, g = rule.activations
    gates_of_x = sequences.times(from_input, bias)
    if state_bias is None:
        state_bias = np.zeros(3 * hidden, out.dtype)
    early, late = from_state[:, : 2 * hidden], from_state[:, 2 * hidden :]
    early_bias, late_bias = state_bias[: 2 * hidden], state_bias[2 * hidden :]
    units = sequences.start(state, hidden)
    for step, running in sequences.steps():
        gates = units @ early
        gates += gates_of_x[step, :, : 2 * hidden] + early_bias
        update, reset = f(rule.bounded(gates[:, :hidden])), f(rule.bounded(gates[:, hidden:]))
        if rule.reset_after:
            new = reset * (units @ late + late_bias)
        else:
            new = (reset * units) @ late + late_bias
        new += gates_of_x[step, :, 2 * hidden :]
        next_units = (1 - update) * g(rule.bounded(new)) + update * units
        out[step] = next_units if running is None else np.where(running, next_units, 0)
        units = _moved(running, next_units, units)
        yield step, units


def _moved(running: Array | None, after: Array, before: Array) -> Array:
    """The state behind a step: where a sequence has ended, what it was before."""
    return after if running is None else np.where(running, after, before)

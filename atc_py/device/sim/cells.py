"""Recurrent cells: a layer of LSTM or GRU in one direction, step by step.

What a layer does with the sequence as a whole is one matrix product before the first step; a step
is one product with the state and arithmetic in place. Formulas: ONNX's definitions of LSTM and
GRU. A sequence that is shorter than the longest of its batch stops at its own length: its results
behind that are 0 and its state stays. One of length 0 has the state 0, whatever it began with, as
in onnxruntime; ONNX does not say.

States and gates are [units, batch] here: the weights are then the left matrix of the product,
which BLAS reads as they lie instead of packing them anew in every step, and each gate is one
piece of memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.device.sim.parallel import PRODUCTS_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from atc_py.device.sim.activations import Activation
    from atc_py.device.sim.parallel import Workers

    Array = NDArray[Any]

__all__ = ["Peepholes", "Rule", "Sequences", "run_gru", "run_lstm"]

_ZRH = (0, 1, 2)
"""The order of a GRU's gates, here as everywhere."""

_COLUMNS_AT_ONCE = 8
"""Columns of a matrix in Fortran order that are turned at once: whole lines of the cache are read,
and as many written as it holds. All columns at once take four times as long."""

_PRODUCTS_IN_PLACE = 1_000_000
"""Multiplications up to which OpenBLAS multiplies small matrices as they lie."""


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
        workers: threads to share the input's product with.
    """

    x: Array
    lengths: Array | None
    reverse: bool
    workers: Workers

    def start(self, state: Array | None, hidden: int) -> Array:
        """The state [batch, hidden] before the first step as [hidden, batch], a copy."""
        batch = self.x.shape[1]
        if state is None:
            return np.zeros((hidden, batch), self.x.dtype)
        if self.lengths is None:
            return np.array(state.T, order="C")
        begun: Array = np.where(self.lengths > 0, state.T, state.dtype.type(0))
        return begun

    def steps(self) -> Iterator[tuple[int, Array | None]]:
        """Steps in order; with each, where sequences still run [batch], None for everywhere."""
        count, lengths = len(self.x), self.lengths
        if lengths is not None and np.any((lengths < 0) | (lengths > count)):
            raise ValueError(f"sequence lengths must be in [0, {count}], found {lengths.tolist()}")
        for step in reversed(range(count)) if self.reverse else range(count):
            running = None if lengths is None else lengths > step
            yield step, None if running is None or running.all() else running

    def times(self, weights: Array, bias: Array, order: tuple[int, ...]) -> Array:
        """What the input adds to the gates: weights times the input of each step, plus bias.

        Args:
            weights: [gates * hidden, input].
            bias: [gates * hidden].
            order: where each gate of the result stands among those of the weights.

        Returns:
            [steps, gates * hidden, batch].
        """
        steps, batch, width = self.x.shape
        inputs = self.x.reshape(steps * batch, width)
        product = np.empty((len(inputs), len(weights)), self.x.dtype)

        def part(start: int, stop: int) -> None:
            np.matmul(inputs[start:stop], weights.T, out=product[start:stop])
            np.add(product[start:stop], bias, out=product[start:stop])

        self.workers.split(len(inputs), part, least=PRODUCTS_AT_ONCE // max(weights.size, 1) + 1)
        gates = product.reshape(steps, batch, len(order), -1)
        result = np.empty((steps, len(order), gates.shape[3], batch), self.x.dtype)
        for target, source in enumerate(order):
            result[:, target] = gates[:, :, source].swapaxes(1, 2)
        return result.reshape(steps, -1, batch)


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
        weights: of the input [4 hidden, input], of the state [4 hidden, hidden], and a bias
            [4 hidden] or None.
        state: of the hidden units and of the cells [batch, hidden], None for 0.
        rule: how gates are computed.
        peepholes: or None.
        out: what each step gives, 0 behind a sequence's end.

    Yields:
        Each step with the states behind it, [batch, hidden], good until the next step.
    """
    from_input, from_state, given = weights
    hidden = from_state.shape[1]
    bias = np.zeros(4 * hidden, out.dtype) if given is None else np.array(given)
    bias[rule.order[2] * hidden :][:hidden] += out.dtype.type(rule.forget_bias)
    from_state = _in_order(from_state, rule.order)
    gates_of_x = sequences.times(from_input, bias, rule.order)
    units, cells = (sequences.start(part, hidden) for part in state)
    cell = _LstmCell(rule, peepholes, np.empty(gates_of_x.shape[1:], out.dtype))
    for step, running in sequences.steps():
        _multiply(from_state, units, cell.gates)
        np.add(cell.gates, gates_of_x[step], out=cell.gates)
        next_units, next_cells = cell.step(cells)
        out[step] = _where_running(running, next_units).T
        units, cells = _moved(running, next_units, units), _moved(running, next_cells, cells)
        yield step, units.T, cells.T


def _in_order(weights: Array, order: tuple[int, ...]) -> Array:
    """A copy in C order of weights [gates * hidden, n] whose gate k is the one at order[k]."""
    result = np.empty(weights.shape, weights.dtype)
    wide = weights.shape[1] if weights.flags.c_contiguous else _COLUMNS_AT_ONCE
    gates = result.reshape(len(order), -1, weights.shape[1])
    sources = weights.reshape(gates.shape)
    for gate, at in zip(gates, order, strict=True):
        for start in range(0, weights.shape[1], wide):
            gate[:, start : start + wide] = sources[at, :, start : start + wide]
    return result


@dataclass(frozen=True, slots=True)
class _LstmCell:
    """Arithmetic of one step.

    Attributes:
        rule: how gates are computed.
        peepholes: or None.
        gates: [4 hidden, batch], what goes into the gates i, o, f, c; a step writes over it.
    """

    rule: Rule
    peepholes: Peepholes | None
    gates: Array

    def step(self, cells: Array) -> tuple[Array, Array]:
        """Units and cells [hidden, batch] behind the step, from the cells before it."""
        f, g, h = self.rule.activations
        hidden, bounded = len(cells), self.rule.bounded
        new = g(bounded(self.gates[3 * hidden :]))
        if self.peepholes is None:
            opened = f(bounded(self.gates[: 3 * hidden]))
            kept, outward, left = (opened[at * hidden :][:hidden] for at in range(3))
        else:
            kept, outward, left = self._peeping(self.peepholes, cells)
        if self.rule.coupled:
            left = 1 - kept
        next_cells = left * cells
        np.multiply(kept, new, out=new)
        np.add(next_cells, new, out=next_cells)
        if self.peepholes is not None:
            outward += self.peepholes.into_output[:, None] * next_cells
            outward = f(bounded(outward))
        return np.multiply(outward, h(next_cells)), next_cells

    def _peeping(self, peepholes: Peepholes, cells: Array) -> tuple[Array, Array, Array]:
        """The input gate, what goes into the output gate so far, and the forget gate."""
        f, hidden, bounded = self.rule.activations[0], len(cells), self.rule.bounded
        into, outward, forget = (self.gates[at * hidden :][:hidden] for at in range(3))
        into += peepholes.into_input[:, None] * cells
        forget += peepholes.into_forget[:, None] * cells
        return f(bounded(into)), outward, f(bounded(forget))


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
        weights: of the input [3 hidden, input] and of the state [3 hidden, hidden], and their
            biases [3 hidden] or None; gates in the order z, r, h.
        state: of the hidden units [batch, hidden], None for 0.
        rule: how gates are computed.
        out: what each step gives, 0 behind a sequence's end.

    Yields:
        Each step with the state behind it, [batch, hidden], good until the next step.
    """
    from_input, from_state, *biases = weights
    hidden = from_state.shape[1]
    bias, state_bias = (
        np.zeros(3 * hidden, out.dtype) if part is None else np.array(part) for part in biases
    )
    bias[: 2 * hidden] += state_bias[: 2 * hidden]
    gates_of_x = sequences.times(from_input, bias, _ZRH)
    late_bias, gates = state_bias[2 * hidden :, None], np.empty(gates_of_x.shape[1:], out.dtype)
    cell = _GruCell(rule, _in_order(from_state, _ZRH), late_bias, gates)
    units = sequences.start(state, hidden)
    for step, running in sequences.steps():
        next_units = cell.step(gates_of_x[step], units)
        out[step] = _where_running(running, next_units).T
        units = _moved(running, next_units, units)
        yield step, units.T


@dataclass(frozen=True, slots=True)
class _GruCell:
    """Arithmetic of one step.

    Attributes:
        rule: how gates are computed.
        weights: of the state [3 hidden, hidden], gates in the order z, r, h.
        late_bias: of the state for the gate h [hidden, 1]; the other gates' come with the input.
        gates: [3 hidden, batch], what the state adds; a step writes over it.
    """

    rule: Rule
    weights: Array
    late_bias: Array
    gates: Array

    def step(self, gates_of_x: Array, units: Array) -> Array:
        """Units [hidden, batch] behind the step, from those before it."""
        f, g = self.rule.activations
        hidden, bounded = len(units), self.rule.bounded
        early, late = self.gates[: 2 * hidden], self.gates[2 * hidden :]
        if self.rule.reset_after:
            _multiply(self.weights, units, self.gates)
        else:
            _multiply(self.weights[: 2 * hidden], units, early)
        np.add(early, gates_of_x[: 2 * hidden], out=early)
        opened = f(bounded(early))
        update, reset = opened[:hidden], opened[hidden:]
        if self.rule.reset_after:
            np.add(late, self.late_bias, out=late)
            np.multiply(late, reset, out=late)
        else:
            _multiply(self.weights[2 * hidden :], np.multiply(reset, units, out=reset), late)
            np.add(late, self.late_bias, out=late)
        np.add(late, gates_of_x[2 * hidden :], out=late)
        new = g(bounded(late))
        change = units - new
        np.multiply(change, update, out=change)
        np.add(change, new, out=change)
        return change


def _multiply(weights: Array, state: Array, out: Array) -> None:
    """`out = weights @ state`, in as many pieces of the weights as make BLAS multiply in place.

    Beyond a size it first packs its operands, which here takes longer than the product itself.
    """
    rows, hidden = weights.shape
    pieces = 1
    while rows // pieces * out.shape[1] * hidden > _PRODUCTS_IN_PLACE and rows % (2 * pieces) == 0:
        pieces *= 2
    stacked = weights.reshape(pieces, rows // pieces, hidden)
    np.matmul(stacked, state, out=out.reshape(*stacked.shape[:2], out.shape[1]))


def _where_running(running: Array | None, after: Array) -> Array:
    """The results of a step [units, batch]: 0 where a sequence has ended."""
    return after if running is None else np.where(running, after, 0)


def _moved(running: Array | None, after: Array, before: Array) -> Array:
    """The state behind a step: where a sequence has ended, what it was before."""
    return after if running is None else np.where(running, after, before)

"""Recurrent cells: a layer of LSTM or GRU in one direction, step by step.

What a layer does with the sequence as a whole is one matrix product before the first step; a step
is one product with the state and arithmetic in place. Formulas: ONNX's definitions of LSTM and
GRU. A sequence that is shorter than the longest of its batch stops at its own length: its results
after that are 0 and its state stays. One of length 0 has the state 0, whatever it began with, as
in onnxruntime; ONNX does not say.

Gates are [gates, batch, units] here: the state is multiplied with the weights of each gate, small
matrices that BLAS reads as they are instead of packing them anew in every step, and each gate is
one piece of memory. Gates keep the order of the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.device.formulas import GATES, Term, trace
from atc_py.device.sim.execution.parallel import PRODUCTS_AT_ONCE, ROWS_TOGETHER, Workers, rows_of
from atc_py.device.sim.kernel import Workspace
from atc_py.package.node_view import NodeError
from atc_py.text import Text, all_of

Array = NDArray[Any]


_PRODUCTS_IN_PLACE = 1_000_000
"""Multiplications up to which OpenBLAS multiplies small matrices as they are stored."""

_COLUMNS_AT_ONCE = 8
"""Columns of a matrix that are turned at once: whole lines of the cache are read, and as many
written as it holds. All columns at once take four times as long."""


Activation: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], object]
"""A function that fills its second operand, which may be the first."""

_ONES = {np.dtype(kind): np.ones((), kind) for kind in (np.float32, np.float64)}
"""1 by dtype, as arrays: of a number numpy makes one in every call."""


def sigmoid(x: NDArray[Any], out: NDArray[Any]) -> None:
    """`1 / (1 + e^-x)`."""
    one = _ONES[x.dtype]
    np.negative(x, out)
    np.exp(out, out)
    np.add(out, one, out)
    np.divide(one, out, out)


_IN_PLACE: dict[str, Activation] = {"sigmoid": sigmoid, "tanh": np.tanh}
"""The usual ones, which a layer computes in every step."""

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "expm1 of negative": np.expm1,
    "softplus": lambda x: np.logaddexp(x, x.dtype.type(0)),
    "where": np.where,
}
"""Functions of formulas that numpy has not by their name, or not with numbers of any dtype."""


def read_activations(
    names: Sequence[str], alphas: Sequence[float], betas: Sequence[float], dtype: Any
) -> list[Activation]:
    """The functions called `names`, each with its alpha and beta."""
    if not len(names) == len(alphas) == len(betas):
        counts = all_of(str(len(given)) for given in (names, alphas, betas))
        text = Text("activations, alphas and betas must have the same length, found {found}")
        raise NodeError(text.with_values(found=counts))
    unknown = [name for name in names if name.lower() not in GATES]
    if unknown:
        text = Text("no activation is called {name}; known are {known}")
        raise NodeError(text.with_values(name=repr(unknown[0]), known=", ".join(GATES)))
    with np.errstate(over="ignore"):  # numbers beyond the dtype are infinite
        return [
            _activation(name.lower(), alpha, beta, np.dtype(dtype).type)
            for name, alpha, beta in zip(names, alphas, betas, strict=True)
        ]


def _activation(name: str, alpha: float, beta: float, real: Any) -> Activation:
    if name in _IN_PLACE:
        return _IN_PLACE[name]
    term, steps = trace(lambda x: GATES[name](x, alpha, beta))
    calls = [
        (
            _FUNCTIONS.get(step.function) or getattr(np, step.function),
            [each if isinstance(each, Term) else real(each) for each in step.operands],
            step.result,
        )
        for step in steps
    ]

    def apply(x: NDArray[Any], out: NDArray[Any]) -> None:
        values = {term: x}
        for function, operands, result in calls:
            values[result] = function(*(values.get(operand, operand) for operand in operands))
        np.copyto(out, values[calls[-1][2]])

    return apply


class GateRule(msgspec.Struct, frozen=True):
    """The rule by which gates are computed."""

    activations: tuple[Activation, ...]  # of LSTM f, g and h, of GRU f and g
    # bound on the magnitude of what goes into the gates' activations, or None
    clip: float | None = None
    coupled: bool = False  # LSTM: the forget gate is 1 minus the input gate
    reset_after: bool = False  # GRU: the reset gate is applied after the product with the state
    forget_bias: float = 0.0  # LSTM: added to the forget gate
    # LSTM: where the gates i, o, f and c stand among the weights' gates
    order: tuple[int, ...] = (0, 1, 2, 3)

    def bounded(self, gate: Array) -> Array:
        """`gate` held to the clip, in place."""
        if self.clip is not None:
            np.clip(gate, -self.clip, self.clip, out=gate)
        return gate


class Peepholes(msgspec.Struct, frozen=True):
    """LSTM: weights [hidden] by which the cell's state enters the three gates."""

    into_input: Array
    into_output: Array
    into_forget: Array


class Sequences(msgspec.Struct, frozen=True):
    """The sequences that a layer runs over."""

    x: Array  # [steps, batch, input]
    lengths: Array | None  # [batch], or None when all sequences are as long as x
    reverse: bool  # from the last step to the first
    workers: Workers  # threads to share the input's product with
    workspace: Workspace

    def start(self, state: Array | None, hidden: int) -> Array:
        """The state [batch, hidden] before the first step, a copy."""
        if state is None:
            return np.zeros((self.x.shape[1], hidden), self.x.dtype)
        if self.lengths is None:
            return np.array(state, order="C")
        begun: Array = np.where((self.lengths > 0)[:, None], state, state.dtype.type(0))
        return begun

    def steps(self) -> Iterator[tuple[int, Array | None]]:
        """Yield steps in order, with where sequences still run [batch, 1], None if everywhere."""
        count, lengths = len(self.x), self.lengths
        if lengths is not None and np.any((lengths < 0) | (lengths > count)):
            text = Text("sequence lengths must be in [0, {count}], found {found}")
            raise ValueError(text.with_values(count=count, found=lengths.tolist()))
        for step in reversed(range(count)) if self.reverse else range(count):
            running = None if lengths is None else lengths > step
            yield step, None if running is None or running.all() else running[:, None]

    def times(self, weights: Array, bias: Array, gates: int) -> Array:
        """Share of the input in the gates: weights times each step's input, plus bias.

        `weights` are [gates * hidden, input], `bias` [gates * hidden].

        Returns:
            [steps, gates, batch, hidden], good until the next layer.
        """
        steps, batch, width = self.x.shape
        inputs = self.x.reshape(steps * batch, width)
        product = self.workspace.lines("of x", (len(inputs), len(weights)), self.x.dtype)

        def part(start: int, stop: int) -> None:
            rows = rows_of(len(inputs), start, stop)
            np.matmul(inputs[rows], weights.T, out=product[rows])
            np.add(product[rows], bias, out=product[rows])

        pieces = max(1, len(inputs) // ROWS_TOGETHER)
        least = -(-pieces * PRODUCTS_AT_ONCE // max(inputs.size * len(weights), 1))
        self.workers.split(pieces, part, least)
        by_gate = product.reshape(steps, batch, gates, len(weights) // gates).swapaxes(1, 2)
        result = self.workspace.take("gates of x", by_gate.shape, self.x.dtype)
        np.copyto(result, by_gate)
        return result


def run_lstm(
    sequences: Sequences,
    weights: tuple[Array, StateWeights, Array | None],
    state: tuple[Array | None, Array | None],
    rule: GateRule,
    peepholes: Peepholes | None,
    outputs: Sequence[Array],
) -> tuple[Array, Array]:
    """Run a layer and return the states of the hidden units and of the cells after it.

    Args:
        sequences: the input.
        weights: of the input [4 hidden, input], of the state, and a bias [4 hidden] or None.
        state: of the hidden units and of the cells [batch, hidden], None for 0.
        rule: how gates are computed.
        peepholes: or None.
        outputs: what each step gives, 0 after a sequence's end, and maybe the two states after each
            step; all [steps, batch, hidden], to fill.
    """
    from_input, from_state, given = weights
    out, *kept = outputs
    hidden = from_state.weights.shape[2]
    bias = np.zeros(4 * hidden, out.dtype) if given is None else np.array(given)
    bias[rule.order[2] * hidden :][:hidden] += out.dtype.type(rule.forget_bias)
    gates_of_x = sequences.times(from_input, bias, 4)
    units, cells = (sequences.start(part, hidden) for part in state)
    # The cells after a step are written beside those before it, or where they are wanted.
    places = kept[1] if len(kept) > 1 else np.empty((2, *cells.shape), out.dtype)
    cell = _LstmCell(rule, peepholes, *np.empty((2, *gates_of_x.shape[1:]), out.dtype))
    product = from_state.onto(cell.gates)
    for step, running in sequences.steps():
        product.fill(units)
        np.add(cell.gates, gates_of_x[step], cell.gates)
        then, next_cells = out[step], places[step % len(places)]
        cell.step(cells, then, next_cells)
        if running is None:
            units, cells = then, next_cells
        else:
            units, cells = _stopped(running, then, units), np.where(running, next_cells, cells)
        if sequences.lengths is not None:
            for states, part in zip(kept, (units, cells), strict=False):
                states[step] = part
    if kept and sequences.lengths is None:
        np.copyto(kept[0], out)
    return units, cells


class StateWeights(msgspec.Struct, frozen=True):
    """Weights that the state is multiplied by, in as many pieces as BLAS likes.

    Beyond a size BLAS first packs its operands, which here takes longer than the product itself.
    """

    weights: Array  # [gates, pieces, hidden, hidden / pieces], a copy

    @staticmethod
    def of(weights: Array, batch: int) -> StateWeights:
        """Of weights [gates * hidden, hidden]."""
        hidden, pieces = weights.shape[1], 1
        while (
            batch * hidden * (hidden // pieces) > _PRODUCTS_IN_PLACE and hidden % (2 * pieces) == 0
        ):
            pieces *= 2
        source = weights.reshape(-1, pieces, hidden // pieces, hidden).swapaxes(2, 3)
        copy = np.empty(source.shape, source.dtype)
        wide = hidden if source.strides[3] == source.itemsize else _COLUMNS_AT_ONCE
        for start in range(0, source.shape[3], wide):
            copy[..., start : start + wide] = source[..., start : start + wide]
        return StateWeights(copy)

    def onto(self, gates: Array, first: int = 0) -> _StateProduct:
        """The product that fills `gates` [gates, batch, hidden] from gate `first` on."""
        count, batch, hidden = gates.shape
        weights = self.weights[first : first + count]
        pieces = weights.shape[1]
        cut = gates.reshape(count, batch, pieces, hidden // pieces)
        return _StateProduct(weights, cut.swapaxes(1, 2))


class _StateProduct(msgspec.Struct, frozen=True):
    """A product of the state and the gates that it fills."""

    weights: Array  # [gates, pieces, hidden, hidden / pieces]
    gates: Array  # [gates, pieces, batch, hidden / pieces], a view of what is filled

    def fill(self, state: Array) -> None:
        np.matmul(state, self.weights, self.gates)


class _LstmCell(msgspec.Struct, frozen=True):
    """Arithmetic of one step."""

    rule: GateRule
    peepholes: Peepholes | None
    gates: Array  # [4, batch, hidden], what goes into the gates; a step writes over it
    opened: Array  # the same, for their activations

    def step(self, cells: Array, units: Array, next_cells: Array) -> None:
        """Fill units and cells [batch, hidden] after the step, from the cells before it."""
        (f, g, h), gates, opened = self.rule.activations, self.gates, self.opened
        kept, outward, left, new = (opened[at] for at in self.rule.order)
        if self.peepholes is None:
            f(self.rule.bounded(gates), opened)  # the gate c for nothing: one call instead of three
        else:
            self._open(self.peepholes, cells)
            self.rule.bounded(gates[self.rule.order[3]])
        g(gates[self.rule.order[3]], new)
        if self.rule.coupled:
            np.subtract(1, kept, left)
        np.multiply(left, cells, next_cells)
        np.multiply(kept, new, new)
        np.add(next_cells, new, next_cells)
        if self.peepholes is not None:
            np.add(gates[self.rule.order[1]], self.peepholes.into_output * next_cells, outward)
            f(self.rule.bounded(outward), outward)
        h(next_cells, units)
        np.multiply(outward, units, units)

    def _open(self, peepholes: Peepholes, cells: Array) -> None:
        """Open the input gate and the forget gate, into which the cells before the step go."""
        for at, weights in (
            (self.rule.order[0], peepholes.into_input),
            (self.rule.order[2], peepholes.into_forget),
        ):
            gate = self.gates[at]
            np.add(gate, weights * cells, gate)
            self.rule.activations[0](self.rule.bounded(gate), self.opened[at])


def run_gru(
    sequences: Sequences,
    weights: tuple[Array, StateWeights, Array | None, Array | None],
    state: Array | None,
    rule: GateRule,
    outputs: Sequence[Array],
) -> Array:
    """Run a layer and return the state of the hidden units after it.

    Args:
        sequences: the input.
        weights: of the input [3 hidden, input] and of the state, and their biases [3 hidden] or
            None; gates in the order z, r, h.
        state: of the hidden units [batch, hidden], None for 0.
        rule: how gates are computed.
        outputs: what each step gives, 0 after a sequence's end, and maybe the state after each
            step; all [steps, batch, hidden], to fill.
    """
    from_input, from_state, *biases = weights
    out, *kept = outputs
    hidden = from_state.weights.shape[2]
    bias, state_bias = (
        np.zeros(3 * hidden, out.dtype) if part is None else np.array(part) for part in biases
    )
    bias[: 2 * hidden] += state_bias[: 2 * hidden]
    gates_of_x = sequences.times(from_input, bias, 3)
    gates = np.empty(gates_of_x.shape[1:], out.dtype)
    late_bias = np.broadcast_to(state_bias[2 * hidden :], gates.shape[1:]).copy()
    split = 3 if rule.reset_after else 2  # the gate h takes another state
    early = from_state.onto(gates[:split])
    late = from_state.onto(gates[split:], split)
    cell = _GruCell(rule, early, late, late_bias, gates[:2], *gates)
    units = sequences.start(state, hidden)
    for step, running in sequences.steps():
        then = out[step]
        cell.step(gates_of_x[step], units, then)
        units = then if running is None else _stopped(running, then, units)
        if kept and sequences.lengths is not None:
            kept[0][step] = units
    if kept and sequences.lengths is None:
        np.copyto(kept[0], out)
    return units


class _GruCell(msgspec.Struct, frozen=True):
    """Arithmetic of one step, which writes over the gates [batch, hidden]."""

    rule: GateRule
    # the product of the state for the gates z and r, and h where that is reset after it
    early: _StateProduct
    late: _StateProduct  # that of the state that was reset, else
    late_bias: Array  # of the state for the gate h [batch, hidden]; the others' come with the input
    both: Array  # the gates z and r
    update: Array  # z
    reset: Array  # r
    new: Array  # h

    def step(self, gates_of_x: Array, units: Array, then: Array) -> None:
        """Fill `then` with the units [batch, hidden] after the step, from those before it."""
        (f, g), both, reset, new = self.rule.activations, self.both, self.reset, self.new
        self.early.fill(units)
        np.add(both, gates_of_x[:2], both)
        f(self.rule.bounded(both), both)
        if self.rule.reset_after:
            np.add(new, self.late_bias, new)
            np.multiply(new, reset, new)
        else:
            self.late.fill(np.multiply(reset, units, reset))
            np.add(new, self.late_bias, new)
        np.add(new, gates_of_x[2], new)
        g(self.rule.bounded(new), new)
        np.subtract(units, new, then)
        np.multiply(then, self.update, then)
        np.add(then, new, then)


def _stopped(running: Array, then: Array, units: Array) -> Array:
    """Zero what a step gives after a sequence's end; the units, which stay there as they were."""
    found: Array = np.where(running, then, units)
    np.copyto(then, 0, where=~running)
    return found

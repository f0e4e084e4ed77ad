"""Recurrent cells as the bodies of a Scan: one step of LSTM or GRU, any activations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from atc_py.device.formulas import GATES
from atc_py.device.ort.body import Body
from atc_py.device.ort.formulas import steps_of
from atc_py.tensor.dtypes import DType


@dataclass(frozen=True, slots=True)
class CellActivation:
    """An activation by ONNX's name, in small letters, with its parameters."""

    name: str
    alpha: float = 0.0
    beta: float = 0.0

    def of(self, body: Body, x: str) -> str:
        simple = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu"}
        if self.name in simple:
            return body.add(simple[self.name], x)
        return steps_of(body, x, lambda term: GATES[self.name](term, self.alpha, self.beta))


USUAL = (CellActivation("sigmoid"), CellActivation("tanh"), CellActivation("tanh"))
"""The activations f, g and h unless a model names others; of GRU the first two."""


@dataclass(frozen=True, slots=True)
class Gates:
    """The rule by which gates are computed."""

    dtype: DType
    activations: tuple[CellActivation, ...]  # f, g and h of LSTM, f and g of GRU
    # bound on the magnitude of what goes into the gates' activations, or None
    clip: float | None = None
    coupled: bool = False  # LSTM: the forget gate is 1 minus the input gate
    reset_after: bool = False  # GRU: the reset gate is applied after the product with the state

    def applied(self, body: Body, which: int, gate: str) -> str:
        """An activation of what goes into a gate, held to the clip."""
        if self.clip is not None:
            least, most = body.const(-self.clip, self.dtype), body.const(self.clip, self.dtype)
            gate = body.add("Clip", gate, least, most)
        return self.activations[which].of(body, gate)


@dataclass(frozen=True, slots=True)
class CellOperands:
    """Operands of a layer in one direction, in float32 or float64; empty where absent."""

    x: str  # [steps, batch, input]
    w: str  # [gates * hidden, input], gates in ONNX's order
    r: str  # [gates * hidden, hidden]
    b: str  # [2 * gates * hidden]
    lengths: str  # [batch], int32
    states: tuple[str, ...]  # of the units, and of the cells of LSTM [batch, hidden]
    p: str  # [3 * hidden]
    sizes: tuple[int, int, int]  # steps, batch, hidden
    reverse: bool  # from the last step to the first


def scan_lstm(body: Body, layer: CellOperands, gates: Gates) -> list[str]:
    """Write an LSTM in one direction.

    Returns:
        States of units and cells after the last step [batch, hidden]; results, which are 0 after a
        sequence's end, and both states after each step [steps, batch, hidden].
    """
    bias = ""
    if layer.b:
        halves = body.several("Split", 2, layer.b, num_outputs=2)
        bias = body.add("Add", *halves)
    of_x = _product(body, layer.x, layer.w, bias)
    weights = body.add("Transpose", layer.r, perm=(1, 0))
    peepholes = body.several("Split", 3, layer.p, num_outputs=3) if layer.p else []

    def step(inner: Body, state: Sequence[str], entered: str) -> list[str]:
        units, cells = state
        every = inner.add("Add", inner.add("MatMul", units, weights), entered)
        into, outward, forget, new = inner.several("Split", 4, every, axis=1, num_outputs=4)
        if peepholes:
            into = inner.add("Add", into, inner.add("Mul", peepholes[0], cells))
            forget = inner.add("Add", forget, inner.add("Mul", peepholes[2], cells))
        into, new = gates.applied(inner, 0, into), gates.applied(inner, 1, new)
        if gates.coupled:
            left = inner.add("Sub", inner.const(1, gates.dtype), into)
        else:
            left = gates.applied(inner, 0, forget)
        after = inner.add("Add", inner.add("Mul", left, cells), inner.add("Mul", into, new))
        if peepholes:
            outward = inner.add("Add", outward, inner.add("Mul", peepholes[1], after))
        outward = gates.applied(inner, 0, outward)
        seen = gates.activations[2].of(inner, after)
        return [inner.add("Mul", outward, seen), after]

    return _scan(body, layer, gates.dtype, of_x, step)


def scan_gru(body: Body, layer: CellOperands, gates: Gates) -> list[str]:
    """Write a GRU in one direction.

    Returns:
        The state after the last step [batch, hidden]; results, which are 0 after a sequence's end,
        and the state after each step [steps, batch, hidden].
    """
    hidden = layer.sizes[2]
    bias, late_bias = "", ""
    if layer.b:
        of_w, of_r = body.several("Split", 2, layer.b, num_outputs=2)
        early, late_bias = body.several("Split", 2, of_r, body.ints(2 * hidden, hidden))
        still = body.const([0] * hidden, gates.dtype)
        bias = body.add("Add", of_w, body.add("Concat", early, still, axis=0))
    of_x = _product(body, layer.x, layer.w, bias)
    turned = body.add("Transpose", layer.r, perm=(1, 0))
    both, last = body.several("Split", 2, turned, body.ints(2 * hidden, hidden), axis=1)

    def step(inner: Body, state: Sequence[str], entered: str) -> list[str]:
        (units,) = state
        sizes = inner.ints(2 * hidden, hidden)
        first, second = inner.several("Split", 2, entered, sizes, axis=1)
        first = inner.add("Add", inner.add("MatMul", units, both), first)
        open_gates = gates.applied(inner, 0, first)
        update, reset = inner.several("Split", 2, open_gates, axis=1, num_outputs=2)
        source = units if gates.reset_after else inner.add("Mul", reset, units)
        late = inner.add("MatMul", source, last)
        if late_bias:
            late = inner.add("Add", late, late_bias)
        if gates.reset_after:
            late = inner.add("Mul", late, reset)
        new = gates.applied(inner, 1, inner.add("Add", late, second))
        moved = inner.add("Mul", inner.add("Sub", units, new), update)
        return [inner.add("Add", moved, new)]

    return _scan(body, layer, gates.dtype, of_x, step)


def _product(body: Body, x: str, w: str, bias: str) -> str:
    """Write what the input adds to the gates [steps, batch, gates * hidden]."""
    product = body.add("MatMul", x, body.add("Transpose", w, perm=(1, 0)))
    return body.add("Add", product, bias) if bias else product


def _scan(
    body: Body,
    layer: CellOperands,
    dtype: DType,
    of_x: str,
    step: Callable[[Body, Sequence[str], str], list[str]],
) -> list[str]:
    """Write the steps; a sequence that has ended keeps its state, and its results are 0."""
    count = len(layer.states)
    states = [_start(body, layer, dtype, state) for state in layer.states]
    if layer.sizes[0] == 0:  # a Scan has at least one step
        nothing = body.const(np.zeros(layer.sizes), dtype)
        return [*states, *(nothing for _ in range(count + 1))]
    inner = body.inner()
    names = [inner.name("state") for _ in states]
    entered, runs = inner.name("entered"), inner.name("runs")
    after = step(inner, names, entered)
    result = after[0]
    scanned, inputs = [of_x], [(entered, dtype, None)]
    if layer.lengths:
        scanned.append(_running(body, layer))
        inputs.append((runs, DType.BOOL, None))
        result = inner.add("Where", runs, after[0], inner.const(0, dtype))
        after = [inner.add("Where", runs, *each) for each in zip(after, names, strict=True)]
    results = [*after, *(inner.add("Identity", each) for each in (result, *after))]
    graph = inner.as_graph(
        [*((name, dtype, None) for name in names), *inputs],
        [(name, dtype, None) for name in results],
    )
    directions = [int(layer.reverse)]
    return body.several(
        "Scan",
        2 * count + 1,
        *states,
        *scanned,
        body=graph,
        num_scan_inputs=len(scanned),
        scan_input_directions=directions * len(scanned),
        scan_output_directions=directions * (count + 1),
    )


def _start(body: Body, layer: CellOperands, dtype: DType, state: str) -> str:
    """The state before the first step; that of a sequence without steps is 0."""
    _, batch, hidden = layer.sizes
    if not state:
        return body.add("Expand", body.const(0, dtype), body.ints(batch, hidden))
    if not layer.lengths:
        return state
    some = body.add("Greater", layer.lengths, body.const(0, DType.INT32))
    some = body.add("Unsqueeze", some, body.ints(1))
    return body.add("Where", some, state, body.const(0, dtype))


def _running(body: Body, layer: CellOperands) -> str:
    """Mask of the sequences that have each step [steps, batch, 1]."""
    steps = body.const([[[step]] for step in range(layer.sizes[0])], DType.INT32)
    none, most = body.const(0, DType.INT32), body.const(layer.sizes[0], DType.INT32)
    bounds = (
        body.add("GreaterOrEqual", layer.lengths, none),
        body.add("LessOrEqual", layer.lengths, most),
    )
    lengths = body.held(layer.lengths, body.add("And", *bounds))
    return body.add("Less", steps, body.add("Unsqueeze", lengths, body.ints(1)))

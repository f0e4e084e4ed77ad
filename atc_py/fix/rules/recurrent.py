"""Rules of recurrent layers.

Over 400 lines because a page holds its whole family.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase, case, contrib_case, data
from atc_py.fix.context import RuleContext
from atc_py.fix.parts.bodies import MOST_STEPS
from atc_py.fix.parts.codes import DATA_SHARE, WEIGHT_SHARE, dynamic_codes, scaled
from atc_py.fix.parts.unrolled import (
    States,
    Step,
    UnrolledLayer,
    activations_of,
    driven_gates,
    part_of,
    require_finite_weights,
    unrolled,
)
from atc_py.fix.rule import APPROXIMATE, BOUNDED, EQUAL, REORDERED, rule
from atc_py.fix.unfit import require, skip_unless
from atc_py.tensor.dtypes import DType

# Positions of inputs.
_BIAS, _LENGTHS, _FIRST, _CELL, _PEEPHOLES = 3, 4, 5, 6, 7

_MATRIX = 2

# onnxruntime's layers take functions with errors of 5e-8, which later steps may multiply.
_BOUND = 1e-3


def _weights(seed: int) -> ConstInput:
    drawn = np.random.default_rng(seed).integers(-9, 9, (1, 2, 8))
    return ConstInput(drawn.astype(np.int8))


_INPUTS = ([3, 1, 2], _weights(0), _weights(1))
_COMPUTED = Fed((1, 2, 8), DType.INT8)
# Lengths, states and peepholes are absent; then the step and the zero point of each weight.
_REST = (
    *[None] * 4,
    *[ConstInput(np.full(1, 0.05, np.float32)), ConstInput(np.zeros(1, np.int8))] * 2,
)


@rule(
    APPROXIMATE,
    contrib_case("DynamicQuantizeLSTM", *_INPUTS, data(1, 16), *_REST, hidden_size=2, outputs=3),
    miss=contrib_case(
        "DynamicQuantizeLSTM", *_INPUTS[:2], _COMPUTED, None, *_REST, hidden_size=2, outputs=3
    ),
)
def dynamic_lstm_as_lstm(ctx: RuleContext) -> Sequence[str]:
    """DynamicQuantizeLSTM -> LSTM with dequantized weights, if weights, scales and zero points are
    constant; X and H are not quantized any more.

    onnxruntime's DynamicQuantizeLSTM quantizes X and H at every step as well; that is left out, so
    that results are nearer those of the model before it was quantized.
    """
    w, r = (_dequantized(ctx, at, scale) for at, scale in ((1, 8), (2, 10)))
    others = [ctx.name(at) for at in range(3, 8)]
    while others and not others[-1]:
        others.pop()
    own: dict[str, Any] = {**ctx.node.attributes}
    return ctx.ops("LSTM", ctx.name(0), w, r, *others, count=ctx.output_count, **own)


@rule(
    BOUNDED,
    contrib_case("DynamicQuantizeLSTM", *_INPUTS, data(1, 16), *_REST, hidden_size=2, outputs=3),
    miss=contrib_case(
        "DynamicQuantizeLSTM",
        [3, 2, 2],
        *_INPUTS[1:],
        data(1, 16),
        *_REST,
        hidden_size=2,
        outputs=3,
    ),
    boundary=contrib_case(
        "DynamicQuantizeLSTM", [1, 1, 2], *_INPUTS[1:], None, *_REST, hidden_size=2, outputs=3
    ),
    bound=2e-2,
    float16="codes are exact; a quotient may round to the next code",
)
def dynamic_lstm_unroll(ctx: RuleContext) -> Sequence[str]:
    """DynamicQuantizeLSTM -> codes of X, MatMul of codes / 2^15 for all steps; then, for each, codes
    of the state, MatMul, Mul by scales * 2^15, Add, the activations, Mul; Concat, if dims are
    known; there is one sequence, without lengths; weights are constant; at most 512 steps.

    X is quantized as a whole, the state at every step, each for the range that it has (onnxruntime's
    ComputeGemm of layers on int8). Of several sequences onnxruntime quantizes those states together
    that one thread computes, so that results depend on the number of threads. A state that differs
    in its last bit may get the next code.
    """
    require_finite_weights(ctx)
    require(ctx.shape(0)[1] == 1, "there is one sequence", found=ctx.shape(0)[1])
    require(ctx.tensor(_LENGTHS) is None, "lengths are absent")
    size = ctx.shape(2)[1]
    driving, recurrent = (_quantized(ctx, at, scale) for at, scale in ((1, 8), (2, 10)))

    def product(x: str, rank: int, weights: tuple[str, str]) -> str:
        codes, step, zero = dynamic_codes(ctx, x, rank)
        shared = scaled(ctx, ctx.op("Sub", codes, zero), DATA_SHARE)
        return ctx.op("Mul", ctx.op("MatMul", shared, weights[0]), ctx.op("Mul", step, weights[1]))

    def driven(way: int) -> str:
        gates = product(ctx.name(0), len(ctx.dims(0)), driving[way])
        return ctx.add(gates, _lstm_bias(ctx, way, size))

    def open_product(way: int) -> Callable[[str], str]:
        return lambda h: product(h, _MATRIX, recurrent[way])

    return _lstm(ctx, size, driven, open_product)


def _quantized(ctx: RuleContext, position: int, scale: int) -> list[tuple[str, str]]:
    """Centered codes and steps of the weights of each direction, with powers of two exchanged."""
    codes = ctx.constant(position).astype(np.float32)
    step, zero = (ctx.constant(at).astype(np.float32) for at in (scale, scale + 1))
    require(bool(np.isfinite(step).all()), "constant weights are finite")
    centered = (codes - _each(zero, codes.ndim)) * np.float32(WEIGHT_SHARE)
    steps = step.reshape(len(codes), -1) / np.float32(DATA_SHARE * WEIGHT_SHARE)
    return [
        (ctx.const(w, DType.FLOAT32, "centered"), ctx.const(s, DType.FLOAT32, "steps"))
        for w, s in zip(centered, steps, strict=True)
    ]


def _dequantized(ctx: RuleContext, position: int, scale: int) -> str:
    codes = ctx.constant(position).astype(np.float32)
    step, zero = (
        _each(ctx.constant(at).astype(np.float32), codes.ndim) for at in (scale, scale + 1)
    )
    real = ((codes - zero) * step).transpose(0, 2, 1)
    return ctx.const(real, DType.FLOAT32, "weights")


def _each(number: NDArray[Any], rank: int) -> NDArray[Any]:
    flat = number.reshape(-1) if number.size == 1 else number
    return flat.reshape(flat.shape[0], *[1] * (rank - flat.ndim), *flat.shape[1:])


def _layer(
    op_type: str, gates: int, steps: int = 3, size: int = 5, *, bias: bool = True, **attributes: Any
) -> RuleCase:
    batch, width = (2, 4) if size > 1 else (1, 1)
    weights = [data(1, gates * size, width), data(1, gates * size, size)]
    weights += [data(1, 2 * gates * size)] * bias
    outputs = 3 if op_type == "LSTM" else 2
    own = {**attributes, "hidden_size": size}
    return case(op_type, [steps, batch, width], *weights, outputs=outputs, **own)


@rule(
    BOUNDED,
    _layer("GRU", 3),
    miss=_layer("GRU", 3, MOST_STEPS + 1, 1, bias=False),
    boundary=_layer("GRU", 3, 1, bias=False),
    bound=_BOUND,
    deviations="GRU/reset-after-product GRU/activations-ignored GRU/clip-ignored "
    "GRU/reverse-as-forward",
)
def gru_unroll(ctx: RuleContext) -> Sequence[str]:
    """GRU with linear_before_reset 0, clip, or activations of its own, or in reverse -> MatMul for
    all steps; then, for each, Slice, MatMul, Add, the activations, Mul; Concat, if dims are known;
    at most 512 steps; the sequence is the first axis.

    Every step of a GRU, one after the other (GRU-7 to -22 of ONNX).

    z and r are f of sums of products with W (of the step) and R (of the state h); the candidate c
    is g(x Wc' + (r . h) Rc' + b), or g(x Wc' + b + r . (h Rc' + b')) with linear_before_reset; the
    new state is (1 - z) . c + z . h.
    """
    functions = activations_of(ctx, ["Sigmoid", "Tanh"] * ctx.shape(1)[0])
    size = ctx.shape(2)[2]
    linear = ctx.flag("linear_before_reset", default=False)

    def driven(way: int) -> str:
        return driven_gates(ctx, way, _bias(ctx, way, size, linear=linear))

    def open_cell(way: int) -> Step:
        f, g = functions[2 * way : 2 * way + 2]
        r = ctx.transpose(part_of(ctx, 2, way), [1, 0])
        of_gates, of_new = ctx.slice(r, 1, 0, 2 * size), ctx.slice(r, 1, 2 * size, 3 * size)
        bias = part_of(ctx, _BIAS, way)
        added = ctx.slice(bias, 0, 5 * size, 6 * size) if bias and linear else ""

        def step(x: str, states: States) -> Sequence[str]:
            h = states[0]
            gates, new = ctx.slice(x, 1, 0, 2 * size), ctx.slice(x, 1, 2 * size, 3 * size)
            if h:
                gates = ctx.op("Add", gates, ctx.op("MatMul", h, of_gates))
            gates = f.write(ctx, gates)
            update, reset = ctx.slice(gates, 1, 0, size), ctx.slice(gates, 1, size, 2 * size)
            kept = ""
            if linear:
                kept = ctx.op("MatMul", h, of_new) if h else ""
                kept = ctx.op("Add", kept, added) if kept and added else kept or added
                kept = ctx.op("Mul", reset, kept) if kept else ""
            elif h:
                kept = ctx.op("MatMul", ctx.op("Mul", reset, h), of_new)
            new = g.write(ctx, ctx.add(new, kept))
            if not h:
                return [ctx.op("Sub", new, ctx.op("Mul", update, new))]
            more = ctx.op("Mul", update, ctx.op("Sub", h, new))
            return [ctx.op("Add", new, more)]

        return step

    return unrolled(ctx, UnrolledLayer([_FIRST], open_cell, driven))


def _bias(ctx: RuleContext, way: int, size: int, *, linear: bool) -> str:
    """Write the biases that every step adds at once; that of a product that reset follows stays out."""
    bias = part_of(ctx, _BIAS, way)
    if not bias:
        return ""
    first, second = ctx.slice(bias, 0, 0, 3 * size), ctx.slice(bias, 0, 3 * size, 6 * size)
    if not linear:
        return ctx.op("Add", first, second)
    gates = [ctx.slice(value, 0, 0, 2 * size) for value in (first, second)]
    new = ctx.slice(first, 0, 2 * size, 3 * size)
    return ctx.op("Concat", ctx.op("Add", *gates), new, axis=0)


@rule(
    BOUNDED,
    _layer("LSTM", 4, input_forget=1),
    miss=_layer("LSTM", 4, MOST_STEPS + 1, 1, bias=False, input_forget=1),
    boundary=_layer("LSTM", 4, 1, bias=False, clip=0.5),
    bound=_BOUND,
    deviations=(
        "LSTM/activations-ignored",
        "LSTM/clip-ignored",
        "LSTM/input-forget-ignored",
        "LSTM/peepholes-ignored",
    ),
)
def lstm_unroll(ctx: RuleContext) -> Sequence[str]:
    """LSTM with peepholes, input_forget, clip, or activations of its own -> MatMul for all steps;
    then, for each, Slice, MatMul, Add, the activations, Mul; Concat, if dims are known; at most
    512 steps; the sequence is the first axis.

    Every step of an LSTM, one after the other (LSTM-7 to -22 of ONNX).

    i, o and f are functions of sums of products with W (of the step), R (of the state) and P (of
    the cell, for o of the new one); the new cell is f . C + i . g(c), the new state o . h(C).
    """

    def driven(way: int) -> str:
        return driven_gates(ctx, way, _lstm_bias(ctx, way, ctx.shape(2)[2]))

    def open_product(way: int) -> Callable[[str], str]:
        r = ctx.transpose(part_of(ctx, 2, way), [1, 0])
        return lambda h: ctx.op("MatMul", h, r)

    return _lstm(ctx, ctx.shape(2)[2], driven, open_product)


def _lstm_bias(ctx: RuleContext, way: int, size: int) -> str:
    bias = part_of(ctx, _BIAS, way)
    if not bias:
        return ""
    halves = [ctx.slice(bias, 0, at * size, (at + 4) * size) for at in (0, 4)]
    return ctx.op("Add", *halves)


def _lstm(
    ctx: RuleContext,
    size: int,
    driven: Callable[[int], str],
    open_product: Callable[[int], Callable[[str], str]],
) -> Sequence[str]:
    """Write every step of an LSTM.

    `driven` writes what the sequence contributes to all steps of a direction, `open_product`
    returns what writes the product of a state with R.
    """
    functions = activations_of(ctx, ["Sigmoid", "Tanh", "Tanh"] * ctx.shape(1)[0])
    coupled = ctx.flag("input_forget", default=False)

    def open_cell(way: int) -> Step:
        f, g, last = functions[3 * way : 3 * way + 3]
        last = replace(last, clip=0.0)  # the gates alone are clipped in onnxruntime
        product = open_product(way)
        peeps = part_of(ctx, _PEEPHOLES, way)

        def seen(gate: str, at: int, cell: str) -> str:
            if not cell or not peeps:
                return gate
            weight = ctx.slice(peeps, 0, at * size, (at + 1) * size)
            return ctx.op("Add", gate, ctx.op("Mul", weight, cell))

        def step(x: str, states: States) -> Sequence[str]:
            h, cell = states
            if h:
                x = ctx.op("Add", x, product(h))
            i, o, keep, new = (ctx.slice(x, 1, at * size, (at + 1) * size) for at in range(4))
            i = f.write(ctx, seen(i, 0, cell))
            added = ctx.op("Mul", i, g.write(ctx, new))
            if cell:
                if coupled:
                    keep = ctx.op("Sub", ctx.scalar(1.0), i)
                else:
                    keep = f.write(ctx, seen(keep, 2, cell))
                added = ctx.op("Add", ctx.op("Mul", keep, cell), added)
            o = f.write(ctx, seen(o, 1, added))
            return [ctx.op("Mul", o, last.write(ctx, added)), added]

        return step

    return unrolled(ctx, UnrolledLayer([_FIRST, _CELL], open_cell, driven))


@rule(
    BOUNDED,
    _layer("RNN", 1, activations=["Relu"]),
    miss=_layer("RNN", 1, MOST_STEPS + 1, 1, bias=False, activations=["Relu"]),
    boundary=_layer("RNN", 1, 1, bias=False, activations=["Relu"]),
    bound=_BOUND,
)
def rnn_unroll(ctx: RuleContext) -> Sequence[str]:
    """RNN -> MatMul for all steps; then, for each, Slice, MatMul, Add and the activation; Concat,
    if dims are known; at most 512 steps; the sequence is the first axis.

    h' = f(x W' + h R' + b) of every step, one after the other (RNN-7 to -22 of ONNX).
    """
    functions = activations_of(ctx, ["Tanh"] * ctx.shape(1)[0])
    size = ctx.shape(1)[1]

    def driven(way: int) -> str:
        bias = part_of(ctx, _BIAS, way)
        if bias:
            both = ctx.reshape(bias, [2, size])
            bias = ctx.reduce("ReduceSum", both, [0], keepdims=False)
        return driven_gates(ctx, way, bias)

    def open_cell(way: int) -> Step:
        r = ctx.transpose(part_of(ctx, 2, way), [1, 0])

        def step(x: str, states: States) -> Sequence[str]:
            if states[0]:
                x = ctx.op("Add", x, ctx.op("MatMul", states[0], r))
            return [functions[way].write(ctx, x)]

        return step

    return unrolled(ctx, UnrolledLayer([_FIRST], open_cell, driven))


# Biases of the gates z and r.
_CLOSED, _OPEN = -100.0, 100.0


@rule(
    BOUNDED,
    _layer("RNN", 1),
    miss=_layer("RNN", 1, activations=["Relu"]),
    bound=_BOUND,
    float16="as a GRU: the state is rounded at each step",
)
def rnn_as_gru(ctx: RuleContext) -> Sequence[str]:
    """RNN with Tanh -> GRU with constant gates, if dims are known; the activation is Tanh; nothing
    is clipped; the sequence is the first axis.

    A GRU has h' = (1 - z) g + z h with g = tanh(x W' + (r h) R' + b); biases of -100 and 100 make z
    = sigmoid(-100) = 0 and r = sigmoid(100) = 1 beyond the digits of float32.
    """
    ctx.floats(0)
    names = ctx.node.attributes.get("activations", ())
    require(
        isinstance(names, tuple) and all(str(name).lower() == "tanh" for name in names),
        "the activation is Tanh",
    )
    require(not ctx.number("clip", 0.0), "nothing is clipped", found=ctx.number("clip", 0.0))
    require(not ctx.integer("layout", 0), "the sequence is the first axis")
    require_finite_weights(ctx)
    ways, size, width = ctx.shape(1)
    w = _after_gates(ctx, ctx.name(1), tables.zeros((ways, 2 * size, width)))
    r = _after_gates(ctx, ctx.name(2), tables.zeros((ways, 2 * size, size)))
    gates = tables.repeat(tables.repeat(np.array([[_CLOSED, _OPEN]]), size, -1), ways, 0)
    own = zeros = ctx.full((ways, size), 0, "zeros")
    recurrent = zeros
    if ctx.tensor(3) is not None:
        own = ctx.slice(ctx.name(3), 1, 0, size)
        recurrent = ctx.slice(ctx.name(3), 1, size, 2 * size)
    idle = ctx.full((ways, 2 * size), 0, "zeros")
    parts = [ctx.const(gates, ctx.element, "gates"), own, idle, recurrent]
    b = ctx.op("Concat", *parts, axis=1)
    inputs = [ctx.name(0), w, r, b, ctx.name(4), ctx.name(5)]
    while not inputs[-1]:
        inputs.pop()
    direction = ctx.text("direction", "forward")
    return ctx.ops("GRU", *inputs, count=ctx.output_count, hidden_size=size, direction=direction)


def _after_gates(
    ctx: RuleContext, x: str, gates: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
) -> str:
    return ctx.op("Concat", ctx.const(gates, ctx.element, "gates"), x, axis=1)


@rule(
    EQUAL,
    _layer("GRU", 3, direction="reverse", linear_before_reset=1),
    miss=_layer("GRU", 3, direction="forward", linear_before_reset=1),
    boundary=_layer("GRU", 3, 1, direction="reverse", linear_before_reset=1),
    deviations="GRU/reverse-as-forward",
)
def gru_of_reversed(ctx: RuleContext) -> Sequence[str]:
    """GRU with direction reverse -> Gather, GRU with direction forward, Gather, if the number of
    steps is known; lengths are absent; the sequence is the first axis.
    """
    skip_unless(ctx.text("direction", "forward") == "reverse")
    require(ctx.tensor(_LENGTHS) is None, "lengths are absent")
    require(not ctx.integer("layout", 0), "the sequence is the first axis")
    steps = ctx.dims(0)[0]
    require(steps is not None, "the number of steps is known")
    order = ctx.const(tables.arange(int(steps or 0))[::-1], label="order")

    def turned(x: str) -> str:
        return ctx.op("Gather", x, order, axis=0)

    inputs = [turned(ctx.name(0)), *ctx.names[1:]]
    y, *states = ctx.again(*inputs, count=ctx.output_count, direction=None)
    return ["" if ctx.output(0) is None else turned(y), *states]


# Positions of X, initial_h and initial_c, whose first two axes change places.
_BATCHED_INPUTS = (0, 5, 6)

# Axes of layout 0 in the order of layout 1: those of states, and of Y.
_STATE, _SEQUENCE = (1, 0, 2), (2, 0, 1, 3)


@rule(
    REORDERED,
    case(
        "RNN", [2, 3, 4], data(1, 5, 4), data(1, 5, 5), hidden_size=5, layout=1, opset=14, outputs=2
    ),
    operators="GRU LSTM RNN",
    miss=case(
        "RNN", [3, 2, 4], data(1, 5, 4), data(1, 5, 5), hidden_size=5, layout=0, opset=14, outputs=2
    ),
    deviations="GRU/layout-ignored LSTM/layout-ignored",
    lists=True,
)
def recurrent_layout(ctx: RuleContext) -> Sequence[str]:
    """LSTM, GRU or RNN with layout 1 -> Transpose, the operator with layout 0, Transpose, if layout
    is 1.

    Recurrent operators whose batch is the first axis, with the sequence there (layout of LSTM-14,
    GRU-14, RNN-14).
    """
    skip_unless(ctx.integer("layout", 0) == 1)
    inputs = [
        ctx.transpose(ctx.name(at), _STATE)
        if at in _BATCHED_INPUTS and ctx.tensor(at) is not None
        else ctx.name(at)
        for at in range(len(ctx.node.inputs))
    ]
    results = ctx.again(*inputs, count=ctx.output_count, layout=None)
    orders = (_SEQUENCE, _STATE, _STATE)
    return [
        "" if ctx.output(at) is None else ctx.transpose(name, orders[at])
        for at, name in enumerate(results)
    ]

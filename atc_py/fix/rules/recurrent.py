"""Rules of recurrent layers.

Over 400 lines because a page holds its whole family.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, case, contrib_case, data
from atc_py.fix.parts.bodies import MOST_STEPS
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
from atc_py.fix.registry import rule
from atc_py.fix.site import Site
from atc_py.fix.unfit import require
from atc_py.fix.writing import APPROXIMATE, BOUNDED, REORDERED
from atc_py.tensor.dtypes import DType


def _weights(seed: int) -> ConstInput:
    """Weights of 2 inputs, one direction, two units."""
    drawn = np.random.default_rng(seed).integers(-9, 9, (1, 2, 8))
    return ConstInput(drawn.astype(np.int8))


_QUANTIZED = tuple(
    ConstInput(each) for each in (np.full(1, 0.05, np.float32), np.zeros(1, np.int8)) * 2
)


@rule(
    "com.microsoft::DynamicQuantizeLSTM",
    APPROXIMATE,
    contrib_case(
        "DynamicQuantizeLSTM",
        [3, 1, 2],
        _weights(0),
        _weights(1),
        data(1, 16),
        *[None] * 4,
        *_QUANTIZED,
        hidden_size=2,
        outputs=3,
    ),
    miss=contrib_case(
        "DynamicQuantizeLSTM",
        [3, 1, 2],
        _weights(0),
        Fed((1, 2, 8), DType.INT8),
        *[None] * 5,
        *_QUANTIZED,
        hidden_size=2,
        outputs=3,
    ),
)
def dynamic_lstm_as_lstm(site: Site) -> Sequence[str]:
    """DynamicQuantizeLSTM -> LSTM with dequantized weights, if weights, scales and zero points are
    constant; X and H are not quantized any more.

    onnxruntime's DynamicQuantizeLSTM quantizes X and H at every step as well; that is left out, so
    that results are nearer those of the model before it was quantized.
    """
    w, r = (_dequantized(site, at, scale) for at, scale in ((1, 8), (2, 10)))
    others = [site.name(at) for at in range(3, 8)]
    while others and not others[-1]:
        others.pop()
    own: dict[str, Any] = {**site.node.attributes}
    return site.ops("LSTM", site.name(0), w, r, *others, count=len(site.node.outputs), **own)


def _dequantized(site: Site, position: int, scale: int) -> str:
    """Weights as numbers, with gates before inputs."""
    codes = site.constant(position).astype(np.float32)
    step, zero = (
        _each(site.constant(at).astype(np.float32), codes.ndim) for at in (scale, scale + 1)
    )
    real = ((codes - zero) * step).transpose(0, 2, 1)
    return site.const(real, DType.FLOAT32, "weights")


def _each(number: NDArray[Any], rank: int) -> NDArray[Any]:
    flat = number.reshape(-1) if number.size == 1 else number
    return flat.reshape(flat.shape[0], *[1] * (rank - flat.ndim), *flat.shape[1:])


# Positions of inputs.
_BIAS, _FIRST, _CELL, _PEEPHOLES = 3, 5, 6, 7

# onnxruntime's GRU takes functions with errors of 5e-8, which later steps may multiply.
_BOUND = 1e-3


@rule(
    "GRU",
    BOUNDED,
    case("GRU", [3, 2, 4], data(1, 15, 4), data(1, 15, 5), data(1, 30), hidden_size=5, outputs=2),
    miss=case(
        "GRU", [MOST_STEPS + 1, 1, 1], data(1, 3, 1), data(1, 3, 1), hidden_size=1, outputs=2
    ),
    boundary=case("GRU", [1, 2, 4], data(1, 15, 4), data(1, 15, 5), hidden_size=5, outputs=2),
    bound=_BOUND,
    deviations="GRU/reset-after-product GRU/activations-ignored GRU/clip-ignored",
)
def gru_unroll(site: Site) -> Sequence[str]:
    """GRU with linear_before_reset 0, clip, or activations of its own -> MatMul for all steps;
    then, for each, Slice, MatMul, Add, the activations, Mul; Concat, if dims are known; at most
    512 steps; the sequence is the first axis.

    Every step of a GRU, one after the other (GRU-7 to -22 of ONNX).

    z and r are f of sums of products with W (of the step) and R (of the state h); the candidate c
    is g(x Wc' + (r . h) Rc' + b), or g(x Wc' + b + r . (h Rc' + b')) with linear_before_reset; the
    new state is (1 - z) . c + z . h.
    """
    functions = activations_of(site, ["Sigmoid", "Tanh"] * site.shape(1)[0])
    size = site.shape(2)[2]
    linear = site.flag("linear_before_reset", default=False)

    def driven(way: int) -> str:
        return driven_gates(site, way, _bias(site, way, size, linear=linear))

    def open_cell(way: int) -> Step:
        f, g = functions[2 * way : 2 * way + 2]
        r = site.transpose(part_of(site, 2, way), [1, 0])
        of_gates, of_new = site.slice(r, 1, 0, 2 * size), site.slice(r, 1, 2 * size, 3 * size)
        bias = part_of(site, _BIAS, way)
        added = site.slice(bias, 0, 5 * size, 6 * size) if bias and linear else ""

        def step(x: str, states: States) -> Sequence[str]:
            h = states[0]
            gates, new = site.slice(x, 1, 0, 2 * size), site.slice(x, 1, 2 * size, 3 * size)
            if h:
                gates = site.op("Add", gates, site.op("MatMul", h, of_gates))
            gates = f.write(site, gates)
            update, reset = site.slice(gates, 1, 0, size), site.slice(gates, 1, size, 2 * size)
            kept = ""
            if linear:
                kept = site.op("MatMul", h, of_new) if h else ""
                kept = site.op("Add", kept, added) if kept and added else kept or added
                kept = site.op("Mul", reset, kept) if kept else ""
            elif h:
                kept = site.op("MatMul", site.op("Mul", reset, h), of_new)
            new = g.write(site, site.op("Add", new, kept) if kept else new)
            if not h:
                return [site.op("Sub", new, site.op("Mul", update, new))]
            more = site.op("Mul", update, site.op("Sub", h, new))
            return [site.op("Add", new, more)]

        return step

    return unrolled(site, UnrolledLayer([_FIRST], open_cell, driven))


def _bias(site: Site, way: int, size: int, *, linear: bool) -> str:
    """Write the biases that every step adds at once; that of a product that reset follows stays out."""
    bias = part_of(site, _BIAS, way)
    if not bias:
        return ""
    first, second = site.slice(bias, 0, 0, 3 * size), site.slice(bias, 0, 3 * size, 6 * size)
    if not linear:
        return site.op("Add", first, second)
    gates = [site.slice(value, 0, 0, 2 * size) for value in (first, second)]
    new = site.slice(first, 0, 2 * size, 3 * size)
    return site.op("Concat", site.op("Add", *gates), new, axis=0)


@rule(
    "LSTM",
    BOUNDED,
    case(
        "LSTM",
        [3, 2, 4],
        data(1, 20, 4),
        data(1, 20, 5),
        data(1, 40),
        hidden_size=5,
        input_forget=1,
        outputs=3,
    ),
    miss=case(
        "LSTM",
        [MOST_STEPS + 1, 1, 1],
        data(1, 4, 1),
        data(1, 4, 1),
        hidden_size=1,
        input_forget=1,
        outputs=3,
    ),
    boundary=case(
        "LSTM", [1, 2, 4], data(1, 20, 4), data(1, 20, 5), hidden_size=5, clip=0.5, outputs=3
    ),
    bound=_BOUND,
    deviations=(
        "LSTM/activations-ignored",
        "LSTM/clip-ignored",
        "LSTM/input-forget-ignored",
        "LSTM/peepholes-ignored",
    ),
)
def lstm_unroll(site: Site) -> Sequence[str]:
    """LSTM with peepholes, input_forget, clip, or activations of its own -> MatMul for all steps;
    then, for each, Slice, MatMul, Add, the activations, Mul; Concat, if dims are known; at most
    512 steps; the sequence is the first axis.

    Every step of an LSTM, one after the other (LSTM-7 to -22 of ONNX).

    i, o and f are functions of sums of products with W (of the step), R (of the state) and P (of
    the cell, for o of the new one); the new cell is f . C + i . g(c), the new state o . h(C).
    """
    functions = activations_of(site, ["Sigmoid", "Tanh", "Tanh"] * site.shape(1)[0])
    size = site.shape(2)[2]
    coupled = site.flag("input_forget", default=False)

    def driven(way: int) -> str:
        bias = part_of(site, _BIAS, way)
        if bias:
            halves = [site.slice(bias, 0, at * size, (at + 4) * size) for at in (0, 4)]
            bias = site.op("Add", *halves)
        return driven_gates(site, way, bias)

    def open_cell(way: int) -> Step:
        f, g, last = functions[3 * way : 3 * way + 3]
        last = replace(last, clip=0.0)  # the gates alone are clipped in onnxruntime
        r = site.transpose(part_of(site, 2, way), [1, 0])
        peeps = part_of(site, _PEEPHOLES, way)

        def seen(gate: str, at: int, cell: str) -> str:
            return _with_peephole(site, gate, peeps, at * size, size, cell) if cell else gate

        def step(x: str, states: States) -> Sequence[str]:
            h, cell = states
            if h:
                x = site.op("Add", x, site.op("MatMul", h, r))
            i, o, keep, new = (site.slice(x, 1, at * size, (at + 1) * size) for at in range(4))
            i = f.write(site, seen(i, 0, cell))
            added = site.op("Mul", i, g.write(site, new))
            if cell:
                if coupled:
                    keep = site.op("Sub", site.scalar(1.0), i)
                else:
                    keep = f.write(site, seen(keep, 2, cell))
                added = site.op("Add", site.op("Mul", keep, cell), added)
            o = f.write(site, seen(o, 1, added))
            return [site.op("Mul", o, last.write(site, added)), added]

        return step

    return unrolled(site, UnrolledLayer([_FIRST, _CELL], open_cell, driven))


def _with_peephole(site: Site, gate: str, peeps: str, at: int, size: int, cell: str) -> str:
    if not peeps:
        return gate
    weight = site.slice(peeps, 0, at, at + size)
    return site.op("Add", gate, site.op("Mul", weight, cell))


# Bound: onnxruntime's RNN takes functions with errors of 5e-8, which later steps may multiply.
_TANH = 1e-3


@rule(
    "RNN",
    BOUNDED,
    case(
        "RNN",
        [3, 2, 4],
        data(1, 5, 4),
        data(1, 5, 5),
        data(1, 10),
        hidden_size=5,
        activations=["Relu"],
        outputs=2,
    ),
    miss=case(
        "RNN",
        [MOST_STEPS + 1, 1, 1],
        data(1, 1, 1),
        data(1, 1, 1),
        hidden_size=1,
        activations=["Relu"],
        outputs=2,
    ),
    boundary=case(
        "RNN",
        [1, 2, 4],
        data(1, 5, 4),
        data(1, 5, 5),
        hidden_size=5,
        activations=["Relu"],
        outputs=2,
    ),
    bound=_TANH,
)
def rnn_unroll(site: Site) -> Sequence[str]:
    """RNN -> MatMul for all steps; then, for each, Slice, MatMul, Add and the activation; Concat,
    if dims are known; at most 512 steps; the sequence is the first axis.

    h' = f(x W' + h R' + b) of every step, one after the other (RNN-7 to -22 of ONNX).
    """
    functions = activations_of(site, ["Tanh"] * site.shape(1)[0])
    size = site.shape(1)[1]

    def driven(way: int) -> str:
        bias = part_of(site, _BIAS, way)
        if bias:
            both = site.reshape(bias, [2, size])
            bias = site.reduce("ReduceSum", both, [0], keepdims=False)
        return driven_gates(site, way, bias)

    def open_cell(way: int) -> Step:
        r = site.transpose(part_of(site, 2, way), [1, 0])

        def step(x: str, states: States) -> Sequence[str]:
            if states[0]:
                x = site.op("Add", x, site.op("MatMul", states[0], r))
            return [functions[way].write(site, x)]

        return step

    return unrolled(site, UnrolledLayer([_FIRST], open_cell, driven))


# Biases of the gates z and r.
_CLOSED, _OPEN = -100.0, 100.0


@rule(
    "RNN",
    BOUNDED,
    case("RNN", [3, 2, 4], data(1, 5, 4), data(1, 5, 5), data(1, 10), hidden_size=5, outputs=2),
    miss=case(
        "RNN",
        [3, 2, 4],
        data(1, 5, 4),
        data(1, 5, 5),
        data(1, 10),
        hidden_size=5,
        activations=["Relu"],
        outputs=2,
    ),
    bound=_TANH,
    float16="as a GRU: the state is rounded at each step",
)
def rnn_as_gru(site: Site) -> Sequence[str]:
    """RNN with Tanh -> GRU with constant gates, if dims are known; the activation is Tanh; nothing
    is clipped; the sequence is the first axis.

    A GRU has h' = (1 - z) g + z h with g = tanh(x W' + (r h) R' + b); biases of -100 and 100 make z
    = sigmoid(-100) = 0 and r = sigmoid(100) = 1 beyond the digits of float32.
    """
    site.floats(0)
    names = site.node.attributes.get("activations", ())
    require(
        isinstance(names, tuple) and all(str(name).lower() == "tanh" for name in names),
        "the activation is Tanh",
    )
    require(not site.number("clip", 0.0), "nothing is clipped")
    require(not site.integer("layout", 0), "the sequence is the first axis")
    require_finite_weights(site)
    ways, size, width = site.shape(1)
    w = _after_gates(site, site.name(1), tables.zeros((ways, 2 * size, width)))
    r = _after_gates(site, site.name(2), tables.zeros((ways, 2 * size, size)))
    gates = tables.repeat(tables.repeat(np.array([[_CLOSED, _OPEN]]), size, -1), ways, 0)
    own = zeros = site.const(tables.zeros((ways, size)), site.element, "zeros")
    recurrent = zeros
    if site.tensor(3) is not None:
        own = site.slice(site.name(3), 1, 0, size)
        recurrent = site.slice(site.name(3), 1, size, 2 * size)
    idle = site.const(tables.zeros((ways, 2 * size)), site.element, "zeros")
    parts = [site.const(gates, site.element, "gates"), own, idle, recurrent]
    b = site.op("Concat", *parts, axis=1)
    inputs = [site.name(0), w, r, b, site.name(4), site.name(5)]
    while not inputs[-1]:
        inputs.pop()
    direction = site.text("direction", "forward")
    return site.ops(
        "GRU", *inputs, count=len(site.node.outputs), hidden_size=size, direction=direction
    )


def _after_gates(
    site: Site, x: str, gates: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
) -> str:
    """Weights of a GRU: those of the gates, then `x`."""
    return site.op("Concat", site.const(gates, site.element, "gates"), x, axis=1)


# Positions of X, initial_h and initial_c, whose first two axes change places.
_BATCHED_INPUTS = (0, 5, 6)

# Axes of layout 0 in the order of layout 1: those of states, and of Y.
_STATE, _SEQUENCE = (1, 0, 2), (2, 0, 1, 3)


@rule(
    "GRU LSTM RNN",
    REORDERED,
    case(
        "RNN", [2, 3, 4], data(1, 5, 4), data(1, 5, 5), hidden_size=5, layout=1, opset=14, outputs=2
    ),
    miss=case(
        "RNN", [3, 2, 4], data(1, 5, 4), data(1, 5, 5), hidden_size=5, layout=0, opset=14, outputs=2
    ),
)
def recurrent_layout(site: Site) -> Sequence[str]:
    """LSTM, GRU or RNN with layout 1 -> Transpose, the operator with layout 0, Transpose, if layout
    is 1.

    Recurrent operators whose batch is the first axis, with the sequence there (layout of LSTM-14,
    GRU-14, RNN-14).
    """
    require(site.integer("layout", 0) == 1, "layout is 1")
    inputs = [
        site.transpose(site.name(at), _STATE)
        if at in _BATCHED_INPUTS and site.tensor(at) is not None
        else site.name(at)
        for at in range(len(site.node.inputs))
    ]
    results = site.again(*inputs, count=len(site.node.outputs), layout=None)
    orders = (_SEQUENCE, _STATE, _STATE)
    return [
        "" if site.output(at) is None else site.transpose(name, orders[at])
        for at, name in enumerate(results)
    ]

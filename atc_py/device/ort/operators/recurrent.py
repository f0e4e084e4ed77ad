"""Recurrent layers: ONNX's own operators where their arithmetic is meant, else a Scan of steps.

Nothing is rounded within a layer: gates and states are float32, results are rounded at the end.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.ort.body import Body, emulates
from atc_py.device.ort.cells import USUAL, CellActivation, CellOperands, Gates, scan_gru, scan_lstm
from atc_py.device.ort.regions import real_of
from atc_py.tensor.dtypes import DType

Array = NDArray[Any]


_IOFC = (0, 3, 2, 1)
"""Where ONNX's gates i, o, f and c stand in the gate order "ijfo"; c is called j there."""

_BIAS = 2
"""Position of DynamicRNN's bias."""

_REVERSE = "REDIRECTIONAL"

_KINDS = {
    "CommonGRU": ("GRU", "linear_before_reset", 1),
    "CommonLSTM": ("LSTM", "input_forget", 2),
}
"""ONNX's operator of a layer, the attribute that both have, and how many states there are."""

_LAYERS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
"""Which of a layer's directions are reversed."""


def _optional(body: Body, position: int) -> str:
    return body.x(position) if body.node.has(position) else ""


# One direction ----------------------------------------------------------------------------------


@emulates("DynamicRNN")
def dynamic_rnn(body: Body) -> Sequence[str]:
    """Write LSTM with its gates in ONNX's order; a Scan of its steps if states of each are read."""
    node = body.node
    width, hidden = node.shape()[2], node.shape(1)[1] // 4
    columns = np.concatenate([np.arange(hidden) + gate * hidden for gate in _IOFC])
    w = _turned(body, 1, "W", slice(0, width), columns)
    r = _turned(body, 1, "R", slice(width, width + hidden), columns)
    b = _lstm_bias(body, columns, node.number("forget_bias"))
    layer = _one_direction(body, (w, r, b), hidden, 3, (4, 5))
    unread = [at in node.unread or at >= len(node.outputs) for at in range(3)]
    plain = unread[2] and (unread[1] or not layer.lengths)
    if plain and real_of(body) is DType.FLOAT32:
        y = _plain(body, "LSTM", layer, {})
        return [y, "" if unread[1] else y, ""][: len(node.outputs)]
    _, _, *results = scan_lstm(body, _flat(body, layer), Gates(real_of(body), USUAL))
    return results[: len(node.outputs)]


@emulates("DynamicGRUV2")
def dynamic_gru(body: Body) -> Sequence[str]:
    """Write GRU; a Scan of its steps if sequences have lengths and the state of each step is read."""
    node, every, hidden = body.node, slice(None), body.node.shape(2)[0]
    wide = 3 * hidden
    w, r = (_turned(body, at, "turned", every, np.arange(wide)) for at in (1, 2))
    layer = _one_direction(body, (w, r, _gru_bias(body, wide)), hidden, 5, (6,))
    after, unread = node.flag("reset_after"), 1 in node.unread or len(node.outputs) == 1
    if (unread or not layer.lengths) and real_of(body) is DType.FLOAT32:
        y = _plain(body, "GRU", layer, {"linear_before_reset": after})
        return [y, "" if unread else y][: len(node.outputs)]
    gates = Gates(real_of(body), USUAL[:2], reset_after=after)
    _, *results = scan_gru(body, _flat(body, layer), gates)
    return results[: len(node.outputs)]


def _one_direction(
    body: Body, weights: tuple[str, str, str], hidden: int, lengths: int, states: tuple[int, ...]
) -> CellOperands:
    """A layer with its weights and states as ONNX has them, directions first."""
    node = body.node
    steps, batch, _ = node.shape()
    return CellOperands(
        body.x(),
        *weights,
        body.own(lengths) if node.has(lengths) else "",
        tuple(_optional(body, at) for at in states),
        "",
        (steps, batch, hidden),
        node.text("direction") == _REVERSE,
    )


def _plain(body: Body, op_type: str, layer: CellOperands, attributes: dict[str, Any]) -> str:
    """Write ONNX's own layer; return its results [steps, batch, hidden]."""
    operands = [layer.x, layer.w, layer.r, layer.b, layer.lengths, *layer.states]
    while not operands[-1]:
        operands.pop()
    y = body.add(
        op_type,
        *operands,
        hidden_size=layer.sizes[2],
        direction="reverse" if layer.reverse else "forward",
        **attributes,
    )
    return body.add("Squeeze", y, body.ints(1))


def _flat(body: Body, layer: CellOperands) -> CellOperands:
    def first(value: str) -> str:
        return body.add("Squeeze", value, body.ints(0)) if value else ""

    return replace(
        layer,
        w=first(layer.w),
        r=first(layer.r),
        b=first(layer.b),
        states=tuple(map(first, layer.states)),
    )


def _turned(body: Body, position: int, form: str, rows: slice, columns: Array) -> str:
    """Rows of a matrix, with columns in another order, turned [1, columns, rows]."""
    if position in body.node.constants:
        wide = real_of(body).numpy
        return body.form(position, form, lambda data: data[rows][:, columns].T[None].astype(wide))
    picked = body.x(position)
    if rows != slice(None):
        picked = body.add("Slice", picked, body.ints(rows.start), body.ints(rows.stop))
    picked = body.add("Gather", picked, body.ints(*columns), axis=1)
    return body.add("Unsqueeze", body.add("Transpose", picked, perm=(1, 0)), body.ints(0))


def _lstm_bias(body: Body, columns: Array, forget_bias: float) -> str:
    """The bias of the input, and zeros for the state [1, 8 * hidden]."""
    wide, hidden = real_of(body), len(columns) // 4
    more = np.zeros(len(columns), wide.numpy)
    more[2 * hidden : 3 * hidden] = forget_bias

    def made(data: Array) -> Array:
        bias = data[columns].astype(wide.numpy) + more
        return np.concatenate([bias, np.zeros_like(bias)])[None]

    if _BIAS in body.node.constants:
        return body.form(_BIAS, f"B{forget_bias:g}" if forget_bias else "B", made)
    bias = body.add("Gather", body.x(_BIAS), body.ints(*columns))
    bias = body.add(
        "Concat",
        body.add("Add", bias, body.const(more, wide)),
        body.const(np.zeros_like(more), wide),
        axis=0,
    )
    return body.add("Unsqueeze", bias, body.ints(0))


def _gru_bias(body: Body, wide: int) -> str:
    """The biases of input and state [1, 6 * hidden], or an empty name."""
    if not (body.node.has(3) or body.node.has(4)):
        return ""
    zeros = body.const(np.zeros(wide), real_of(body))
    parts = [_optional(body, at) or zeros for at in (3, 4)]
    return body.add("Unsqueeze", body.add("Concat", *parts, axis=0), body.ints(0))


# Layers -----------------------------------------------------------------------------------------


@emulates("CommonGRU", "CommonLSTM")
def layer(body: Body) -> Sequence[str]:
    """Write LSTM or GRU; a Scan of its steps if it is clipped or not the usual.

    These are `c = fg * c + i * j, h = o * act(c)` and `h = (1 - z) * n + z * h`.
    """
    op_type, option, states = _KINDS[body.node.op]
    node, count = body.node, states + 1
    activations, clip = _activations(body), max(node.number("clip"), 0.0)
    directions = _LAYERS[node.text("direction")]
    usual = activations == [*USUAL[:count]] * len(directions)
    if usual and not clip and real_of(body) is DType.FLOAT32 and 0 not in node.shape():
        operands = [_optional(body, at) for at in range(node.count)]
        if node.has(4):
            operands[4] = body.own(4)
        return body.several(
            op_type,
            count,
            *operands,
            direction=node.text("direction"),
            hidden_size=node.integer("hidden_size"),
            **{option: node.integer(option)},
        )
    parts: list[list[str]] = []
    for at, reverse in enumerate(directions):
        chosen = tuple(activations[at * count :][:count])
        chosen_option = bool(node.integer(option))
        gates = Gates(
            real_of(body), chosen, clip or None, coupled=chosen_option, reset_after=chosen_option
        )
        scan = scan_lstm if states == 2 else scan_gru  # noqa: PLR2004  (units and cells)
        found = scan(body, _part(body, at, reverse, states), gates)
        last, y = found[:states], found[states]
        parts.append([body.add("Unsqueeze", y, body.ints(1))])
        parts[-1] += [body.add("Unsqueeze", state, body.ints(0)) for state in last]
    joined = zip(*parts, strict=True)
    return [body.add("Concat", *each, axis=1 if at == 0 else 0) for at, each in enumerate(joined)]


def _activations(body: Body) -> list[CellActivation]:
    """The activations of all directions; those without parameters have none."""
    names = [name.lower() for name in body.node.text("activations").split(",") if name]
    alphas, betas = (body.node.floats(f"activation_{name}") for name in ("alpha", "beta"))
    return [CellActivation(*each) for each in zip(names, alphas, betas, strict=True)]


def _part(body: Body, direction: int, reverse: bool, states: int) -> CellOperands:
    node = body.node

    def part(position: int) -> str:
        value = _optional(body, position)
        return body.add("Gather", value, body.const(direction, DType.INT64)) if value else ""

    steps, batch, _ = node.shape()
    return CellOperands(
        body.x(),
        part(1),
        part(2),
        part(3),
        body.own(4) if node.has(4) else "",
        tuple(part(5 + at) for at in range(states)),
        part(7) if states == 2 else "",  # noqa: PLR2004  (LSTM)
        (steps, batch, node.integer("hidden_size")),
        reverse,
    )

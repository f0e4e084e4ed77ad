"""Lowering of recurrent layers: to AI Core layers of one direction, or to a layer as it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from atc_py.ir import AttrValue, ConstData, DeferredConst, SplatConst, TensorType, Value
from atc_py.lowering.builder import Builder, lowering
from atc_py.lowering.ops.rnn_layer import DIRECTIONS, RecurrentLayer
from atc_py.text import Text

Array = npt.NDArray[Any]


_IOFC_TO_IJFO = (0, 3, 2, 1)
"""ONNX's gates i, o, f, c in the order of DynamicRNN, where c is called j."""


@lowering("LSTM")
def lower_lstm(b: Builder) -> Sequence[Value]:
    """Lower LSTM to DynamicRNN for each direction, as CANN's own pass does; or CommonLSTM.

    DynamicRNN takes constant weights, the usual activations and no clip, peepholes or coupled
    gates. Y of several directions is joined, states are slices of the outputs.
    """
    layer = RecurrentLayer(b, gates=4, usual=("sigmoid", "tanh", "tanh"))
    coupled = b.integer("input_forget", 0)
    if layer.is_usual and not coupled and b.optional_source(7) is None:
        return layer.results([_dynamic_rnn(layer, at) for at in range(layer.directions)])
    attributes = {**layer.attributes(), "input_forget": coupled}
    return layer.whole("CommonLSTM", attributes)


@lowering("GRU")
def lower_gru(b: Builder) -> Sequence[Value]:
    """Lower GRU to DynamicGRUV2 for each direction, as CANN's own pass does; or CommonGRU.

    DynamicGRUV2 takes constant weights, the usual activations and no clip.
    """
    layer = RecurrentLayer(b, gates=3, usual=("sigmoid", "tanh"))
    after = b.integer("linear_before_reset", 0)
    if layer.is_usual:
        return layer.results(
            [_dynamic_gru(layer, at, after != 0) for at in range(layer.directions)]
        )
    return layer.whole("CommonGRU", {**layer.attributes(), "linear_before_reset": after})


# One direction ----------------------------------------------------------------------------------


class _Weights(msgspec.Struct, frozen=True):
    """Constant W, R and B of a node; B may be absent."""

    w: ConstData
    r: ConstData
    b: ConstData | None

    @staticmethod
    def of(layer: RecurrentLayer) -> _Weights:
        w, r, b = (layer.b.optional_source(position) for position in (1, 2, 3))
        if w is None or r is None or w.const is None or r.const is None:
            raise layer.b.bad(Text("needs W and R"))
        return _Weights(w.const, r.const, None if b is None else b.const)


def _dynamic_rnn(layer: RecurrentLayer, direction: int) -> tuple[Value, ...]:
    b, weights, wide = layer.b, _Weights.of(layer), 4 * layer.hidden
    rows = layer.width + layer.hidden
    both = DeferredConst(
        weights.w.dtype,
        (rows, wide),
        [weights.w, weights.r],
        lambda w, r: np.concatenate([_reordered(array[direction].T) for array in (w, r)]),
        "gates i, j, f, o of W and R",
    )
    bias: ConstData = SplatConst(0, weights.w.dtype, (wide,))
    if weights.b is not None:

        def compute(bias: Array) -> Array:
            return _reordered(bias[direction].reshape(2, -1).sum(axis=0, dtype=bias.dtype))

        bias = DeferredConst(weights.b.dtype, (wide,), [weights.b], compute, "sum of biases")
    inputs = [
        layer.x,
        b.const("W", both),
        b.const("B", bias),
        b.optional_input(4),
        layer.initial_of(5, direction),
        layer.initial_of(6, direction),
    ]
    return _one_direction(layer, "DynamicRNN", direction, (inputs, 3), {})


def _dynamic_gru(layer: RecurrentLayer, direction: int, reset_after: bool) -> tuple[Value, ...]:
    b, weights, wide = layer.b, _Weights.of(layer), 3 * layer.hidden
    sources = ((weights.w, layer.width), (weights.r, layer.hidden))
    matrices = [
        DeferredConst(data.dtype, (rows, wide), [data], lambda w: w[direction].T, "transposed")
        for data, rows in sources
    ]
    biases: list[Value | None] = [None, None]
    if weights.b is not None:
        for at in range(2):

            def compute(bias: Array, at: int = at) -> Array:
                half: Array = bias[direction].reshape(2, -1)[at]
                return half

            half = DeferredConst(weights.b.dtype, (wide,), [weights.b], compute, "half of B")
            biases[at] = b.const("B", half)
    inputs = [
        layer.x,
        b.const("W", matrices[0]),
        b.const("R", matrices[1]),
        *biases,
        b.optional_input(4),
        layer.initial_of(5, direction),
    ]
    return _one_direction(
        layer, "DynamicGRUV2", direction, (inputs, 2), {"reset_after": reset_after}
    )


def _one_direction(
    layer: RecurrentLayer,
    op: str,
    direction: int,
    operands: tuple[list[Value | None], int],
    attributes: dict[str, AttrValue],
) -> tuple[Value, ...]:
    """The AI Core's layer `op` on inputs and with a number of outputs."""
    inputs, count = operands
    type_ = TensorType(layer.x.type.dtype, (layer.steps, layer.batch, layer.hidden))
    outputs = [(name, type_) for name in ("y", "output_h", "output_c")[:count]]
    toward = DIRECTIONS[layer.direction][direction]
    attributes = {"direction": toward, "is_training": False, **attributes}
    return layer.b.ops(op, layer.b.present(*inputs), outputs, attributes)


def _reordered(columns: Array) -> Array:
    gates = np.split(columns, 4, axis=-1)
    return np.concatenate([gates[gate] for gate in _IOFC_TO_IJFO], axis=-1)

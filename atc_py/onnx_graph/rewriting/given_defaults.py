"""Defaults of inputs that a node may omit, as data."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto

from atc_py.onnx_graph.graph import ValueType
from atc_py.onnx_graph.reading.tensors import dtype_of_element
from atc_py.tensor.shapes import Shape

_Data = NDArray[Any]
_Types = Mapping[str, ValueType]


def default_inputs(node: NodeProto, types: _Types) -> dict[int, _Data]:
    """The defaults of the inputs that a node omits, by position, as far as they are known."""
    given = _OPERATORS.get(node.op_type) if node.domain in {"", "ai.onnx"} else None
    if given is None:
        return {}
    values = given(node, types)
    return {
        at: value
        for at, name in enumerate(node.input)
        if not name and (value := values.get(at)) is not None
    }


def _dtype(node: NodeProto, types: _Types, at: int = 0) -> np.dtype[Any] | None:
    known = types.get(node.input[at]) if at < len(node.input) else None
    dtype = None if known is None else dtype_of_element(known.element)
    return None if dtype is None else np.dtype(dtype.numpy)


def _shape(node: NodeProto, types: _Types, at: int) -> Shape | None:
    known = types.get(node.input[at]) if at < len(node.input) else None
    return None if known is None else known.shape


def _clip(node: NodeProto, types: _Types) -> dict[int, _Data]:
    dtype = _dtype(node, types)
    if dtype is None:
        return {}
    limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return {1: np.asarray(limits.min, dtype), 2: np.asarray(limits.max, dtype)}


def _resize(_node: NodeProto, _types: _Types) -> dict[int, _Data]:
    return {1: np.empty(0, np.float32), 2: np.empty(0, np.float32)}


def _slice(node: NodeProto, types: _Types) -> dict[int, _Data]:
    starts, dtype = _shape(node, types, 1), _dtype(node, types, 1)
    if starts is None or dtype is None:
        return {}
    return {3: np.arange(starts[0], dtype=dtype), 4: np.ones(starts[0], dtype)}


def _pad(node: NodeProto, types: _Types) -> dict[int, _Data]:
    dtype = _dtype(node, types)
    return {} if dtype is None else {2: np.zeros((), dtype)}


_BATCH_FIRST = 1


def _recurrent(node: NodeProto, types: _Types) -> dict[int, _Data]:
    dtype = _dtype(node, types)
    x, w, r = (_shape(node, types, at) for at in range(3))
    if dtype is None or x is None or w is None or r is None:
        return {}
    layout = next((each.i for each in node.attribute if each.name == "layout"), 0)
    steps, batch = (x[1], x[0]) if layout == _BATCH_FIRST else x[:2]
    state = (batch, w[0], r[2]) if layout == _BATCH_FIRST else (w[0], batch, r[2])
    return {
        3: np.zeros((w[0], 2 * w[1]), dtype),
        4: np.full(batch, steps, np.int32),
        5: np.zeros(state, dtype),
        6: np.zeros(state, dtype),
    }


_OPERATORS: Mapping[str, Callable[[NodeProto, _Types], dict[int, _Data]]] = {
    "Clip": _clip,
    "GRU": _recurrent,
    "LSTM": _recurrent,
    "Pad": _pad,
    "RNN": _recurrent,
    "Resize": _resize,
    "Slice": _slice,
}

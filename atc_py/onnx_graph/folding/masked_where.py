"""Where of constants that hides what ONNX does not define: the cast of an infinite logarithm, say.

Bucketed positions take the logarithm of distances, 0 among them, cast it to integers, and choose by
a constant condition what the cast is not needed for. ONNX leaves the cast of what does not fit to
the device; as long as the condition chooses none of it, the result is a constant.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from atc_py.onnx_graph.folding.evaluate import can_evaluate, evaluate, fits_the_cast
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode

Array = npt.NDArray[Any]
Partial = tuple[Array, npt.NDArray[np.bool_]]


_ELEMENTWISE = frozenset(
    {"Abs", "Add", "Cast", "Div", "Identity", "Max", "Min", "Mul", "Neg", "Sub"}
)
"""Operators of which an element of the result comes from one element of each input alone."""

_MOST_NODES = 16
"""Nodes between the cast and the choice."""

_MOST_BYTES = 2**24
"""Bytes of the result; positions of sentences take a few MiB at most."""


def fold_masked_where(graph: OnnxGraph, node: OnnxNode, held: Collection[str] = ()) -> Array | None:
    """The data of a Where whose condition chooses defined elements only, else None."""
    if len(node.input_names) != 3 or node.input_names[0] not in graph.consts:  # noqa: PLR2004
        return None
    known = _Known(graph, held)
    try:
        return _chosen(
            graph.consts[node.input_names[0]].numpy(), *map(known.value, node.input_names[1:])
        )
    except ValueError:  # shapes that do not broadcast
        return None


def _chosen(chosen: Array, first: Partial | None, second: Partial | None) -> Array | None:
    """The elements that a condition chooses; None unless all of them are defined."""
    if first is None or second is None or first[0].dtype != second[0].dtype:
        return None
    shape = np.broadcast_shapes(chosen.shape, first[0].shape, second[0].shape)
    if np.prod(shape, dtype=np.float64) * first[0].itemsize > _MOST_BYTES:
        return None
    if not np.where(chosen, first[1], second[1]).all():
        return None
    return np.where(chosen, first[0], second[0])


class _Known:
    """Values that are constants up to elements that are not defined; these are 1 here."""

    def __init__(self, graph: OnnxGraph, held: Collection[str]) -> None:
        self._graph = graph
        self._held = held
        self._room = _MOST_NODES

    def value(self, name: str) -> Partial | None:
        """The data of a value, and which elements are defined; None if data of a run make it."""
        const = self._graph.consts.get(name)
        if const is not None:
            array = const.numpy()
            return array, np.ones((), np.bool_)
        node = self._graph.producer(name)
        if node is None or node in self._graph.unsound or node.op_type in self._held:
            return None
        if node.op_type not in _ELEMENTWISE or not can_evaluate(node):
            return None
        if not self._room:
            return None
        self._room -= 1
        inputs = {entry: self.value(entry) for entry in node.reads}
        values = {tensor: value for tensor, value in inputs.items() if value is not None}
        return self._result(node, values) if len(values) == len(inputs) else None

    def _result(self, node: OnnxNode, inputs: Mapping[str, Partial]) -> Partial | None:
        arrays = {name: array for name, (array, _) in inputs.items()}
        masks = [mask for _, mask in inputs.values()]
        if node.op_type == "Cast":
            ((name, array),) = arrays.items()
            fits = fits_the_cast(array, node.integer("to", onnx.TensorProto.FLOAT))
            arrays = {name: np.where(fits, array, np.ones((), array.dtype))}
            masks.append(fits)
        results = evaluate(node, arrays, self._graph.opsets)
        if not results:
            return None
        (result,) = results.values()
        defined = np.broadcast_to(np.logical_and.reduce(np.broadcast_arrays(*masks)), result.shape)
        return np.where(defined, result, np.ones((), result.dtype)), defined

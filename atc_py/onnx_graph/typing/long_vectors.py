"""Vectors that are too long to be shapes, and what inference makes of them.

onnx's data propagation takes every one-dimensional tensor that meets certain operators for a shape
and keeps an object for each of its elements: 30 million elements take it 13 seconds and 4 GB, and a
range that claims 10^12 takes the machine.
"""

from collections.abc import Mapping

import onnx
from onnx import shape_inference

from atc_py.onnx_graph.folding.graph import ValueType
from atc_py.onnx_graph.reading.declared import type_of_proto

LONG = 1 << 16
"""Elements of a vector that is no shape any more."""

_PROPAGATING = frozenset({"Cast", "Concat", "Gather", "Size", "Slice", "Squeeze", "Unsqueeze"})
"""Operators that onnx follows shapes through without a bound on their length."""


def has_long_vectors(model: onnx.ModelProto, known: Mapping[str, ValueType]) -> bool:
    """True if data propagation would meet a vector of more than LONG elements in `model`.

    Inference without it tells, which takes few milliseconds and no memory.

    Args:
        model: the model that is to be inferred.
        known: types that an earlier inference found, which are looked at in place of another one;
            empty before the first.

    Raises:
        Exception: what onnx raises for models that it cannot make sense of.
    """
    nodes = (node for node in model.graph.node if node.op_type in _PROPAGATING)
    read = {name for node in nodes for name in node.input}
    if not read:
        return False
    types = known or _inferred_plainly(model)
    return any(_is_long(types[name]) for name in read if name in types)


def _inferred_plainly(model: onnx.ModelProto) -> dict[str, ValueType]:
    """The types of all values as far as they are known without data propagation."""
    graph = shape_inference.infer_shapes(model, data_prop=False).graph
    found = {value.name: type_of_proto(value.type) for value in (*graph.input, *graph.value_info)}
    return {name: known for name, known in found.items() if known is not None}


def _is_long(known: ValueType) -> bool:
    """True if a value is a vector of more than LONG elements."""
    dims = known.dims or ()
    return len(dims) == 1 and (dims[0] or 0) > LONG

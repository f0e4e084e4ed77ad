"""A copy of a model with other float constants."""

from collections.abc import Callable
from typing import Any

import onnx
from numpy.typing import NDArray

_FLOATS = frozenset({onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16})


def with_constants(
    model: onnx.ModelProto, change: Callable[[NDArray[Any]], NDArray[Any]]
) -> onnx.ModelProto:
    """A copy of `model` with `change` of each float initializer, of the same dtype."""
    found = onnx.ModelProto()
    found.CopyFrom(model)
    for each in found.graph.initializer:
        if each.data_type in _FLOATS:
            array = change(onnx.numpy_helper.to_array(each))
            each.CopyFrom(onnx.numpy_helper.from_array(array, each.name))
    return found

"""Sparse tensors as arrays (onnx.proto, SparseTensorProto)."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import SparseTensorProto, numpy_helper

from atc_py.onnx_graph.source.limits import FOLD_LIMIT
from atc_py.text import Text


def dense_array(sparse: SparseTensorProto) -> NDArray[Any]:
    """A sparse tensor with its zeros.

    Positions are linear, or one number an axis in each row.

    Raises:
        ValueError: it would be too large, or positions do not fit the values or the dims.
    """
    values = numpy_helper.to_array(sparse.values).reshape(-1)
    positions = numpy_helper.to_array(sparse.indices)
    dims = tuple(sparse.dims)
    if min(dims, default=0) < 0 or math.prod(dims) * values.itemsize > FOLD_LIMIT:
        raise ValueError(Text("no tensor of dims {dims}", dims=dims))
    if positions.ndim > 1:
        positions = np.ravel_multi_index(tuple(positions.T), dims)
    inside = (positions >= 0) & (positions < math.prod(dims))
    if positions.shape != values.shape or not inside.all():
        raise ValueError("positions do not fit the values or the dims")
    dense = np.zeros(math.prod(dims), values.dtype)
    dense[positions] = values
    return dense.reshape(dims)

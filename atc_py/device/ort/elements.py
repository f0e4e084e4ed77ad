"""Element types of exported models: ONNX's numbers, and the order of bytes in a file."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.onnx_graph.reading.tensors import element_of_dtype
from atc_py.tensor.dtypes import DType


def held_dtype(dtype: DType) -> DType:
    """The dtype that holds `dtype` in an exported model: int8 for int4, which few runtimes have."""
    return DType.INT8 if dtype is DType.INT4 else dtype


def element_type(dtype: DType) -> int:
    return element_of_dtype(held_dtype(dtype))


def bytes_of(array: NDArray[Any]) -> bytes:
    """The elements row by row, in the byte order of ONNX's files."""
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).tobytes()

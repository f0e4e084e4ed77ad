"""Elements of exported models: their types, the order of their bytes, and constants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.onnx_graph.reading.tensors import element_of_dtype
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape


def held_dtype(dtype: DType) -> DType:
    """The dtype that holds `dtype` in an exported model: int8 for int4, which few runtimes have."""
    return DType.INT8 if dtype is DType.INT4 else dtype


def element_type(dtype: DType) -> int:
    return element_of_dtype(held_dtype(dtype))


def bytes_of(array: NDArray[Any]) -> bytes:
    """The elements row by row, in the byte order of ONNX's files."""
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).tobytes()


@dataclass(frozen=True, slots=True)
class Initializer:
    """A constant as the exported model holds it; it has the methods of `ConstData`."""

    name: str
    dtype: DType  # its element type; int8 for int4
    shape: Shape
    read: Callable[[], NDArray[Any]]  # returns its data, which may be of int4

    @classmethod
    def of(cls, name: str, array: NDArray[Any]) -> Initializer:
        return cls(name, held_dtype(DType.from_numpy(array.dtype)), array.shape, lambda: array)

    def numpy(self) -> NDArray[Any]:
        return np.asarray(self.read()).astype(self.dtype.numpy, copy=False)

    def release(self) -> None:
        """Do nothing: data is mapped, or was made here."""

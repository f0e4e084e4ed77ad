"""Values of a session: descriptions of inputs and outputs, metadata, and arrays as OrtValues."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.onnx_graph.reading.interface import DeclaredValue, FileMetadata
from atc_py.tensor.dtypes import DType

Array = npt.NDArray[Any]


_SHORT = {DType.FLOAT32: "float", DType.FLOAT64: "double"}
ONNX_NUMBERS = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "bool": 9,
    "float16": 10,
    "float64": 11,
    "uint32": 12,
    "uint64": 13,
    "bfloat16": 16,
}
"""Numbers of the element types in ONNX."""


class NodeArg:
    """An input or output as programs look at it.

    Attributes:
        type: such as `tensor(float)`.
        shape: dims; a symbolic one is its name, one without a name None.
    """

    __slots__ = ("name", "shape", "type")

    def __init__(self, name: str, type_: str, shape: list[int | str | None]) -> None:
        self.name = name
        self.type = type_
        self.shape = shape

    @classmethod
    def of(cls, declared: DeclaredValue) -> NodeArg:
        """A declared value; an unknown rank looks like that of a scalar, as in onnxruntime."""
        return cls(declared.name, declared.type, list(declared.dims or ()))

    def __str__(self) -> str:
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"

    __repr__ = __str__


class ModelMetadata:
    """Metadata of a model by onnxruntime's names."""

    def __init__(self, found: FileMetadata) -> None:
        self.producer_name = found.producer_name
        self.graph_name = found.graph_name
        self.domain = found.domain
        self.description = found.description
        self.graph_description = found.graph_description
        self.version = found.version
        self.custom_metadata_map: Mapping[str, str] = dict(found.custom_metadata_map)


class SessionValue:
    """An array with the surface of onnxruntime's OrtValue, for programs without onnxruntime."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def numpy(self) -> Array:
        """The array."""
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self._array, dtype=dtype, copy=bool(copy))

    def shape(self) -> list[int]:
        """The dims."""
        return list(self._array.shape)

    def data_type(self) -> str:
        """The type, such as `tensor(float)`."""
        return type_text(DType.from_numpy(self._array.dtype))

    def element_type(self) -> int:
        """The number of the element type in ONNX."""
        return ONNX_NUMBERS[DType.from_numpy(self._array.dtype).value]

    def device_name(self) -> str:
        """`cpu`: outputs are in the memory of the host."""
        return "cpu"

    def tensor_size_in_bytes(self) -> int:
        """The bytes of the data."""
        return self._array.nbytes

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._array.ctypes.data

    def has_value(self) -> bool:
        """True: only optional types can be empty."""
        return True

    def is_tensor(self) -> bool:
        """True: there are no other values."""
        return True

    def is_sparse_tensor(self) -> bool:
        """False."""
        return False

    def is_tensor_sequence(self) -> bool:
        """False."""
        return False

    def update_inplace(self, data: Array) -> None:
        """Copy `data` into the array."""
        np.copyto(self._array, data)


def value_of(array: Array) -> Any:
    """An array as onnxruntime's own OrtValue where the program has imported onnxruntime.

    Then it may pass the value on to sessions of onnxruntime's.
    """
    library = sys.modules.get("onnxruntime")
    made = getattr(library, "OrtValue", None)
    if made is None or DType.from_numpy(array.dtype) is DType.BFLOAT16:
        return SessionValue(array)
    return made.ortvalue_from_numpy(np.ascontiguousarray(array).reshape(array.shape))


def is_value(data: object) -> bool:
    """True for an OrtValue, of onnxruntime's or of a session's."""
    return callable(getattr(data, "is_tensor", None)) and callable(getattr(data, "numpy", None))


def type_text(dtype: DType) -> str:
    """The type of tensors as onnxruntime writes it."""
    return f"tensor({_SHORT.get(dtype, dtype.value)})"

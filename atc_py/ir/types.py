"""Types of values: dtype, shape, format and storage of a tensor."""

from __future__ import annotations

from enum import IntEnum

import msgspec

from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Dims, Shape, closed_shape, element_count
from atc_py.tensor.storage import Storage, stored_shape


class TensorType(msgspec.Struct, frozen=True):
    """The static type of a value."""

    dtype: DType
    dims: Dims  # lengths of the axes, outermost axis first; None for one that only the run knows
    format: Format = Format.ND  # what the axes mean
    storage: Storage | None = None  # how the elements are ordered in memory; None for row by row

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def is_open(self) -> bool:
        return None in self.dims

    @property
    def shape(self) -> Shape:
        """The dims, all of them known; OpenShapeError where one is open."""
        return closed_shape(self.dims)

    @property
    def nbytes(self) -> int:
        return element_count(self.shape) * self.dtype.itemsize

    @property
    def stored_dims(self) -> Dims:
        """Shape of the array that holds the tensor, padding included, or ImpossibleStorageError."""
        return stored_shape(self.dims, self.format, self.storage, self.dtype)

    @property
    def stored_nbytes(self) -> int:
        """Bytes that the tensor takes in its storage, padding included; no dim may be open."""
        return element_count(closed_shape(self.stored_dims)) * self.dtype.itemsize

    def with_dtype(self, dtype: DType) -> TensorType:
        return TensorType(dtype, self.dims, self.format, self.storage)

    def with_format(self, fmt: Format) -> TensorType:
        return TensorType(self.dtype, self.dims, fmt, self.storage)

    def with_storage(self, storage: Storage | None) -> TensorType:
        return TensorType(self.dtype, self.dims, self.format, storage)

    def __str__(self) -> str:
        dims = ",".join("?" if dim is None else str(dim) for dim in self.dims)
        place = "" if self.storage is None else f"@{self.storage}"
        return f"{self.dtype.value}[{dims}] {self.format.value}{place}"


class Phase(IntEnum):
    """Progress of a graph; a later phase keeps what the earlier ones promise.

    LOWERED: every node is a target operator with its inputs and attributes.
    TYPED: every node has an engine and its dtypes are one of that engine's columns.
    LAID_OUT: every value has a format that its producer and consumers accept.
    PLACED: every value has a place in memory.
    """

    LOWERED = 1
    TYPED = 2
    LAID_OUT = 3
    PLACED = 4

    @property
    def label(self) -> str:
        return self.name.lower()

"""Types of values: dtype, shape and format of a tensor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from atc_py.formats import Format
from atc_py.shapes import Dims, Shape, closed_shape, element_count

if TYPE_CHECKING:
    from atc_py.dtypes import DType

__all__ = ["TensorType"]


@dataclass(frozen=True, slots=True)
class TensorType:
    """The static type of a value.

    Attributes:
        dtype: element type.
        dims: extents, outermost axis first; None for one that only the run knows.
        format: what the axes mean.
    """

    dtype: DType
    dims: Dims
    format: Format = Format.ND

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.dims)

    @property
    def is_open(self) -> bool:
        """Whether only the run knows all extents."""
        return None in self.dims

    @property
    def shape(self) -> Shape:
        """The extents, all of them known.

        Raises:
            OpenShapeError: one of them is open.
        """
        return closed_shape(self.dims)

    @property
    def nbytes(self) -> int:
        """Bytes of a dense tensor of this type, without alignment.

        Raises:
            OpenShapeError: an extent is open.
        """
        return element_count(self.shape) * self.dtype.itemsize

    def with_dtype(self, dtype: DType) -> TensorType:
        """The same shape and format with another dtype."""
        return replace(self, dtype=dtype)

    def with_format(self, fmt: Format) -> TensorType:
        """The same dtype and shape in another format."""
        return replace(self, format=fmt)

    def __str__(self) -> str:
        extents = ",".join("?" if extent is None else str(extent) for extent in self.dims)
        return f"{self.dtype.value}[{extents}] {self.format.value}"

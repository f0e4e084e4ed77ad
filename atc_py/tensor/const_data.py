"""Data of a constant, as source models, graphs and offline models hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@runtime_checkable
class ConstData(Protocol):
    """Data of a constant."""

    @property
    def dtype(self) -> DType: ...

    @property
    def shape(self) -> Shape: ...

    def numpy(self) -> npt.NDArray[np.generic]:
        """The data; callers must not write to it and should not keep it for long."""
        ...

    def release(self) -> None:
        """Give back memory that `numpy` took and that can be read again."""
        ...

"""Constants of an exported model: data of the package, as they are or in a form made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.ort.elements import held_dtype
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape


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

"""Tensors of ais_bench: descriptions of inputs and outputs, their types, and data on the device."""

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.tensor.dtypes import DType
from atc_py.text import Text


class dtype(IntEnum):  # noqa: N801  (ais_bench's name, which its values print)
    """Element types by their numbers in ACL; printed as `dtype.float32`."""

    float32 = 0
    float16 = 1
    int8 = 2
    int32 = 3
    uint8 = 4
    int16 = 6
    uint16 = 7
    uint32 = 8
    int64 = 9
    uint64 = 10
    double64 = 11
    bool = 12
    bfloat16 = 27
    int4 = 29

    def __str__(self) -> str:
        return f"dtype.{self.name}"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


def dtype_of(kind: DType) -> dtype:
    """The number of an element type."""
    return dtype["double64" if kind is DType.FLOAT64 else kind.value]


@dataclass
class TensorDesc:
    """An input or output of a model.

    Attributes:
        name: that of the ONNX input; of an output `node:index:tensor`.
        datatype: the element type.
        format: number of the format: 0 NCHW, 1 NHWC, 2 ND.
        shape: dims; -1 for one that a gear or the run decides.
        size: bytes of the largest gear; 0 where only the run knows.
        realsize: bytes for the dims that are set.
    """

    name: str
    datatype: dtype
    format: int
    shape: list[int]
    size: int
    realsize: int

    def __repr__(self) -> str:
        dims = ", ".join(map(str, self.shape))
        return f"{self.name}  ({dims})  {self.datatype.name}  {self.size}  {self.realsize}"


class AclTensor:
    """An array that is on the device, or in the host's memory again."""

    def __init__(self, array: npt.ArrayLike) -> None:
        self._array: npt.NDArray[Any] = np.ascontiguousarray(array).reshape(np.shape(array))
        self._device = -1

    @property
    def shape(self) -> list[int]:
        """The dims."""
        return list(self._array.shape)

    @property
    def size(self) -> int:
        """Bytes of the data."""
        return int(self._array.nbytes)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return self._array.dtype

    def to_device(self, device_id: int) -> None:
        """Copy the data to a device."""
        self._device = device_id

    def to_host(self) -> None:
        """Copy the data to the host's memory."""
        self._device = -1

    def raw(self) -> npt.NDArray[np.uint8]:
        """The bytes of the data."""
        return self._array.reshape(-1).view(np.uint8)

    def __array__(
        self,
        dtype: np.dtype[Any] | None = None,
        copy: bool | None = None,
    ) -> npt.NDArray[Any]:
        if dtype is not None and dtype != self._array.dtype:
            return self._array.astype(dtype)
        return self._array.copy() if copy else self._array

    def __repr__(self) -> str:
        place = "host" if self._device < 0 else Text("device {device}", device=self._device)
        dims = ",".join(map(str, self.shape))
        return f"<Tensor>\nshape:\t\t({dims})\ndtype:\t\t{self._array.dtype}\ndevice:\t\t{place}"

    def __len__(self) -> int:
        return math.prod(self._array.shape)

"""Element types: one row of facts for each dtype that a tensor can have."""

from __future__ import annotations

from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np


class UnknownDTypeError(ValueError):
    """A dtype name or number that no row of the table has."""


class _Facts(NamedTuple):
    """One row: bytes and bits of an element, kind, number in CANN's graph enum."""

    itemsize: int
    bits: int
    kind: str
    ge: int


class DType(Enum):
    """A tensor's element type; the value is its name in text, YAML and JSON."""

    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    INT4 = "int4"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    BOOL = "bool"

    __hash__ = object.__hash__
    """Members are single objects; Enum's own hash is a call of Python for each look-up."""

    @classmethod
    def parse(cls, name: str) -> DType:
        """The dtype called `name`; `double`, `float` and `bf16`-style names are accepted."""
        found = _BY_NAME.get(name)
        if found is None:
            known = ", ".join(member.value for member in cls)
            raise UnknownDTypeError(f"unknown dtype {name!r}; known are {known}")
        return found

    @classmethod
    def from_numpy(cls, dtype: np.dtype[Any]) -> DType:
        """The dtype of numpy arrays, whatever their byte order.

        UnknownDTypeError for objects, strings and complex numbers, of which no tensor can be.
        """
        return _of_numpy(dtype)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The numpy dtype in native byte order; bfloat16 and int4 come from ml_dtypes."""
        return _numpy_of(self)

    @property
    def itemsize(self) -> int:
        """Bytes of one element in memory and in files; an int4 has one of its own."""
        return _FACTS[self].itemsize

    @property
    def bits(self) -> int:
        """Bits that tell an element's value; fewer than its bytes have for int4 and bool."""
        return _FACTS[self].bits

    @property
    def ge(self) -> int:
        """The number of this dtype in CANN's graph enum (DT_FLOAT is 0, DT_FLOAT16 is 1, ...)."""
        return _FACTS[self].ge

    @property
    def is_float(self) -> bool:
        return _FACTS[self].kind == "float"

    @property
    def is_integer(self) -> bool:
        """True for the signed and unsigned integers; bool is neither float nor integer."""
        return _FACTS[self].kind in {"int", "uint"}


@cache
def _of_numpy(dtype: np.dtype[Any]) -> DType:
    return DType.parse(dtype.name)


@cache
def _numpy_of(dtype: DType) -> np.dtype[Any]:
    import numpy as np

    if dtype in {DType.BFLOAT16, DType.INT4}:
        import ml_dtypes

        extended: np.dtype[Any] = np.dtype(getattr(ml_dtypes, dtype.value))
        return extended
    found: np.dtype[Any] = np.dtype(dtype.value)
    return found


_FACTS = {
    DType.FLOAT16: _Facts(2, 16, "float", 1),
    DType.BFLOAT16: _Facts(2, 16, "float", 27),
    DType.FLOAT32: _Facts(4, 32, "float", 0),
    DType.FLOAT64: _Facts(8, 64, "float", 11),
    DType.INT4: _Facts(1, 4, "int", 29),
    DType.INT8: _Facts(1, 8, "int", 2),
    DType.INT16: _Facts(2, 16, "int", 6),
    DType.INT32: _Facts(4, 32, "int", 3),
    DType.INT64: _Facts(8, 64, "int", 9),
    DType.UINT8: _Facts(1, 8, "uint", 4),
    DType.UINT16: _Facts(2, 16, "uint", 7),
    DType.UINT32: _Facts(4, 32, "uint", 8),
    DType.UINT64: _Facts(8, 64, "uint", 10),
    DType.BOOL: _Facts(1, 1, "bool", 12),
}

_BY_NAME = {dtype.value: dtype for dtype in DType} | {
    "double": DType.FLOAT64,
    "float": DType.FLOAT32,
    "fp16": DType.FLOAT16,
    "fp32": DType.FLOAT32,
    "bf16": DType.BFLOAT16,
}


class Format(Enum):
    """A tensor's format; the value is its name in CANN and in the text form."""

    ND = "ND"
    NCHW = "NCHW"
    NHWC = "NHWC"
    NCDHW = "NCDHW"
    NC1HWC0 = "NC1HWC0"
    FRACTAL_Z = "FRACTAL_Z"
    FRACTAL_NZ = "FRACTAL_NZ"
    C1HWNCOC0 = "C1HWNCoC0"
    FRACTAL_Z_C04 = "FRACTAL_Z_C04"
    NDC1HWC0 = "NDC1HWC0"
    FRACTAL_Z_3D = "FRACTAL_Z_3D"

    __hash__ = object.__hash__
    """Members are single objects; Enum's own hash is a call of Python for each look-up."""

"""Dtypes that elements are moved in where a runtime's operator does not take their own."""

from collections.abc import Callable

from atc_py.device.ort.body import Body
from atc_py.tensor.dtypes import DType

_INTEGERS = (DType.INT32, DType.INT64)

_CARRIERS: dict[DType, tuple[DType, ...]] = {
    DType.FLOAT16: (DType.FLOAT32,),
    DType.BFLOAT16: (DType.FLOAT32,),
    DType.FLOAT32: (DType.FLOAT64,),
    DType.BOOL: (DType.UINT8, *_INTEGERS),
    DType.INT4: _INTEGERS,
    DType.INT8: _INTEGERS,
    DType.INT16: _INTEGERS,
    DType.INT32: (DType.INT64,),
    DType.UINT8: _INTEGERS,
    DType.UINT16: _INTEGERS,
    DType.UINT32: (DType.INT64,),
    DType.UINT64: (DType.INT64,),  # large numbers become negative ones and come back
}
"""Dtypes that hold all numbers of a dtype, the best first."""


def carrier_of(dtype: DType, known: frozenset[DType]) -> DType:
    """`dtype` if it is among those `known`, else one of them that holds its numbers."""
    if dtype in known:
        return dtype
    return next((each for each in _CARRIERS.get(dtype, ()) if each in known), dtype)


def carried(
    body: Body, value: str, dtype: DType, known: frozenset[DType], write: Callable[[str], str]
) -> str:
    """Result of `write` on `value` in one of the `known` dtypes.

    Args:
        body: the nodes so far.
        value: a value of `dtype`.
        dtype: its dtype, and that of the result.
        known: dtypes that the nodes to be written take.
        write: writes the nodes, and returns their result, which is of the dtype of what it gets.
    """
    carrier = carrier_of(dtype, known)
    if carrier is dtype:
        return write(value)
    return body.cast(write(body.cast(value, carrier)), dtype)

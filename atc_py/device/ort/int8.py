"""Operands of int8 products as ONNX runtimes multiply them exactly: uint8, 128 more, and a zero point.

Products of two uint8 are exact on every machine; those of uint8 and int8 saturate on some. What is
padded is the zero point of the data.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.ort.body import Body
from atc_py.tensor.dtypes import DType

_SHIFT = 128
"""The difference between an int8 and the byte that stands for it."""

OFFSET_W = 3
"""Position of the offsets of the weights."""


def bytes_of_operand(body: Body, position: int) -> str:
    """An int8 operand as uint8, 128 more."""
    if position in body.node.constants:
        return body.form(position, "bytes", shifted)
    low = body.cast(body.own(position), DType.UINT8)
    return body.add("BitwiseXor", low, body.const(_SHIFT, DType.UINT8))


def shifted(array: NDArray[Any]) -> NDArray[np.uint8]:
    found: NDArray[np.uint8] = np.ascontiguousarray(array).view(np.uint8) ^ np.uint8(_SHIFT)
    return found


def zero_point(body: Body, zero: int = 0) -> str:
    """The byte that stands for `zero`."""
    return body.const(_SHIFT + zero, DType.UINT8)


def single_offset(body: Body) -> str:
    """The byte that stands for the one offset of all weights, that of 0 if there is none."""
    node = body.node
    if node.has(OFFSET_W) and node.required(OFFSET_W).dims == (1,):
        return bytes_of_operand(body, OFFSET_W)
    return zero_point(body)


def offset_of_weights(body: Body) -> str | None:
    """The offsets of the weights as int32 where there is one for each channel, else None."""
    node = body.node
    if not node.has(OFFSET_W) or node.required(OFFSET_W).dims == (1,):
        return None
    return body.cast(body.own(OFFSET_W), DType.INT32)

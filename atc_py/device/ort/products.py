"""Operands of products: floats, rounded to HF32 where a node asks for it, and int8.

HF32 is float32 with 12 significant bits instead of 24. Rounding to it takes no bits apart: where p is
x times a power of 2, p - x is rounded to the digits that p has, and p - (p - x) is x rounded to those.
Ties go to even. In float64, p has room for all that float32 holds: neither the largest numbers nor
the smallest are special, but for the grid of the subnormal ones, which bounds p from below. In
float32, which runtimes are much faster at, they are; so a run looks whether there are any.

ONNX runtimes multiply int8 exactly as uint8, 128 more, with a zero point: products of two uint8 are
exact on every machine; those of uint8 and int8 saturate on some. What is padded is the zero point of
the data.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.ort.body import Body
from atc_py.target.row import rounds_to_hf32
from atc_py.tensor.dtypes import DType

_SPLIT = 2.0**41 + 1
"""Leaves 12 of float64's 53 bits."""

_LEAST = 1.5 * 2.0 ** (52 - 137)
"""Numbers of about this size are multiples of 2^-137, of which HF32's subnormal numbers are."""

_SPLIT_32 = 2.0**12 + 1
"""Leaves 12 of float32's 24 bits."""

_LARGEST_PLAIN = 2.0**115
"""Numbers below it have a product with the former in float32."""

_MOST = 1e300
"""Is subtracted from infinities instead of another infinity."""


def factors(body: Body) -> list[str]:
    """The two operands that a node multiplies, in HF32 where it asks for that."""
    node = body.node
    if node.dtype() is not DType.FLOAT32 or not rounds_to_hf32(node.attributes):
        return [body.x(0), body.x(1)]
    return [
        body.form(at, "hf32", rounded_to_hf32) if at in node.constants else _rounded(body, at)
        for at in range(2)
    ]


def rounded_to_hf32(array: NDArray[Any]) -> NDArray[np.float32]:
    wide = array.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        split = np.clip(np.abs(wide) * _SPLIT, _LEAST, _MOST)
        rounded: NDArray[np.float32] = (split - (split - wide)).astype(np.float32)
    return rounded


def _rounded(body: Body, position: int) -> str:
    """The nodes of `rounded_to_hf32` for an operand: in float32 where no number is special."""
    x = body.own(position)
    if 0 in body.node.required(position).dims:
        return x
    ordinary, special = body.inner(), body.inner()
    branches = [
        each.as_graph([], [(each.add("Identity", made(each, x)), DType.FLOAT32, None)])
        for each, made in ((ordinary, _in_float32), (special, _in_float64))
    ]
    return body.add("If", _is_ordinary(body, x), then_branch=branches[0], else_branch=branches[1])


def _is_ordinary(body: Body, x: str) -> str:
    """True if no number is subnormal or so large that its product has no float32."""
    size = body.add("Abs", x)
    largest = body.add("ReduceMax", size, keepdims=0)
    # What is less than the least normal number becomes less than 1, all else but 0 becomes 1.
    share = body.add("Mul", size, body.const(2.0**126))
    share = body.add("Clip", share, body.const(0.0), body.const(1.0))
    between = body.add("Mul", share, body.add("Sub", body.const(1.0), share))
    subnormal = body.add("ReduceMax", between, keepdims=0)
    small = body.add("Less", largest, body.const(_LARGEST_PLAIN))
    return body.add("And", small, body.add("LessOrEqual", subnormal, body.const(0.0)))


def _in_float32(body: Body, x: str) -> str:
    split = body.add("Mul", x, body.const(_SPLIT_32))
    return body.add("Sub", split, body.add("Sub", split, x))


def _in_float64(body: Body, x: str) -> str:
    wide = body.add("Cast", x, to=DType.FLOAT64)
    product = body.add("Mul", body.add("Abs", wide), body.const(_SPLIT, DType.FLOAT64))
    limits = [body.const(limit, DType.FLOAT64) for limit in (_LEAST, _MOST)]
    split = body.add("Clip", product, *limits)
    rest = body.add("Sub", split, wide)
    return body.add("Cast", body.add("Sub", split, rest), to=DType.FLOAT32)


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

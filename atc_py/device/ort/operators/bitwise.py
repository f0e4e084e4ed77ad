"""Arithmetic of the bits of integers."""

from atc_py.device.ort.body import Body
from atc_py.device.ort.registry import emulates
from atc_py.tensor.dtypes import DType


@emulates("BitwiseAnd")
def bitwise_and(body: Body) -> str:
    """Write `y = x1 & x2`."""
    return body.add("BitwiseAnd", body.own(0), body.own(1))


@emulates("BitwiseOr")
def bitwise_or(body: Body) -> str:
    """Write `y = x1 | x2`."""
    return body.add("BitwiseOr", body.own(0), body.own(1))


@emulates("BitwiseXor")
def bitwise_xor(body: Body) -> str:
    """Write `y = x1 ^ x2`."""
    return body.add("BitwiseXor", body.own(0), body.own(1))


@emulates("Invert")
def invert(body: Body) -> str:
    """Write `y = ~x`."""
    return body.add("BitwiseNot", body.own())


@emulates("LeftShift")
def left_shift(body: Body) -> str:
    """Write `z = x * 2^y`; 0 where y is negative or the width of x or more."""
    valid, amount = _amount(body)
    bits = body.cast(_wide(body, 0), DType.UINT64)
    return _chosen(body, valid, body.add("BitShift", bits, amount, direction="LEFT"))


@emulates("RightShift")
def right_shift(body: Body) -> str:
    """Write `z = floor(x / 2^y)`; 0, or -1 of negative x, where y is negative or x's width or more.

    Of a negative number it is the complement of its complement's, which is not negative.
    """
    valid, amount = _amount(body)
    x = _wide(body, 0)
    if body.node.dtype() is DType.UINT64:
        bits = body.cast(x, DType.UINT64)
        return _chosen(body, valid, body.add("BitShift", bits, amount, direction="RIGHT"))
    zero = body.const(0, DType.INT64)
    sign = body.add("Where", body.add("Less", x, zero), body.const(-1, DType.INT64), zero)
    bits = body.cast(body.add("BitwiseXor", x, sign), DType.UINT64)
    moved = body.cast(body.add("BitShift", bits, amount, direction="RIGHT"), DType.INT64)
    held = body.add("Where", valid, moved, zero)
    return body.cast(body.add("BitwiseXor", held, sign), body.node.dtype())


def _wide(body: Body, position: int) -> str:
    """An operand as int64, which has the bits of uint64."""
    return body.cast(body.own(position), DType.INT64)


def _amount(body: Body) -> tuple[str, str]:
    """True if the second operand is from 0 to below the width, and it or 0 as uint64."""
    amount, zero = _wide(body, 1), body.const(0, DType.INT64)
    valid = body.add(
        "And",
        body.add("Greater", amount, body.const(-1, DType.INT64)),
        body.add("Less", amount, body.const(body.node.dtype().bits, DType.INT64)),
    )
    return valid, body.cast(body.add("Where", valid, amount, zero), DType.UINT64)


def _chosen(body: Body, valid: str, bits: str) -> str:
    """The low bits of uint64 where the shift is valid, else 0."""
    value = body.cast(bits, DType.INT64)
    chosen = body.add("Where", valid, value, body.const(0, DType.INT64))
    return body.cast(chosen, body.node.dtype())

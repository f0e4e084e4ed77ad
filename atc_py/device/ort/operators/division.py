"""Quotients and remainders of each element."""

import numpy as np

from atc_py.device.ort.body import Body
from atc_py.device.ort.numbers import carried, number, returned
from atc_py.device.ort.registry import emulates
from atc_py.tensor.dtypes import DType


@emulates("RealDiv")
def real_div(body: Body) -> str:
    """Write `y = x1 / x2`; integers lose their fraction, and divided by 0 they are 0.

    Of integers 1, 0 and -1 are multiplied by: runtimes stop at a division by 0, and at that of the
    least integer by -1.
    """
    if body.node.dtype().is_float:
        return body.add("Div", body.x(0), body.x(1))
    if body.node.dtype() is DType.UINT64:
        return returned(body, _unsigned_quotient(body))
    x1, x2 = carried(body, 0), carried(body, 1)
    small = _is_small(body, x2)
    one = number(body, 1)
    quotient = body.add("Div", x1, body.add("Where", small, one, x2))
    return returned(body, body.add("Mul", quotient, body.add("Where", small, x2, one)))


@emulates("Mod")
def mod(body: Body) -> str:
    """Write `y = x1 - x2 * trunc(x1 / x2)`, of x1's sign; integers modulo 0 are 0."""
    if body.node.dtype().is_float:
        return body.add("Mod", body.x(0), body.x(1), fmod=1)
    if body.node.dtype() is DType.UINT64:
        return _unsigned_remainder(body)
    x1, x2 = carried(body, 0), carried(body, 1)
    divisor = body.add("Where", _is_small(body, x2), number(body, 1), x2)
    whole = body.add("Mul", body.add("Div", x1, divisor), divisor)
    return returned(body, body.add("Sub", x1, whole))


@emulates("FloorMod")
def floor_mod(body: Body) -> str:
    """Write `y = x1 - x2 * floor(x1 / x2)`, of x2's sign; integers modulo 0 are 0."""
    if body.node.dtype() is DType.UINT64:
        return _unsigned_remainder(body)
    x1, x2 = carried(body, 0), carried(body, 1)
    zero = number(body, 0)
    if not body.node.dtype().is_float:
        x2 = body.add("Where", _is_small(body, x2), number(body, 1), x2)
        return returned(body, body.add("Mod", x1, x2))
    rest = body.add("Mod", x1, x2, fmod=1)
    signs = body.add("Xor", body.add("Less", rest, zero), body.add("Less", x2, zero))
    left = body.add("Not", body.add("Equal", rest, zero))
    moved = body.add("Add", rest, x2)
    return body.add("Where", body.add("And", signs, left), moved, rest)


def _is_small(body: Body, x: str) -> str:
    """True if integers are 1, 0 or -1."""
    above = body.add("Greater", x, number(body, -2))
    return body.add("And", above, body.add("Less", x, number(body, 2)))


def _unsigned_quotient(body: Body) -> str:
    """The quotient of uint64 as int64 of the same bits; 0 of a division by 0.

    A divisor of 2^63 and more goes once or not at all. By another one half of the number is
    divided, whose quotient is doubled, and the rest is below two divisors.
    """
    x1, x2 = carried(body, 0), carried(body, 1)
    zero, one = number(body, 0), number(body, 1)
    plain = body.add("Greater", x2, zero)
    divisor = body.add("Where", plain, x2, one)
    bit = body.const(1, DType.UINT64)
    half = body.cast(body.add("BitShift", body.own(0), bit, direction="RIGHT"), DType.INT64)
    below = body.add("Div", half, divisor)
    below = body.add("Add", below, below)
    rest = body.add("Sub", x1, body.add("Mul", below, divisor))
    more = body.cast(_reaches(body, rest, divisor), DType.INT64)
    once = body.cast(_reaches(body, x1, x2), DType.INT64)
    other = body.add("Where", body.add("Equal", x2, zero), zero, once)
    return body.add("Where", plain, body.add("Add", below, more), other)


def _reaches(body: Body, x: str, y: str) -> str:
    """True if x, bits of uint64 held as int64, is y or more."""
    least = number(body, np.iinfo(np.int64).min)
    return body.add("GreaterOrEqual", *(body.add("Add", each, least) for each in (x, y)))


def _unsigned_remainder(body: Body) -> str:
    """The remainder of uint64; 1 stands in for a divisor of 0."""
    divisor = carried(body, 1)
    zero, one = number(body, 0), number(body, 1)
    divisor = body.add("Where", body.add("Equal", divisor, zero), one, divisor)
    return body.add("Mod", body.own(0), body.cast(divisor, DType.UINT64))

"""Quotients and remainders of each element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.export.numbers import carried, number, returned
from atc_py.export.registry import emulates
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from atc_py.export.body import Body

__all__: list[str] = []


@emulates("RealDiv")
def real_div(body: Body) -> str:
    """Write `y = x1 / x2`; integers lose their fraction, and divided by 0 they are 0.

    Of integers 1, 0 and -1 are multiplied by: runtimes stop at a division by 0, and at that of the
    least integer by -1.
    """
    if body.node.dtype().is_float:
        return body.add("Div", body.x(0), body.x(1))
    if body.node.dtype() is DType.UINT64:
        divisor, is_zero = _unsigned(body)
        quotient = body.add("Div", body.own(0), divisor)
        return body.add("Sub", quotient, body.add("Mul", quotient, is_zero))
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
    """Return whether integers are 1, 0 or -1."""
    above = body.add("Greater", x, number(body, -2))
    return body.add("And", above, body.add("Less", x, number(body, 2)))


def _unsigned(body: Body) -> tuple[str, str]:
    """Return divisors of uint64 with 1 in place of 0, and 1 where they were 0, else 0."""
    zeros = body.add("Not", body.cast(body.own(1), DType.BOOL))
    is_zero = body.cast(zeros, DType.UINT64)
    return body.add("Add", body.own(1), is_zero), is_zero


def _unsigned_remainder(body: Body) -> str:
    """Return the remainder of uint64."""
    return body.add("Mod", body.own(0), _unsigned(body)[0])

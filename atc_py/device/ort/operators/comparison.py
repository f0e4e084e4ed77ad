"""Comparisons, logic of bools, arithmetic of bits, and the choice between two tensors."""

from collections.abc import Callable

import numpy as np

from atc_py.device.ort.body import Body, emulates
from atc_py.device.ort.numbers import carried, returned
from atc_py.tensor.dtypes import DType


def _in_order(body: Body, position: int) -> str:
    """An operand as numbers that runtimes compare; uint64 moved down to the range of int64."""
    value = carried(body, position)
    if body.node.dtype(position) is not DType.UINT64:
        return value
    return body.add("Add", value, body.const(np.iinfo(np.int64).min, DType.INT64))


def _declare(op: str, name: str, text: str, read: Callable[[Body, int], str]) -> None:
    @emulates(op)
    def write(body: Body) -> str:
        return body.add(name, *(read(body, position) for position in sorted(body.inputs)))

    write.__doc__ = f"Write {text}."


def _own_bools(body: Body, position: int) -> str:
    """An operand for Equal, which takes bools as they are."""
    if body.node.dtype() is DType.BOOL:
        return body.own(position)
    return carried(body, position)


_declare("Equal", "Equal", "`y = x1 == x2`; NaN equals nothing", _own_bools)
_declare("Greater", "Greater", "`y = x1 > x2`", _in_order)
_declare("GreaterEqual", "GreaterOrEqual", "`y = x1 >= x2`", _in_order)
_declare("IsInf", "IsInf", "whether `|x|` is infinite", Body.x)
_declare("IsNan", "IsNaN", "whether x is not a number", Body.x)
_declare("Less", "Less", "`y = x1 < x2`", _in_order)
_declare("LessEqual", "LessOrEqual", "`y = x1 <= x2`", _in_order)
_declare("LogicalAnd", "And", "`y = x1 and x2`", Body.own)
_declare("LogicalNot", "Not", "`y = not x`", Body.own)
_declare("LogicalOr", "Or", "`y = x1 or x2`", Body.own)
_declare("BitwiseAnd", "BitwiseAnd", "`y = x1 & x2`", Body.own)
_declare("BitwiseOr", "BitwiseOr", "`y = x1 | x2`", Body.own)
_declare("BitwiseXor", "BitwiseXor", "`y = x1 ^ x2`", Body.own)
_declare("Invert", "BitwiseNot", "`y = ~x`", Body.own)


@emulates("SelectV2")
def select(body: Body) -> str:
    """Write `result = then` where the condition is true, `else` elsewhere."""
    chosen = body.add("Where", body.own(0), carried(body, 1), carried(body, 2))
    return returned(body, chosen, body.node.dtype(1))


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
    value = body.cast(bits, DType.INT64)
    chosen = body.add("Where", valid, value, body.const(0, DType.INT64))
    return body.cast(chosen, body.node.dtype())

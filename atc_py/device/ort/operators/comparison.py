"""Comparisons, logic, and the choice between two tensors."""

import numpy as np

from atc_py.device.ort.body import Body
from atc_py.device.ort.numbers import carried, returned
from atc_py.device.ort.registry import emulates
from atc_py.tensor.dtypes import DType


def _ordered(body: Body, op_type: str) -> str:
    return body.add(op_type, _in_order(body, 0), _in_order(body, 1))


def _in_order(body: Body, position: int) -> str:
    """An operand as numbers that runtimes compare; uint64 moved down to the range of int64."""
    value = carried(body, position)
    if body.node.dtype(position) is not DType.UINT64:
        return value
    return body.add("Add", value, body.const(np.iinfo(np.int64).min, DType.INT64))


@emulates("Equal")
def equal(body: Body) -> str:
    """Write `y = x1 == x2`; NaN equals nothing."""
    if body.node.dtype() is DType.BOOL:
        return body.add("Equal", body.own(0), body.own(1))
    return body.add("Equal", carried(body, 0), carried(body, 1))


@emulates("Greater")
def greater(body: Body) -> str:
    """Write `y = x1 > x2`."""
    return _ordered(body, "Greater")


@emulates("GreaterEqual")
def greater_equal(body: Body) -> str:
    """Write `y = x1 >= x2`."""
    return _ordered(body, "GreaterOrEqual")


@emulates("Less")
def less(body: Body) -> str:
    """Write `y = x1 < x2`."""
    return _ordered(body, "Less")


@emulates("LessEqual")
def less_equal(body: Body) -> str:
    """Write `y = x1 <= x2`."""
    return _ordered(body, "LessOrEqual")


@emulates("IsInf")
def is_inf(body: Body) -> str:
    """Write whether `|x|` is infinite."""
    return body.add("IsInf", body.x())


@emulates("IsNan")
def is_nan(body: Body) -> str:
    """Write whether x is not a number."""
    return body.add("IsNaN", body.x())


@emulates("LogicalAnd")
def logical_and(body: Body) -> str:
    """Write `y = x1 and x2`."""
    return body.add("And", body.own(0), body.own(1))


@emulates("LogicalNot")
def logical_not(body: Body) -> str:
    """Write `y = not x`."""
    return body.add("Not", body.own())


@emulates("LogicalOr")
def logical_or(body: Body) -> str:
    """Write `y = x1 or x2`."""
    return body.add("Or", body.own(0), body.own(1))


@emulates("SelectV2")
def select(body: Body) -> str:
    """Write `result = then` where the condition is true, `else` elsewhere."""
    chosen = body.add("Where", body.own(0), carried(body, 1), carried(body, 2))
    return returned(body, chosen, body.node.dtype(1))

"""Sums, products and bounds of each element, and broadcasting."""

from atc_py.device.ort.body import Body
from atc_py.device.ort.numbers import carried, number, returned, scalar
from atc_py.device.ort.registry import emulates
from atc_py.tensor.dtypes import DType


def _declare(op: str, name: str, text: str) -> None:
    @emulates(op)
    def write(body: Body) -> str:
        if name in _BOUNDS and body.node.dtype() is DType.UINT64:
            return body.add(name, body.own(0), body.own(1))
        return returned(body, body.add(name, carried(body, 0), carried(body, 1)))

    write.__doc__ = f"Write {text}."


_BOUNDS = {"Max", "Min"}
"""Operators that ONNX has for uint64."""

_declare("Add", "Add", "`y = x1 + x2`; integers wrap around")
_declare("Maximum", "Max", "`y = max(x1, x2)`; NaN where one of them is")
_declare("Minimum", "Min", "`y = min(x1, x2)`; NaN where one of them is")
_declare("Mul", "Mul", "`y = x1 * x2`; integers wrap around")
_declare("Sub", "Sub", "`y = x1 - x2`; integers wrap around")


@emulates("AccumulateNV2")
def accumulate(body: Body) -> str:
    """Write `y = x0 + x1 + ...`, from the left, rounded once; integers wrap around."""
    total = carried(body, 0)
    for position in range(1, body.node.count):
        total = body.add("Add", total, carried(body, position))
    return returned(body, total)


@emulates("Addcmul")
def addcmul(body: Body) -> str:
    """Write `y = input_data + x1 * x2 * value`, rounded once; integers wrap around."""
    data, x1, x2, value = (carried(body, position) for position in range(4))
    product = body.add("Mul", body.add("Mul", x1, x2), value)
    return returned(body, body.add("Add", data, product))


@emulates("Relu")
def relu(body: Body) -> str:
    """Write `y = max(x, 0)`; NaN stays NaN."""
    dtype = body.node.dtype()
    if dtype.is_float or dtype is DType.INT32:
        return body.add("Relu", body.x())
    if dtype is DType.UINT64:
        return body.add("Identity", body.own())
    return returned(body, body.add("Max", carried(body), number(body, 0)))


@emulates("ClipByValue")
def clip_by_value(body: Body) -> str:
    """Write `y = min(max(x, clip_value_min), clip_value_max)`; NaN stays NaN."""
    if body.node.dtype() is DType.UINT64:
        low, high = body.own(1), body.own(2)
        raised = body.add("Max", body.own(), low)
        return body.add("Reshape", body.add("Min", raised, high), body.add("Shape", body.own()))
    low, high = scalar(body, 1), scalar(body, 2)
    if _are_numbers(body, 1) and _are_numbers(body, 2):
        return returned(body, body.add("Clip", carried(body), low, high))
    return returned(body, body.add("Min", body.add("Max", carried(body), low), high))


def _are_numbers(body: Body, position: int) -> bool:
    """True of a constant without NaN, which runtimes' Clip does not heed."""
    found = body.node.constant(position)
    return found is not None and not bool((found != found).any())  # noqa: PLR0124


@emulates("ExpandD", moves=True)
def expand(body: Body) -> str:
    """Write a copy of x for each place of `shape` along its axes of one element."""
    shape = body.ints(*body.node.integers("shape"))
    if body.node.dtype() is DType.BFLOAT16:
        return body.cast(body.add("Expand", body.x(), shape), DType.BFLOAT16)
    return body.add("Expand", body.own(), shape)

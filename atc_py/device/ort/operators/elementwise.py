"""Sums, products, bounds, quotients and powers of each element, casts and broadcasting."""

import numpy as np

from atc_py.device.ort.body import Body, emulates, is_rounded
from atc_py.device.ort.node import NoFormError
from atc_py.device.ort.numbers import carried, number, returned, scalar, truncated
from atc_py.tensor.dtypes import DType
from atc_py.text import Text


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


@emulates("Pow")
def pow_(body: Body) -> str:
    """Write `y = x1 ** x2`; integers wrap around, and lose their fraction if x2 is negative."""
    if body.node.dtype().is_float:
        return body.add("Pow", body.x(0), body.x(1))
    return body.cast(_integer_power(body), body.node.dtype())


def _integer_power(body: Body) -> str:
    """Integers raised to powers, as int64; to a negative one, all but 1 and -1 give 0."""
    dtype = body.node.dtype()
    one, zero = (body.const(each, DType.INT64) for each in (1, 0))
    left, right = (body.cast(body.own(position), DType.INT64) for position in range(2))
    base = body.add("Add", left, body.add("Mul", right, zero))
    exponent = body.add("Add", right, body.add("Mul", left, zero))
    if dtype.value.startswith("u"):
        return _multiplied(body, base, body.cast(exponent, DType.UINT64))
    inverted = body.add("Less", exponent, zero)
    odd = body.add("BitwiseAnd", exponent, one)
    held = body.add("Where", inverted, odd, exponent)
    result = _multiplied(body, base, body.cast(held, DType.UINT64))
    is_unit = body.add("Equal", body.add("Abs", base), one)
    lost = body.add("And", inverted, body.add("Not", is_unit))
    return body.add("Where", lost, zero, result)


def _multiplied(body: Body, base: str, bits: str) -> str:
    """Powers of int64, whose low bits are those of any integer.

    A loop squares the base, and multiplies the squares for which the exponent has a bit.
    """
    one = body.const(1, DType.INT64)
    inner = body.inner()
    names = [inner.name(stem) for stem in ("turn", "goes_on", "product", "square", "bits_left")]
    product, square, left = names[2:]
    has_bit = inner.add("BitwiseAnd", left, inner.const(1, DType.UINT64))
    factor = inner.add("Where", inner.cast(has_bit, DType.BOOL), square, one)
    rest = inner.add("BitShift", left, inner.const(1, DType.UINT64), direction="RIGHT")
    results = [
        _any_bit(inner, rest),
        inner.add("Mul", product, factor),
        inner.add("Mul", square, square),
        rest,
    ]
    dtypes = [DType.INT64, DType.INT64, DType.UINT64]
    scalars = [(names[0], DType.INT64, ()), (names[1], DType.BOOL, ())]
    graph = inner.as_graph(
        [*scalars, *((name, dtype, None) for name, dtype in zip(names[2:], dtypes, strict=True))],
        [
            (results[0], DType.BOOL, ()),
            *((name, dtype, None) for name, dtype in zip(results[1:], dtypes, strict=True)),
        ],
    )
    start = body.add("Add", body.add("Mul", base, body.const(0, DType.INT64)), one)
    first = _any_bit(body, bits)
    return body.several("Loop", 3, "", first, start, base, bits, body=graph)[0]


def _any_bit(body: Body, bits: str) -> str:
    counted = body.cast(body.cast(bits, DType.BOOL), DType.INT64)
    total = body.add("ReduceSum", counted, keepdims=0)
    return body.add("Greater", total, body.const(0, DType.INT64))


_BEYOND = {DType.FLOAT16: 65520.0, DType.BFLOAT16: 2.0**128 - 2.0**119}
"""The least number that is rounded to infinity, by 16-bit dtype."""

_LONG = frozenset({DType.INT32, DType.INT64, DType.UINT32, DType.UINT64})
"""Integers that float32 does not hold, but for those that float16 has as infinity."""


@emulates("Cast")
def cast(body: Body) -> str:
    """Write x in another dtype.

    To floats: rounded half to even. Floats to integers: the fraction cut off, saturated, 0 for NaN.
    Integers to integers: the low bits. To bool: whether x is not 0.
    """
    source, target = body.node.dtype(), body.node.outputs[0].dtype
    if target is DType.INT4:
        raise NoFormError(Text("int4 is held in int8, which keeps more bits"))
    if source is DType.FLOAT64 and is_rounded(target):
        return _narrowed(body, body.own(), target)
    if target is DType.BFLOAT16 and source in _LONG:
        return _narrowed(body, body.cast(body.own(), DType.FLOAT64), target)
    if is_rounded(target):
        return body.x()
    wide = DType.FLOAT32 if is_rounded(source) else source
    if source.is_float and target.is_integer:
        return truncated(body, body.x(), wide, target)
    return body.x() if target is wide else body.cast(body.x(), target)


def _narrowed(body: Body, x: str, dtype: DType) -> str:
    """Float32 numbers that round to the 16-bit dtype as float64 `x` does.

    float32 in between rounds once too often where its number is halfway between two of the dtype
    and x is not: then the neighbor is right that x is nearer to.
    """
    wide = body.cast(x, DType.FLOAT32)
    beyond = np.float32(_BEYOND[dtype])
    last = np.nextafter(beyond, np.float32(0))
    held = body.add("Clip", wide, body.const(-last), body.const(last))
    inside = body.add("Less", body.add("Abs", x), body.const(float(beyond), DType.FLOAT64))
    wide = body.add("Where", inside, held, wide)
    near = body.rounded(wide, dtype)
    rest = body.add("Sub", wide, near)
    other = body.add("Add", wide, rest)
    left = body.add("Sub", x, body.cast(wide, DType.FLOAT64))
    further = body.add(
        "Greater",
        body.add("Mul", left, body.cast(rest, DType.FLOAT64)),
        body.const(0, DType.FLOAT64),
    )
    halfway = body.add("Equal", other, body.rounded(other, dtype))
    moved = body.add("And", inside, body.add("And", further, halfway))
    return body.add("Where", moved, other, near)

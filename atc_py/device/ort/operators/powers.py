"""Powers of each element."""

from atc_py.device.ort.body import Body
from atc_py.device.ort.registry import emulates
from atc_py.tensor.dtypes import DType


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
    """True if one of the elements of uint64 is not 0."""
    counted = body.cast(body.cast(bits, DType.BOOL), DType.INT64)
    total = body.add("ReduceSum", counted, keepdims=0)
    return body.add("Greater", total, body.const(0, DType.INT64))

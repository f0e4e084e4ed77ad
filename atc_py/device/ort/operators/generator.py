"""Numbers from none: counted up, or random where nothing is drawn that matters."""

from atc_py.device.ort.body import Body, emulates
from atc_py.device.ort.node import NoFormError
from atc_py.device.ort.numbers import carrier, returned, scalar
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import closed_shape
from atc_py.text import Text


@emulates("RandomStandardNormal", "RandomUniform")
def drawn(body: Body) -> str:
    """Write a result without elements; draws have no form: which ones a seed gives is not defined."""
    return _nothing(body)


@emulates("Multinomial", moves=True)
def multinomial(body: Body) -> str:
    """Write 0, the only class, or a result without elements; draws of several classes have no form."""
    dims, facts = body.node.required(0).dims, body.node.outputs[0]
    if dims[-1] != 1:
        return _nothing(body)
    count = body.ints(int(body.node.data(1).reshape(-1)[0]))
    shape = body.add("Concat", body.add("Shape", body.own(), end=1), count, axis=0)
    return body.add("Expand", body.const(0, facts.dtype), shape)


def _nothing(body: Body) -> str:
    facts = body.node.outputs[0]
    if 0 not in facts.dims or None in facts.dims:
        raise NoFormError(
            Text("it draws random numbers, and ONNX does not say which ones a seed gives")
        )
    return body.add("Expand", body.const(0, facts.dtype), body.ints(*closed_shape(facts.dims)))


_MOST = 2.0**62
"""A number of elements that no memory holds."""


@emulates("Range")
def count_up(body: Body) -> str:
    """Write `y[i] = start + i * delta`, with max(ceil((limit - start) / delta), 0) elements.

    Floats are counted in int64: runtimes add delta up, each sum with an error of its own. Where
    there is no number of elements, because delta is 0 or something is not finite, they count in
    steps of 0, which ends the run.
    """
    start, limit, delta = (scalar(body, position) for position in range(3))
    dtype = body.node.dtype()
    if not dtype.is_float:
        return returned(body, body.add("Range", start, limit, delta))
    count = _quotient(body, *(body.cast(each, DType.FLOAT64) for each in (start, limit, delta)))
    bounded = body.add("Less", body.add("Abs", count), body.const(_MOST, DType.FLOAT64))
    step = body.cast(bounded, DType.INT64)
    zero = body.const(0, DType.INT64)
    steps = body.add("Range", zero, body.cast(count, DType.INT64), step)
    scaled = body.add("Mul", body.cast(steps, carrier(dtype)), delta)
    return body.add("Add", scaled, start)


def _quotient(body: Body, start: str, limit: str, delta: str) -> str:
    """`ceil((limit - start) / delta)` of float64, which no rounding of the quotient moves.

    It is the opposite of a quotient rounded down, whose remainder is exact.
    """
    zero = body.const(0, DType.FLOAT64)
    distance = body.add("Sub", start, limit)
    rest = body.add("Mod", distance, delta, fmod=1)
    whole = body.add("Round", body.add("Div", body.add("Sub", distance, rest), delta))
    signs = body.add("Xor", body.add("Less", rest, zero), body.add("Less", delta, zero))
    left = body.add("Not", body.add("Equal", rest, zero))
    down = body.cast(body.add("And", signs, left), DType.FLOAT64)
    return body.add("Sub", down, whole)

"""Random numbers, which have a form only where nothing is drawn that matters."""

from atc_py.device.ort.body import Body
from atc_py.device.ort.node import NoFormError
from atc_py.device.ort.registry import emulates
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
    """A result without elements."""
    facts = body.node.outputs[0]
    if 0 not in facts.dims or None in facts.dims:
        raise NoFormError(
            Text("it draws random numbers, and ONNX does not say which ones a seed gives")
        )
    return body.add("Expand", body.const(0, facts.dtype), body.ints(*closed_shape(facts.dims)))

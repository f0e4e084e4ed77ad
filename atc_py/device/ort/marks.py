"""Marks at indices."""

from atc_py.device.ort.body import Body
from atc_py.device.ort.carriers import carrier_of
from atc_py.tensor.dtypes import DType

CHOSEN = frozenset(
    {DType.FLOAT32, DType.FLOAT64, DType.FLOAT16, DType.INT32, DType.INT64, DType.UINT8}
)
"""Dtypes that a runtime's Where takes."""


def marked(body: Body, depth: str, on: str, off: str, dtype: DType) -> str:
    """`on` where a new axis of `depth` elements runs over the first input, else `off`.

    Args:
        body: the nodes so far; the node's attribute `axis` places the new axis.
        depth: int64 [1].
        on: one element.
        off: one element.
        dtype: dtype of both.
    """
    node, rank = body.node, body.node.rank() + 1
    axis = node.integer("axis") % rank
    indices, nothing = _wide(body), body.const(0, DType.INT64)
    length = body.add("Reshape", depth, body.ints())
    negative = body.add("Less", indices, nothing)
    # of uint64 those are numbers beyond int64, which mark nothing
    moved = length if node.dtype() is DType.UINT64 else body.add("Add", indices, length)
    indices = body.add("Where", negative, moved, indices)
    indices = body.add("Unsqueeze", indices, body.ints(axis))
    places = body.add("Range", nothing, length, body.const(1, DType.INT64))
    shape = [-1 if each == axis else 1 for each in range(rank)]
    hit = body.add("Equal", indices, body.add("Reshape", places, body.ints(*shape)))
    carrier = carrier_of(dtype, CHOSEN)
    choices = [body.add("Reshape", value, body.ints(1)) for value in (on, off)]
    if carrier is not dtype:
        choices = [body.cast(value, carrier) for value in choices]
    value = body.add("Where", hit, *choices)
    return value if carrier is dtype else body.cast(value, dtype)


def _wide(body: Body) -> str:
    """The first input as int64."""
    value = body.own()
    return value if body.node.dtype() is DType.INT64 else body.cast(value, DType.INT64)

"""Diagonals and triangles of matrices."""

from atc_py.device.ort.body import Body
from atc_py.device.ort.carriers import PADDED, carried, carrier_of
from atc_py.device.ort.registry import emulates
from atc_py.tensor.dtypes import DType

_CUT = frozenset({DType.BOOL, DType.FLOAT32, DType.FLOAT64, DType.INT64})
"""Dtypes that a runtime's Trilu takes."""


@emulates("Trilu", moves=True)
def trilu(body: Body) -> str:
    """Write x where `j - i >= k` of the upper triangle, `j - i <= k` of the lower one, else 0."""
    node = body.node
    k = []
    if node.has(1):
        k = [body.add("Reshape", body.cast(body.own(1), DType.INT64), body.ints())]
    upper = node.integer("upper")
    return carried(
        body, body.own(), node.dtype(), _CUT, lambda x: body.add("Trilu", x, *k, upper=upper)
    )


@emulates("MatrixDiagV2", moves=True)
def matrix_diag(body: Body) -> str:
    """Write `output[.., i, j] = diagonal[.., min(i, j)] where j - i = k`, else padding_value.

    The padding value becomes an element after the diagonal, which all other places take.
    """
    dtype = body.node.dtype()
    k, rows, columns = (
        body.add("Reshape", body.cast(body.own(position), DType.INT64), body.ints())
        for position in (1, 2, 3)
    )
    nothing, one = body.const(0, DType.INT64), body.const(1, DType.INT64)
    row = body.add("Unsqueeze", body.add("Range", nothing, rows, one), body.ints(1))
    column = body.add("Range", nothing, columns, one)
    inside = body.add("Equal", body.add("Sub", column, row), k)
    length = body.add("Gather", body.add("Shape", body.own()), body.const(-1, DType.INT64))
    places = body.add("Where", inside, body.add("Min", row, column), length)
    pads = body.ints(*[0] * (2 * body.node.rank() - 1), 1)
    filling, carrier = body.own(4), carrier_of(dtype, PADDED)
    if carrier is not dtype:
        filling = body.cast(filling, carrier)
    return carried(
        body,
        body.own(),
        dtype,
        PADDED,
        lambda x: body.add("Gather", body.add("Pad", x, pads, filling), places, axis=-1),
    )

"""The absolute floor of a layer: how small a difference between two results says nothing.

A saturating operator, such as Sigmoid, approaches a finite limit L other than 0. Its kernels add and
divide terms of the size of L, each rounded by up to u * L, where u is half the distance from 1 to the
next number of the dtype that the kernel computes in. A result near 0 carries these roundings as it
is: its absolute error is a few u * L, its relative error has no bound. ROUNDINGS of them make the
floor: the numerator, the denominator, their quotient and the sum that a rational approximation ends
with. L counts as 1, which it is but for Atan (1.57) and Selu (1.76).

Kernels on both sides compute 16-bit floats in float32, so u is that of float32 for all but float64.
What moves, selects or casts such results keeps their floor.
"""

from collections.abc import Iterator, Mapping

from atc_py.package.schema import OmModel, OmNode
from atc_py.target import find_operator
from atc_py.tensor.dtypes import DType

ROUNDINGS = 4
"""Roundings of terms of the limit's size that a kernel may leave in a result."""

_UNITS = {DType.FLOAT64: 2.0**-53}
_UNIT = 2.0**-24
"""u of float32, in which narrower floats are computed too."""


def dtype_floor(dtype: DType) -> float:
    """The floor of a saturating operator with results of `dtype`; 0 if not a float."""
    return ROUNDINGS * _UNITS.get(dtype, _UNIT) if dtype.is_float else 0.0


def floors_of(model: OmModel) -> dict[int, float]:
    found: dict[int, float] = {}
    computed = {port.tensor for port in model.inputs}
    for node in model.nodes:
        found |= dict(_results_with_floors(model, node, found, computed))
        computed.update(node.outputs)
    return found


def _results_with_floors(
    model: OmModel, node: OmNode, known: Mapping[int, float], computed: set[int]
) -> Iterator[tuple[int, float]]:
    row = find_operator(node.op)
    if row is None:
        return
    dtypes = {tensor: DType(model.tensors[tensor].dtype) for tensor in node.outputs}
    floats = [tensor for tensor, dtype in dtypes.items() if dtype.is_float]
    if row.saturates:
        yield from ((tensor, dtype_floor(dtypes[tensor])) for tensor in floats)
    elif not row.rounds or node.op == "Cast":
        read = [at for at in node.inputs if at in computed and is_float(model, at)]
        if read and all(at in known for at in read):
            least = min(known[at] for at in read)
            yield from ((tensor, least) for tensor in floats)


def is_float(model: OmModel, tensor: int) -> bool:
    return DType(model.tensors[tensor].dtype).is_float

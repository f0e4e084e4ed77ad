"""Products of integers as ONNX that wrap around: runtimes reduce integers in float64."""

from collections.abc import Sequence

from atc_py.device.ort.body import Body
from atc_py.tensor.dtypes import DType


def wrapped_product(body: Body, value: str, axes: Sequence[int], *, keep: bool) -> str:
    """Write the product of int64 of the rank of operand 0 over axes, one element after the other."""
    if not axes:
        return value
    rank = body.node.rank()
    rows, length = _rows(body, value, axes)
    kept = body.add("Shape", rows, start=0, end=rank - len(axes))
    ones = body.add("Expand", body.const(1, DType.INT64), kept)
    step = body.inner()
    index, goes_on, before = (step.name(each) for each in ("index", "goes_on", "before"))
    factor = step.add("Gather", rows, index, axis=-1)
    after = step.add("Mul", before, factor)
    still = step.add("Identity", goes_on)
    single: list[int | str | None] = []
    state = [None] * (rank - len(axes))
    graph = step.as_graph(
        [(index, DType.INT64, single), (goes_on, DType.BOOL, single), (before, DType.INT64, state)],
        [(still, DType.BOOL, single), (after, DType.INT64, state)],
    )
    count = body.add("Squeeze", length)
    total = body.add("Loop", count, "", ones, body=graph)
    return body.add("Unsqueeze", total, body.ints(*axes)) if keep else total


def _rows(body: Body, value: str, axes: Sequence[int]) -> tuple[str, str]:
    """The elements along `axes` as the last axis, and how many there are, as [1]."""
    rank = body.node.rank()
    kept = [axis for axis in range(rank) if axis not in axes]
    order = (*kept, *axes)
    moved = value if order == tuple(range(rank)) else body.add("Transpose", value, perm=order)
    shape = body.add("Shape", moved)
    dims = body.add("Gather", shape, body.ints(*range(len(kept), rank)))
    length = body.add("ReduceProd", dims, body.ints(0), keepdims=1)
    if len(axes) == 1:
        return moved, length
    front = body.add("Gather", shape, body.ints(*range(len(kept))))
    wanted = body.add("Concat", front, length, axis=0)
    return body.add("Reshape", moved, wanted, allowzero=1), length

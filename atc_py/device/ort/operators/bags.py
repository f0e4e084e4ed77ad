"""Rows of a table, reduced bag by bag."""

import numpy as np

from atc_py.device.ort.body import Body, emulates
from atc_py.tensor.dtypes import DType

_OFFSETS, _FACTORS = 2, 3
"""Positions of the operands that may be absent."""


@emulates("EmbeddingBag")
def embedding_bag(body: Body) -> str:
    """Write `y[b]` = sum, mean or largest of `factors[i] * weight[indices[i]]` for i of bag b.

    Rows are added to their bags one after the other; a row after the last bag takes what is in none.
    """
    node = body.node
    starts, bags, total = _starts(body)
    start, end = body.ints(0), total
    indices = body.add("Slice", _indices(body), start, end)
    rows = body.add("Gather", body.x(0), indices)
    if node.has(_FACTORS):
        factors = body.add("Reshape", body.x(_FACTORS), body.ints(-1))
        factors = body.add("Unsqueeze", body.add("Slice", factors, start, end), body.ints(1))
        rows = body.add("Mul", rows, factors)
    bag_of = _bags(body, starts, total)
    where = body.add("Expand", body.add("Unsqueeze", bag_of, body.ints(1)), body.add("Shape", rows))
    width = body.add("Shape", body.own(0), start=1)
    one = body.ints(1)
    size = body.add("Concat", body.add("Add", bags, one), width, axis=0)
    counts = _put(body, bag_of, body.add("Expand", body.const(1.0), body.add("Shape", bag_of)),
                  body.add("Add", bags, one))  # fmt: skip
    counts = body.add("Unsqueeze", counts, body.ints(1))
    if node.text("mode") == "max":
        value = _largest(body, rows, where, size, counts)
    else:
        value = _put(body, where, rows, size)
    if node.text("mode") == "mean":
        value = body.add("Div", value, body.add("Max", counts, body.const(1.0)))
    return body.add("Slice", value, body.ints(0), bags, body.ints(0))


def _indices(body: Body) -> str:
    """The indices as a list, negative ones as what is outside the table: a run stops there."""
    indices = body.cast(body.add("Reshape", body.own(1), body.ints(-1)), DType.INT64)
    negative = body.add("Less", indices, body.const(0, DType.INT64))
    return body.add("Where", negative, body.add("Shape", body.own(0), start=0, end=1), indices)


def _starts(body: Body) -> tuple[str, str, str]:
    """The first element of each bag and the end of the last; int64 [1] of bags; that end."""
    one = body.ints(1)
    end = body.add("Reshape", body.add("Size", body.own(1)), one)
    if not body.node.has(_OFFSETS):
        bags = body.add("Shape", body.own(1), start=0, end=1)
        longest = body.add("Shape", body.own(1), start=1)
        count = body.add("Squeeze", body.add("Add", bags, one))
        return body.add("Mul", body.range(count), longest), bags, end
    starts = body.cast(body.own(_OFFSETS), DType.INT64)
    count = body.add("Shape", starts)
    if body.node.flag("include_last_offset"):
        starts = _rising(body, starts, end)
        return starts, body.add("Sub", count, one), _part(body, starts, -1)
    return _rising(body, body.add("Concat", starts, end, axis=0), end), count, end


def _rising(body: Body, starts: str, end: str) -> str:
    """Starts; a run stops where they do not rise from 0 to at most `end`."""
    before, after = _part(body, starts, 0, -1), _part(body, starts, 1)
    rules = (
        body.add("Equal", _part(body, starts, 0, 1), body.ints(0)),
        body.add("LessOrEqual", before, after),
        body.add("LessOrEqual", _part(body, starts, -1), end),
    )
    return body.held(starts, body.add("Concat", *rules, axis=0))


def _part(body: Body, value: str, start: int, end: int = np.iinfo(np.int64).max) -> str:
    return body.add("Slice", value, body.ints(start), body.ints(end))


def _bags(body: Body, starts: str, total: str) -> str:
    """The bag of each element: how many bags begin at it or before, less one."""
    zero, one = body.const(0, DType.INT64), body.const(1, DType.INT64)
    size = body.add("Add", body.add("Reshape", total, body.ints(1)), body.ints(1))
    begun = body.add("Expand", body.ints(0), size)
    steps = body.add("Expand", body.ints(1), body.add("Shape", starts))
    begun = body.add("ScatterElements", begun, starts, steps, axis=0, reduction="add")
    begun = body.add("CumSum", begun, zero)
    bags = body.add("Sub", begun, one)
    return body.add("Slice", bags, body.ints(0), body.add("Reshape", total, body.ints(1)))


def _put(body: Body, where: str, rows: str, size: str, how: str = "add", first: float = 0) -> str:
    """A table of `size`, filled with `first`, into which rows are reduced."""
    table = body.add("Expand", body.const(np.float32(first)), size)
    return body.add("ScatterElements", table, where, rows, axis=0, reduction=how)


def _largest(body: Body, rows: str, where: str, size: str, counts: str) -> str:
    """The largest numbers, NaN where there is one, 0 of empty bags."""
    unknown = body.cast(body.add("IsNaN", rows), DType.FLOAT32)
    some = body.add("Greater", _put(body, where, unknown, size), body.const(0.0))
    known = body.add("Where", body.add("IsNaN", rows), body.const(0.0), rows)
    value = _put(body, where, known, size, "max", -np.inf)
    value = body.add("Where", some, body.const(np.nan), value)
    filled = body.add("Greater", counts, body.const(0.0))
    return body.add("Where", filled, value, body.const(0.0))

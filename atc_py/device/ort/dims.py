"""Dims of operands, known ones as numbers and open ones as values that the run works out."""

from collections.abc import Sequence
from itertools import groupby
from typing import TypeAlias

from atc_py.device.ort.body import Body

Dim: TypeAlias = int | str
"""A number, or the name of int64 [1]."""


def dims_of(body: Body, position: int = 0) -> list[Dim]:
    facts = body.node.required(position)
    return [
        body.add("Shape", body.own(position), start=axis, end=axis + 1) if dim is None else dim
        for axis, dim in enumerate(facts.dims)
    ]


def times(body: Body, dim: Dim, count: int) -> Dim:
    return dim * count if isinstance(dim, int) else body.add("Mul", dim, body.ints(count))


def over(body: Body, dim: Dim, count: int) -> Dim:
    return dim // count if isinstance(dim, int) else body.add("Div", dim, body.ints(count))


def shape_of_dims(body: Body, dims: Sequence[Dim]) -> str:
    parts: list[str] = []
    for known, group in groupby(dims, lambda dim: isinstance(dim, int)):
        run = list(group)
        parts += [body.ints(*map(int, run))] if known else [str(dim) for dim in run]
    return parts[0] if len(parts) == 1 else body.add("Concat", *parts, axis=0)


def shaped(body: Body, value: str, dims: Sequence[Dim]) -> str:
    """The elements of `value` in the same order under another shape."""
    return body.add("Reshape", value, shape_of_dims(body, dims), allowzero=1)

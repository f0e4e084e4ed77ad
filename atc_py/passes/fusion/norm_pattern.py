"""The common part of patterns of normalizations over last axes: roots, quotients, factors."""

from typing import NamedTuple

from atc_py.ir import Node, SplatConst, Value
from atc_py.passes.fusion.matching import Match, MissError, scalar
from atc_py.target.stored_nodes import numbers_of
from atc_py.tensor.shapes import closed_shape

_SQUARE = 2.0


class Root(NamedTuple):
    """The operand of a square root: the mean of a square over axes, and epsilon."""

    squared: Value | None
    axes: tuple[int, ...]
    epsilon: float


def root_of(match: Match) -> Root:
    """Mean(square) + epsilon, the operand of the anchor."""
    added = match.producer(match.source_of(match.anchor.input(0)), "Add")
    constants = [value for value in added.present_inputs if scalar(value) is not None]
    if not constants:
        raise MissError("Add must have a constant of one element, found {node}", added)
    constant = constants[0]
    mean = match.producer(match.source_of(match.other(added, constant)), "ReduceMeanD")
    if not mean.attributes.get("keep_dims", False):
        raise MissError("the mean must keep its axes, found {node}", mean)
    squared = _squared(match, match.producer(match.source_of(mean.input(0)), "Pow", "Mul"))
    return Root(squared, numbers_of(mean.attributes["axes"]), scalar(constant) or 0.0)


def _squared(match: Match, node: Node) -> Value | None:
    value, second = node.input(0), node.input(1)
    if node.op == "Mul" and match.source_of(value) is match.source_of(second):
        return value
    if node.op == "Pow" and scalar(second) == _SQUARE:
        return value
    raise MissError("the mean must be of a square, found {node}", node)


def quotient_of(match: Match) -> tuple[Node, Value]:
    """The division by the result of the anchor, and what is divided."""
    root = match.ahead(match.anchor)
    reader = match.consumer(root, "RealDiv", "Reciprocal")
    if reader.op == "RealDiv":
        divided = reader.input(0)
        if divided is None or divided is root.output:
            raise MissError(
                "the result of {op} must be the divisor, found {node}", reader, op=match.anchor.op
            )
        return reader, divided
    inverse = match.ahead(reader)
    product = match.consumer(inverse, "Mul")
    return product, match.other(product, inverse.output)


def constant_operand(match: Match, node: Node, op: str) -> tuple[Value | None, Node]:
    """The constant of the `op` that follows `node`, if one does, and the last node so far."""
    reader = match.follows(node, op)
    if reader is None:
        return None, node
    constant = match.other(reader, node.output)
    if constant.const is None or constant.type.dims != node.output.type.dims[-constant.type.rank :]:
        return None, node
    return (None, node) if constant.type.rank == 0 else (constant, match.keep(reader))


def first_axis(match: Match, x: Value | None, last: Node, axes: tuple[int, ...]) -> int:
    """The first of the axes, which must be the last ones of x and have known dims."""
    match.require_type_of(x, last)
    rank = last.output.type.rank
    found = sorted(axis % rank for axis in axes)
    wanted = list(range(rank - len(found), rank))
    match.require(
        found == wanted and found,
        "axes must be the last of {rank}, found {actual}",
        rank=rank,
        actual=found,
    )
    dims = last.output.type.dims[wanted[0] :]
    match.require(None not in dims, "dims must be known, found {x}", x=list(dims))
    return wanted[0]


def parameter(
    match: Match, x: Value | None, given: Value | None, axis: int, missing: float
) -> Value:
    """Gamma or beta: what is given, or a constant that changes nothing."""
    if x is None:
        raise MissError("x must be given", match.anchor)
    shape = closed_shape(x.type.dims[axis:])
    if given is None:
        data = SplatConst(missing, x.type.dtype, shape)
        return match.graph.constant(f"{x.name}.{'gamma' if missing else 'beta'}", data)
    found = list(given.type.dims)
    match.require(
        found == list(shape) and given.type.dtype is x.type.dtype,
        "gamma and beta must be {dtype} {shape}, found {type}",
        dtype=x.type.dtype.value,
        shape=list(shape),
        type=given.type,
    )
    return given

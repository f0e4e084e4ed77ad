"""The softmax that exporters write out becomes one operator, over several axes one of rows."""

from math import prod

import numpy as np

from atc_py.ir import DenseConst, Node, TensorType, Value
from atc_py.passes.fusion.fuse_norms import quotient_of
from atc_py.passes.fusion.matching import Match, MissError, RewritePass
from atc_py.target.stored_nodes import numbers_of
from atc_py.tensor.shapes import Shape

_NATURAL = {"base": -1.0, "scale": 1.0, "shift": 0.0}
"""Attributes of an Exp that is the exponential of its input; a base of -1 stands for e."""


class FuseSoftmaxPass(RewritePass):
    """exp(x - max(x)) / sum(exp(x - max(x))) = SoftmaxV2(x), over one axis.

    The quotient is RealDiv, or Mul by a Reciprocal; casts between floats may stand anywhere. What
    subtracts no maximum stays: its exponentials overflow where those of SoftmaxV2 do not.
    """

    def rewrite(self, match: Match) -> None:
        axes = _one_kept_axis(match.anchor)
        power = match.producer(match.source_of(match.anchor.input(0)), "Exp")
        found = {name: power.attributes.get(name, value) for name, value in _NATURAL.items()}
        if found != _NATURAL:
            raise MissError("Exp must be to the base e, found {node} {actual}", power, actual=found)
        shifted = match.producer(match.source_of(power.input(0)), "Sub")
        x = match.source_of(shifted.input(0))
        largest = match.producer(match.source_of(shifted.input(1)), "ReduceMaxD")
        if match.source_of(largest.input(0)) is not x or _one_kept_axis(largest) != axes:
            raise MissError(
                "the largest x over {wanted} must be subtracted, found {node}",
                largest,
                wanted=list(axes),
            )
        quotient, divided = quotient_of(match)
        if match.source_of(divided) is not power.output:
            raise MissError("the exponentials must be divided, found {node}", quotient)
        last = match.ahead(quotient)
        match.require_type_of(x, last)
        match.become(last, "SoftmaxV2", [x], {"axes": axes})


def _one_kept_axis(node: Node) -> tuple[int, ...]:
    """The single reduced axis, counted from 0; it must stay as a dim of 1."""
    x = node.input(0)
    axes = numbers_of(node.attributes["axes"])
    if x is None or len(axes) != 1 or not node.attributes.get("keep_dims", False):
        raise MissError(
            "one axis must be summed over and kept, found {node} {axes}", node, axes=axes
        )
    return (axes[0] % x.type.rank,)


_MATRIX = 2


class SoftmaxOfRowsPass(RewritePass):
    """SoftmaxV2(x) over the last axes = Reshape(SoftmaxV2(Reshape(x to rows))), for opsets before 13.

    CANN's pass does so for one axis as well, where only the dims of the launch differ; here that stays.
    """

    def rewrite(self, match: Match) -> None:
        node = match.anchor
        x, result = node.present_inputs[0], node.output
        rank = x.type.rank
        axes = sorted(axis % rank for axis in numbers_of(node.attributes.get("axes", (-1,))))
        several = len(axes) > 1 and rank > _MATRIX
        match.require(several, "several axes must be normalized together, found {axes}", axes=axes)
        match.require(axes[-1] - axes[0] == len(axes) - 1, "axes must be neighbors")
        match.require_known_dims(x)
        rows = prod(x.type.shape[: axes[0]])
        lengths = prod(x.type.shape[axes[0] :])
        match.require(axes[-1] == rank - 1 and rows * lengths, "there must be rows to normalize")
        match.require_one_precision()
        views = [(f"{x.name}.rows", TensorType(x.type.dtype, (rows, lengths)))]
        shape = _dims(match, (rows, lengths))
        flat = match.graph.add_node("Reshape", [x, shape], views, {}, node.origins)
        matrix = TensorType(result.type.dtype, (rows, lengths))
        attributes = {**node.attributes, "axes": (1,)}
        outputs = [(f"{result.name}.rows", matrix)]
        made = match.graph.add_node("SoftmaxV2", [flat.output], outputs, attributes, node.origins)
        match.redirect("Reshape", [made.output, _dims(match, result.type.shape)], {})


def _dims(match: Match, shape: Shape) -> Value:
    data = DenseConst(np.array(shape, np.int64))
    return match.graph.constant(f"{match.anchor.output.name}.shape", data)

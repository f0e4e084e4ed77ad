"""A softmax over several axes is one of the rows of a matrix."""

from math import prod

import numpy as np

from atc_py.ir import DenseConst, TensorType, Value
from atc_py.passes.fusion.matching import Match, RewritePass
from atc_py.target.stored_nodes import numbers_of
from atc_py.tensor.shapes import Shape

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

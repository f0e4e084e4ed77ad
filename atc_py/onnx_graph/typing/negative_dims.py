"""Dims below zero that onnx infers for nodes whose windows, pads or bounds do not fit."""

from collections.abc import Mapping, Sequence

import onnx

from atc_py.diag.codes import BAD_NODE
from atc_py.onnx_graph.folding.graph import WorkGraph
from atc_py.text import Text


def dims_below_zero(proto: onnx.TypeProto) -> list[int]:
    """The dims of a type if one of them is negative; else none."""
    dims = [dim.dim_value for dim in proto.tensor_type.shape.dim]
    return dims if min(dims, default=0) < 0 else []


def refuse_negative_dims(graph: WorkGraph, negative: Mapping[str, Sequence[int]]) -> None:
    """Refuse the nodes whose results would have negative dims.

    Raises:
        AtcError: BAD_NODE for the first of them; what comes after it is of no use.
    """
    for node in graph.nodes:
        for name in node.writes:
            if name in negative:
                raise BAD_NODE.error(
                    Text(
                        "the result of {op_type} would have the dims {negative}: its window, "
                        "pads or bounds do not fit its input",
                        op_type=node.op_type,
                        negative=list(negative[name]),
                    ),
                    place=node.place,
                    help="check --input-shape, the kernel and the pads",
                )

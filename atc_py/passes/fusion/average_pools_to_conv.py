"""Average pools in float16 run on the cube, as convolutions of each channel by itself."""

import numpy as np
import numpy.typing as npt

from atc_py.ir import DenseConst, Engine, Graph, Node, SplatConst
from atc_py.passes.base import Miss, Pass, PassContext
from atc_py.target.stored_nodes import numbers_of
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import closed_shape
from atc_py.text import Text

Counts = npt.NDArray[np.int64]


_HALF = DType.FLOAT16
_MOST_PADDING = 255
"""Rows or columns that a convolution adds on one side."""


class AveragePoolsToConvPass(Pass):
    """AvgPoolV2(x) = DepthwiseConv2D(x, 1) * (1 / counts), 1 / counts rounded to float16.

    Where padding counts (`exclusive` = false), all windows count alike and 1 / count is in the filter.
    Else the filter is of ones: sums are rounded to float16 before they are scaled, and what
    exceeds 65504 is lost. What a window of `ceil_mode` overhangs counts as padding.

    CANN gives its AvgPoolV2 that filter, and the kernel then is its convolution with a group a
    channel; what it does with a window over all of x is a reduction, and stays one.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        if not context.soc.cube_average_pools:
            return 0
        record, count = context.fusions[self.row.name], 0
        for node in [node for node in graph.nodes if node.op == "AvgPoolV2"]:
            reason = _refused(node)
            if reason:
                record.missed(Miss.at(node, reason), matched=False)
                continue
            decision = context.decisions.nodes.pop(node.name, None)
            made = _rewrite(graph, node)
            if decision is not None:
                context.decisions.nodes.update({each.name: decision for each in made})
            record.applied()
            count += 1
        return count


def _refused(node: Node) -> str:
    x, y = node.present_inputs[0].type, node.output.type
    if node.engine is not Engine.AICORE or {x.dtype, y.dtype} != {_HALF}:
        return Text(
            "the pool must be of float16 on the AI Core, found {dtype}", dtype=x.dtype.value
        )
    if x.is_open or y.is_open:
        return Text("dims must be known, found {x}", x=x)
    mode, override = (node.attributes.get(name) for name in ("padding_mode", "divisor_override"))
    if mode not in {None, "CALCULATED"} or override:
        return Text("padding must be given and divisors counted, found {node}", node=repr(node))
    size, pads = (
        numbers_of(node.attributes["ksize"])[2:],
        numbers_of(node.attributes.get("pads", (0, 0, 0, 0))),
    )
    if node.attributes.get("global_pooling") or (size == x.shape[2:] and not any(pads)):
        return "a window over the whole input is a reduction"
    found = window_pads(node)
    if max(found) > _MOST_PADDING or 0 in (*x.shape, *y.shape):
        return Text(
            "padding must be at most {most_padding} and the input not empty, found {node}",
            most_padding=_MOST_PADDING,
            node=repr(node),
        )
    return ""


def _rewrite(graph: Graph, node: Node) -> list[Node]:
    """Make a convolution compute a pool, or the sums that a product scales; return both nodes."""
    x, y = node.present_inputs[0], node.output
    size = numbers_of(node.attributes["ksize"])[2:]
    counts_padding = node.attributes.get("exclusive", True) is False
    weight = float(_reciprocal(np.array(size[0] * size[1]))) if counts_padding else 1.0
    filters = SplatConst(weight, _HALF, (y.type.shape[1], 1, *size))
    inputs = [x, graph.constant(f"{y.name}.filter", filters)]
    attributes = {"strides": node.attributes["strides"], "pads": window_pads(node)}
    if counts_padding:
        graph.restate(node, "DepthwiseConv2D", inputs, attributes)
        return [node]
    shares = np.broadcast_to(_reciprocal(window_counts(node)), y.type.shape)
    conv = graph.add_node(
        "DepthwiseConv2D", inputs, [(f"{y.name}.sums", y.type)], attributes, node.origins
    )
    conv.engine = Engine.AICORE
    factors = graph.constant(f"{y.name}.shares", DenseConst(shares.copy()))
    graph.restate(node, "Mul", [conv.output, factors])
    return [conv, node]


def _reciprocal(counts: Counts) -> npt.NDArray[np.float16]:
    """1 / counts as the constants have it: a float32 quotient rounded to float16."""
    quotients: npt.NDArray[np.float16] = (np.float32(1) / counts.astype(np.float32)).astype(
        np.float16
    )
    return quotients


def _axes(node: Node) -> list[tuple[int, int, int, int, int]]:
    """Of each axis: input, windows, elements of a window, stride, padding in front."""
    x, y = (closed_shape(v.type.dims[2:]) for v in (node.present_inputs[0], node.output))
    size = numbers_of(node.attributes["ksize"])[2:]
    strides = numbers_of(node.attributes["strides"])[2:]
    top, _, left, _ = numbers_of(node.attributes.get("pads", (0, 0, 0, 0)))
    return list(zip(x, y, size, strides, (top, left), strict=True))


def window_pads(node: Node) -> tuple[int, ...]:
    """Padding with which the convolution has as many windows as the pool."""
    return tuple(
        pad
        for dim, windows, size, stride, before in _axes(node)
        for pad in (before, max(0, (windows - 1) * stride + size - dim - before))
    )


def window_counts(node: Node) -> Counts:
    """By row and column, the elements of the input under each window, at least one."""
    seen = []
    for dim, windows, size, stride, before in _axes(node):
        first = np.arange(windows) * stride - before
        seen.append(np.minimum(first + size, dim) - np.maximum(first, 0))
    counts: Counts = np.maximum(np.outer(*seen), 1)
    return counts

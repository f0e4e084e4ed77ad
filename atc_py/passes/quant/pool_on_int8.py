"""Average pools on int8: convolutions with a filter of ones, as CANN's cube computes them."""

from math import prod

import numpy as np
import numpy.typing as npt

from atc_py.ir import DenseConst, Graph, Node, SplatConst
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.fusion.average_pools_to_conv import window_counts, window_pads
from atc_py.passes.quant.constants import (
    constant_factors,
    constant_like,
    constant_words,
    whole_scale,
)
from atc_py.passes.quant.roll_back_quant import cast_for, hand_on_floats
from atc_py.target.stored_nodes import numbers_of
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_MOST_TAPS, _SHORT = 255, 20
"""A window of more elements is pooled on floats, unless both its sides are shorter than that."""

_NO_PADS = (0, 0, 0, 0)
_SAME_FACTOR = 2.0**-10
"""Factors apart by less are one in float16."""


class PoolOnInt8Pass(Pass):
    """AscendDequant(AvgPoolV2(q), d) = AscendDequant(DepthwiseConv2D(q, 1), d / area).

    Padding holds the offset of the data, and the passes after this one take it off for each element
    of a window. Where padding counts, d / area is the float32 in the words. Where it does not, the
    words stay, and 1 / (elements inside) multiplies the floats. Borders of a Pad before the pool
    are padding that counts.

    Where the SoC takes layers back to float16, a pool whose result is one column, whose window is
    all of the data, or is beyond the kernel's, is a pool of floats between no AscendQuant and no
    AscendDequant; its channels do not matter. So have CANN's AvgPoolQuantProcessFusionPass
    and AvgPoolV2FusionPass it. That AscendDequant nodes of one factor alone read a pool is checked.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        pools = [node for node in graph.nodes if node.op == "AvgPoolV2"]
        pools = [pool for pool in pools if pool.present_inputs[0].type.dtype is DType.INT8]
        for pool in pools:
            _take_border(graph, pool)
            scales = [
                node for node, at in pool.output.uses if node.op == "AscendDequant" and not at
            ]
            if context.soc.quant_rules.roll_back and _is_rolled_back(pool, scales):
                _roll_back(graph, pool, scales[0], context)
            else:
                _convolve(graph, pool, scales)
        return len(pools)


def _take_border(graph: Graph, pool: Node) -> None:
    """Make the zeros that a Pad puts around the data padding of the pool, which counts them."""
    pad = pool.present_inputs[0].producer
    if pad is None or pad.op != "PadV3D" or len(pad.output.uses) != 1:
        return
    paddings = numbers_of(pad.attributes["paddings"])
    zeros = pad.attributes.get("constant_values", 0.0) == 0.0
    constant = zeros and pad.attributes.get("mode", "constant") == "constant"
    if not constant or any(paddings[:4]) or min(paddings) < 0 or any(_pads(pool)):
        return
    pool.attributes.update(pads=paddings[4:], exclusive=False)
    pool.set_inputs([pad.input(0)])
    graph.remove_nodes([pad])


def _pads(pool: Node) -> tuple[int, ...]:
    return numbers_of(pool.attributes.get("pads", _NO_PADS))


def _is_rolled_back(pool: Node, scales: list[Node]) -> bool:
    """True if CANN pools the floats instead: the AscendDequant must undo the AscendQuant."""
    x, y = pool.present_inputs[0], pool.output.type
    size = numbers_of(pool.attributes["ksize"])[2:]
    whole = size == x.type.dims[2:] and not any(_pads(pool))
    large = prod(size) > _MOST_TAPS and max(size) >= _SHORT
    if not (y.dims[-1] == 1 or whole or large) or len(scales) != 1:
        return False
    quant, factors = x.producer, constant_factors(scales[0])
    if quant is None or quant.op != "AscendQuant" or factors is None:
        return False
    return bool(abs(float(factors.flat[0] * whole_scale(quant)) - 1) < _SAME_FACTOR)


def _roll_back(graph: Graph, pool: Node, dequant: Node, context: PassContext) -> None:
    quant = pool.present_inputs[0].producer
    data = None if quant is None else quant.input(0)
    if quant is None or data is None:
        raise AssertionError("a pool that is rolled back reads an AscendQuant")
    pool.set_inputs([cast_for(_REASON, graph, data, DType.FLOAT16, context)])
    hand_on_floats(_REASON, graph, pool, quant, dequant, context)


_REASON = Text("roll-back-quant: an average pool over all columns, or with a large window")


def _convolve(graph: Graph, pool: Node, scales: list[Node]) -> None:
    x, y = pool.present_inputs[0], pool.output
    size = numbers_of(pool.attributes["ksize"])[2:]
    counts = window_counts(pool)
    is_counted = pool.attributes.get("exclusive", True) is False
    filters = SplatConst(1, DType.INT8, (y.type.dims[1] or 1, 1, *size))
    for dequant in scales:
        words = constant_words(dequant.input(1))
        if is_counted and words is not None:
            factor = constant_like(graph, dequant.input(1), "by_area", _by_area(words, prod(size)))
            dequant.set_inputs([dequant.input(0), factor])
        else:
            taps = np.full(counts.shape, prod(size)) if is_counted else counts
            _multiply(graph, dequant, (np.float32(1) / taps.astype(np.float32)))
    attributes = {"strides": pool.attributes["strides"], "pads": window_pads(pool)}
    inputs = [x, graph.constant(f"{y.name}.filter", filters)]
    graph.restate(pool, "DepthwiseConv2D", inputs, attributes)


def _by_area(words: npt.NDArray[np.uint64], area: int) -> npt.NDArray[np.uint64]:
    """Words whose factors are divided by the area: multiplied by its float32 reciprocal."""
    parts = np.array(words).view(np.uint32)
    factors = parts[..., ::2].view(np.float32)
    factors *= np.float32(1.0 / area)
    return parts.view(np.uint64)


def _multiply(graph: Graph, dequant: Node, shares: npt.NDArray[np.float32]) -> None:
    """Multiply the floats after a pool, in their dtype, by numbers for each element of a map."""
    floats = dequant.output
    typed = [(f"{floats.name}.mean", floats.type)]
    product = graph.add_node("Mul", [], typed, {}, dequant.origins)
    floats.replace_by(product.output)
    numbers = shares.astype(floats.type.dtype.numpy)
    product.set_inputs([floats, graph.constant(f"{floats.name}.shares", DenseConst(numbers))])

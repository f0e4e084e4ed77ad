"""Brings the offset of weights from the words of a dequantization to the layer that has them."""

from math import prod

import numpy as np
import numpy.typing as npt

from atc_py.diag import QUANT_OFFSET
from atc_py.ir import Graph, Node, Value
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.quant.constants import constant_like, constant_words
from atc_py.target import VIEWS
from atc_py.tensor.dtypes import DType
from atc_py.tensor.scale_words import channel_axis, decode_graph
from atc_py.text import Text

_CHANNELS = {
    "Conv2D": 1,
    "Conv3D": 1,
    "DepthwiseConv2D": 1,
    "Conv2DTransposeD": 1,
    "MatMulV2": -1,
    "BatchMatMulV2": -1,
}
"""The axis of a layer's result that counts output channels, by operator."""

_MOVES = VIEWS | {"TransposeD"}

_OFFSET_W = 3
_SIGNED_RESULT = 64
"""What bit 46 of a hardware word, set in every one, looks like as an offset of weights."""

_HELP = Text("quantize the weights with offset 0, or put the AscendDequant right after its layer")


class ApplyOffsetWPass(Pass):
    """AscendDequant(layer(x, w), words(d, o)) = AscendDequant(layer(x, w, o), words(d)).

    o is the offset_w field of the words, one for all channels or one for each, and w - o what the
    weights stand for. Between the two may stand the addition of a bias and data movement that
    keeps channels. Where no layer can take o, it stays and a finding says so.

    Words of the hardware's packing may stand in AscendDequant, too. They have a 1 in bit 46, which
    reads as an offset of 64: words that have just that in all their fields, and factors of 19
    bits, are taken for such.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        changes = 0
        for node in graph.nodes:
            words = constant_words(node.input(1)) if node.op == "AscendDequant" else None
            if words is None or not _has_offsets(words):
                continue
            offsets = decode_graph(words).offset_w.reshape(-1)
            layer = _layer_of(node, offsets.size)
            if layer is None:
                found = offsets[offsets != 0][0]
                message = Text(
                    "no layer before {op} can take offset_w, found {actual} in its factor words",
                    op=node.op,
                    actual=found,
                )
                place = context.place(node)
                context.sink.add(QUANT_OFFSET.diagnostic(message, place=place, help=_HELP))
                continue
            _move(graph, node, layer, words)
            changes += 1
        return changes


def _has_offsets(words: npt.NDArray[np.uint64]) -> bool:
    parts = decode_graph(words)
    if not parts.offset_w.any():
        return False
    low_bits = words & words.dtype.type(0x1FFF)
    is_hardware = (parts.offset_w == _SIGNED_RESULT).all() and not low_bits.any()
    return not (is_hardware and not parts.shift.any())


def _move(graph: Graph, dequant: Node, layer: Node, words: npt.NDArray[np.uint64]) -> None:
    old = dequant.input(1)
    offsets = decode_graph(words).offset_w.astype(np.int8).reshape(-1)
    operand = constant_like(graph, old, "offset_w", offsets)
    inputs = [*layer.inputs, None, None][:_OFFSET_W]
    layer.set_inputs([*inputs, operand])
    cleared = words & ~np.uint64(0xFF << 40)
    dequant.set_input(1, constant_like(graph, old, "scale", cleared))


def _layer_of(dequant: Node, count: int) -> Node | None:
    """The layer whose sums `dequant` alone reads and that takes `count` offsets, or None."""
    x = dequant.input(0)
    if x is None or (count > 1 and x.type.is_open):
        return None
    axis = None if count == 1 else channel_axis(x.type.shape, count)
    if count > 1 and axis is None:
        return None
    while x is not None and (node := x.producer) is not None and len(x.uses) == 1:
        if node.op in _CHANNELS:
            return node if _takes_offsets(node, axis) else None
        x = _data_of(node)
        if x is not None and axis is not None:
            axis = _axis_before(node, x, axis)
            if axis is None:
                return None
    return None


def _takes_offsets(layer: Node, axis: int | None) -> bool:
    """True if a layer of int8 has no offsets yet, and counts its channels along `axis`."""
    if any(v is None or v.type.dtype is not DType.INT8 for v in (layer.input(0), layer.input(1))):
        return False
    if layer.input(_OFFSET_W) is not None:
        return False
    return axis is None or axis == _CHANNELS[layer.op] % layer.output.type.rank


def _data_of(node: Node) -> Value | None:
    if node.op in _MOVES:
        return node.input(0)
    computed = [value for value in node.present_inputs if value.const is None]
    return computed[0] if node.op == "Add" and len(computed) == 1 else None


def _axis_before(node: Node, x: Value, axis: int) -> int | None:
    """The axis of `x` whose elements are along `axis` of the result of `node`, or None."""
    if node.op == "Add":
        return axis if x.type.dims == node.output.type.dims else None
    if node.op == "TransposeD":
        perm = node.attributes["perm"]
        return int(perm[axis]) if isinstance(perm, tuple) else None
    if x.type.is_open or node.output.type.is_open:
        return None
    old, new = x.type.shape, node.output.type.shape
    steps = ((dim, prod(old[:position])) for position, dim in enumerate(old))
    wanted = new[axis], prod(new[:axis])
    return next((position for position, found in enumerate(steps) if found == wanted), None)

"""The int8 number that stands for 0 in each value of a graph, and the layers that pad with it."""

import math
from collections.abc import Callable, Mapping

from atc_py.ir import Graph, Node, Value
from atc_py.passes.quant.constants import constant_words
from atc_py.target import Unit, unit_of
from atc_py.target.stored_nodes import numbers_of
from atc_py.tensor.dtypes import DType
from atc_py.tensor.scale_words import decode_hardware

Zeros = frozenset[int | None]


UNKNOWN: Zeros = frozenset({None})
"""Of data that come from no quantizing node."""

_ROUNDINGS: Mapping[str, Callable[[float], int]] = {
    "Round": round,
    "Floor": math.floor,
    "Ceil": math.ceil,
    "Trunc": math.trunc,
}

_CHOOSES = "SelectV2"
"""Its results are elements of its data, although it does not move them."""


def zeros_of(graph: Graph, *, cuts: bool) -> Mapping[Value, Zeros]:
    """Codes that may stand for 0 in each int8 value that a node computes; None is not known.

    Of AscendQuant's result it is its offset, rounded as round_mode says, or with `cuts` without its
    fraction; of AscendRequant's and AscendRequantS16's the offset in their words; of moved data
    that of what was moved. Constants among moved data are codes like the others.
    """
    zeros: dict[Value, Zeros] = {}
    for node in graph.nodes:
        integers = [value for value in node.outputs if value.type.dtype is DType.INT8]
        if integers:
            found = _of_results(node, zeros, cuts=cuts)
            zeros.update((value, found) for value in integers)
    return zeros


def counts_padding(layer: Node) -> bool:
    """True if some tap of a convolution finds no element.

    A transposed one has such taps between and around its elements, unless each spreads to one
    place of its own.
    """
    if layer.op in {"Conv2D", "Conv3D", "DepthwiseConv2D"}:
        return any(numbers_of(layer.attributes.get("pads")))
    weights = layer.input(1)
    if layer.op != "Conv2DTransposeD" or weights is None:
        return False
    steps = (*weights.type.dims[2:], *numbers_of(layer.attributes.get("strides")))
    padding = numbers_of(layer.attributes.get("output_padding"))
    return any(step != 1 for step in steps) or any(padding)


def has_known_channels(layer: Node) -> bool:
    """True if CANN folds the offset of a layer's data: their channels must be known.

    For a product of matrices they are its first two axes.
    """
    x = layer.input(0)
    axes = (0, 1) if layer.op in {"MatMulV2", "BatchMatMulV2"} else (1,)
    return x is not None and all(
        x.type.dims[axis] is not None for axis in axes if axis < len(x.type.dims)
    )


def said(zeros: Zeros) -> str:
    """Codes for 0 as text: numbers in order, the unknown last."""
    numbers = [str(zero) for zero in sorted(zero for zero in zeros if zero is not None)]
    return " and ".join([*numbers, *(["one that is not known"] if None in zeros else [])])


def _of_results(node: Node, known: Mapping[Value, Zeros], *, cuts: bool) -> Zeros:
    if node.op == "AscendQuant":
        return frozenset({_rounded_offset(node, cuts=cuts)})
    if node.op in {"AscendRequant", "AscendRequantS16"}:
        words = constant_words(node.input(1))
        if words is None:
            return UNKNOWN
        return frozenset(decode_hardware(words).offset.reshape(-1).tolist())
    if unit_of(node.op) not in {Unit.MOVE, Unit.LOCAL} and node.op != _CHOOSES:
        return UNKNOWN
    moved = (value for value in node.present_inputs if value.type.dtype is DType.INT8)
    computed = [value for value in moved if value.const is None]
    return frozenset[int | None]().union(*(known.get(v, UNKNOWN) for v in computed)) or UNKNOWN


def _rounded_offset(quant: Node, *, cuts: bool) -> int | None:
    offset = quant.attributes["offset"]
    mode = "Trunc" if cuts else quant.attributes.get("round_mode", "Round")
    if not isinstance(offset, float) or not math.isfinite(offset) or mode not in _ROUNDINGS:
        return None
    return _ROUNDINGS[str(mode)](offset)

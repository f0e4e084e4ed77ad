"""Gives convolutions of quantised data the number that their padding has."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from atc_py.diag.codes import QUANT_OFFSET
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.quant.constants import constant_words
from atc_py.target import Unit, find_operator
from atc_py.tensor.dtypes import DType
from atc_py.tensor.scale_words import decode_hardware

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from atc_py.ir import Graph, Node, Value

    Zeros = frozenset[int | None]

__all__ = ["SetOffsetXPass"]

_UNKNOWN: Zeros = frozenset({None})

_ROUNDINGS: Mapping[str, Callable[[float], int]] = {
    "Round": round,
    "Floor": math.floor,
    "Ceil": math.ceil,
    "Trunc": math.trunc,
}

_INT8 = range(-128, 128)

_HELP = "quantise all that meets in the convolution with one offset from -128 to 127"


class SetOffsetXPass(Pass):
    """offset_x = z, the int8 number that stands for 0 in a convolution's data.

    z of AscendQuant's result is its offset, rounded as round_mode says; of AscendRequant's and
    AscendRequantS16's the offset in their words; of moved data that of what was moved. The bias of
    a quantised layer has taken z off for every tap, so a tap on the padding must find z there.
    Where data of several z meet, or z is no int8, offset_x stays 0 and a finding says so.
    """

    name = "set-offset-x"
    summary = "Lets convolutions of quantised data pad with the number that stands for 0."
    optional = False

    def run(self, graph: Graph, context: PassContext) -> int:
        """Set offset_x where it is not 0; returns how often."""
        known = _zeros(graph)
        changes = 0
        for node in graph.nodes:
            x = node.input(0)
            if x is None or x.type.dtype is not DType.INT8 or not _pads(node):
                continue
            zeros = known.get(x, _UNKNOWN)
            zero = next(iter(zeros)) if len(zeros) == 1 else None
            if zero is not None and zero in _INT8:
                node.attributes["offset_x"] = zero
                changes += zero != 0
            elif zeros != _UNKNOWN:
                message = (
                    f"{node.op} must pad with the one int8 number that stands for 0 in its data, "
                    f"found {_said(zeros)}"
                )
                place = context.place(node)
                context.sink.add(QUANT_OFFSET.diagnostic(message, place=place, help=_HELP))
        return changes


def _pads(node: Node) -> bool:
    """Whether some tap of a convolution finds no element; and offset_x is not set already.

    A transposed one has such taps between and around its elements, unless each spreads to one
    place of its own.
    """
    if node.attributes.get("offset_x", 0) != 0:
        return False
    if node.op in {"Conv2D", "DepthwiseConv2D"}:
        return any(_numbers(node, "pads"))
    weights = node.input(1)
    if node.op != "Conv2DTransposeD" or weights is None:
        return False
    steps = (*weights.type.dims[2:], *_numbers(node, "strides"))
    return any(step != 1 for step in steps) or any(_numbers(node, "output_padding"))


def _numbers(node: Node, name: str) -> tuple[float, ...]:
    """An attribute of numbers; none where it is absent."""
    value = node.attributes.get(name, ())
    return value if isinstance(value, tuple) else ()


def _zeros(graph: Graph) -> dict[Value, Zeros]:
    """What may stand for 0 in each int8 value that a node computes; None is not known."""
    zeros: dict[Value, Zeros] = {}
    for node in graph.nodes:
        integers = [value for value in node.outputs if value.type.dtype is DType.INT8]
        if integers:
            found = _zeros_of(node, zeros)
            zeros.update((value, found) for value in integers)
    return zeros


def _zeros_of(node: Node, known: Mapping[Value, Zeros]) -> Zeros:
    """The same for the results of one node."""
    if node.op == "AscendQuant":
        return frozenset({_rounded_offset(node)})
    if node.op in {"AscendRequant", "AscendRequantS16"}:
        words = constant_words(node.input(1))
        return (
            _UNKNOWN
            if words is None
            else frozenset(decode_hardware(words).offset.reshape(-1).tolist())
        )
    row = find_operator(node.op)
    if row is None or row.unit not in {Unit.MOVE, Unit.LOCAL}:
        return _UNKNOWN
    moved = [value for value in node.present_inputs if value.type.dtype is DType.INT8]
    return frozenset[int | None]().union(*(known.get(v, _UNKNOWN) for v in moved)) or _UNKNOWN


def _rounded_offset(quant: Node) -> int | None:
    """The offset of an AscendQuant as an integer."""
    offset = quant.attributes["offset"]
    mode = quant.attributes.get("round_mode", "Round")
    if not isinstance(offset, float) or not math.isfinite(offset) or mode not in _ROUNDINGS:
        return None
    return _ROUNDINGS[str(mode)](offset)


def _said(zeros: Zeros) -> str:
    """What stands for 0, as words: numbers in order, what is not known last."""
    numbers = [str(zero) for zero in sorted(zero for zero in zeros if zero is not None)]
    return " and ".join([*numbers, *(["one that is not known"] if None in zeros else [])])

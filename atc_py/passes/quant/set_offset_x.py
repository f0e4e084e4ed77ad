"""Gives convolutions of quantized data the number that their padding has."""

from atc_py.diag import QUANT_OFFSET
from atc_py.ir import Graph
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.quant.zeros import UNKNOWN, counts_padding, has_known_channels, said, zeros_of
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_INT8 = range(-128, 128)

_HELP = Text("quantize all data of the convolution with the same offset from -128 to 127")


class SetOffsetXPass(Pass):
    """offset_x = z, the int8 number that stands for 0 in a convolution's data.

    The bias of a quantized layer takes z off for every tap, so a tap on the padding must find z
    there. If data of several z meet, or z is not an int8, offset_x stays 0 and a finding says so.
    A fractional offset is rounded as round_mode says, or loses its fraction where CANN's
    passes are followed: they cast it to int8.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        rules = context.soc.quant_rules
        known = zeros_of(graph, cuts=rules.cuts_offsets)
        changes = 0
        for node in graph.nodes:
            x = node.input(0)
            if x is None or x.type.dtype is not DType.INT8 or not counts_padding(node):
                continue
            if node.attributes.get("offset_x", 0) != 0:
                continue
            if rules.needs_channels and not has_known_channels(node):
                continue  # fold-quant-bias says so
            zeros = known.get(x, UNKNOWN)
            zero = next(iter(zeros)) if len(zeros) == 1 else None
            if zero is not None and zero in _INT8:
                node.attributes["offset_x"] = zero
                changes += zero != 0
            elif zeros != UNKNOWN:
                message = Text(
                    "{op} must pad with the one int8 number that stands for 0 in its "
                    "data, found {said}",
                    op=node.op,
                    said=said(zeros),
                )
                place = context.place(node)
                context.sink.add(QUANT_OFFSET.diagnostic(message, place=place, help=_HELP))
        return changes

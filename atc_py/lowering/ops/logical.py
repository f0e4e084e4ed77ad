"""Lowering of logic and of shifts whose forms differ from the target's."""

from collections.abc import Sequence

from atc_py.ir import SplatConst, Value
from atc_py.lowering.builder import Builder
from atc_py.lowering.registry import lowering
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_SHIFTS = {"LEFT": "LeftShift", "RIGHT": "RightShift"}


@lowering("BitShift")
def lower_bit_shift(b: Builder) -> Sequence[Value]:
    """Lower BitShift to LeftShift or RightShift, as CANN's parser does."""
    direction = b.string("direction", "")
    if direction not in _SHIFTS:
        expected = " or ".join(_SHIFTS)
        text = Text("needs direction {expected}, found {found}")
        raise b.bad(
            text.with_values(expected=expected, found=repr(direction)), "attribute direction"
        )
    return [b.op(_SHIFTS[direction], [b.input(0), b.input(1)], b.output_type())]


@lowering("IsInf")
def lower_is_inf(b: Builder) -> Sequence[Value]:
    """Lower IsInf to IsInf; where one sign counts alone, and to a comparison with 0 as well.

    CANN's parser refuses the nodes that need the comparison. Where no sign counts, x < x is false
    of every element.
    """
    x, result = b.input(0), b.output_type()
    negative, positive = b.integer("detect_negative", 1), b.integer("detect_positive", 1)
    if not (negative or positive):
        return [b.op("Less", [x, x], result)]
    if negative and positive:
        return [b.op("IsInf", [x], result)]
    infinite = b.op("IsInf", [x], result, label="infinite")
    zero = b.const("zero", SplatConst(0.0, x.type.dtype, ()))
    side = b.op("Less" if negative else "Greater", [x, zero], result, label="side")
    return [b.op("LogicalAnd", [infinite, side], result)]


@lowering("Xor")
def lower_xor(b: Builder) -> Sequence[Value]:
    """Lower Xor to BitwiseXor of int32 and casts around it, as CANN's parser does."""
    result = b.output_type()
    operands = [b.cast(b.input(position), DType.INT32) for position in range(2)]
    bits = b.op("BitwiseXor", operands, result.with_dtype(DType.INT32), label="bits")
    return [b.cast(bits, DType.BOOL, b.output_name(0))]

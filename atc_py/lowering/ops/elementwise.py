"""Lowering of elementwise arithmetic and bounds whose forms differ from the target's."""

from collections.abc import Sequence
from functools import reduce

import numpy as np

from atc_py.ir import SplatConst, TensorType, Value
from atc_py.lowering.builder import Builder, lowering
from atc_py.onnx_graph.source.model import FOLD_LIMIT
from atc_py.spec.rewrites import performs
from atc_py.system.memory_limit import format_size
from atc_py.target import find_operator
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape, element_count, format_shape
from atc_py.text import Text


@lowering("Sum")
def lower_sum(b: Builder) -> Sequence[Value]:
    """Sum -> AccumulateNV2, or a chain of Add where shapes broadcast."""
    return [_sum(b, None)]


@lowering("Mean")
def lower_mean(b: Builder) -> Sequence[Value]:
    """Lower Mean to the nodes of a Sum, and Muls by one divided by the number of inputs."""
    count = len(b.node.inputs)
    if count == 1:
        return [b.input(0)]
    total = _sum(b, "sum")
    return [b.op("Muls", [total], b.output_type(), {"value": 1 / count})]


@lowering("Max")
def lower_max(b: Builder) -> Sequence[Value]:
    return [_chain(b, "Maximum", None)]


@lowering("Min")
def lower_min(b: Builder) -> Sequence[Value]:
    return [_chain(b, "Minimum", None)]


@lowering("Mod")
def lower_mod(b: Builder) -> Sequence[Value]:
    """Lower Mod to Mod, of the dividend's sign, with fmod; FloorMod, of the divisor's, without."""
    result = b.output_type()
    fmod = b.integer("fmod", 0)
    if fmod == 0 and result.dtype.is_float:
        text = Text("needs fmod 1 for {dtype}, found 0")
        raise b.bad(text.with_values(dtype=result.dtype.value), "attribute fmod")
    return [b.op("Mod" if fmod else "FloorMod", [b.input(0), b.input(1)], result)]


@lowering("Sub")
@performs("broadcast-operands")
def lower_sub(b: Builder) -> Sequence[Value]:
    """Lower Sub to Sub of two tensors of the result's shape, by ExpandD where needed.

    Where only the run knows the shape, Sub broadcasts them.
    """
    result = b.output_type()
    if result.is_open:
        return [b.op("Sub", [b.input(0), b.input(1)], result)]
    operands = [
        _expanded(b, b.input(position), result.shape, name) for position, name in enumerate("AB")
    ]
    return [b.op("Sub", operands, result)]


@lowering("Expand")
def lower_expand(b: Builder) -> Sequence[Value]:
    """Expand -> ExpandD with the resulting shape, Expand where only the run knows the operand.

    Where the run knows the dims of x alone, Mul by ones of the shape that x is broadcast with.
    """
    result = b.output_type()
    if not result.is_open:
        return [_expanded(b, b.input(0), result.shape, None)]
    if b.is_computed(1):
        return [b.op("Expand", [b.input(0), b.input(1)], result)]
    shape = b.numbers(1, "shape") or ()
    size = element_count(shape) * result.dtype.itemsize
    if size > FOLD_LIMIT:
        text = Text(
            "an input whose dims are known only at run time needs {size} of ones for its "
            "expansion; the limit is {limit}"
        )
        raise b.unsupported(
            text.with_values(size=format_size(size), limit=format_size(FOLD_LIMIT)),
            None,
            Text("fix the dims of the input with --input-shape"),
        )
    ones = b.const("ones", SplatConst(1, result.dtype, shape))
    return [b.op("Mul", [b.input(0), ones], result)]


@lowering("Clip")
def lower_clip_by_attributes(b: Builder) -> Sequence[Value]:
    """Clip before opset 11 -> ClipByValue with its attributes as constants.

    By default they are the limits of float32, which narrower floats hold as infinities.
    """
    dtype = b.output_type().dtype
    low, high = _limits(b, DType.FLOAT32)
    bounds = [
        b.const("min", SplatConst(b.number("min", low), dtype, ())),
        b.const("max", SplatConst(b.number("max", high), dtype, ())),
    ]
    return [b.op("ClipByValue", [b.input(0), *bounds], b.output_type())]


@lowering("Clip", since=11)
def lower_clip_of_floats(b: Builder) -> Sequence[Value]:
    """Clip at opset 11 -> ClipByValue; absent bounds are as before, which onnxruntime does, too."""
    return _clip_by_inputs(b, DType.FLOAT32)


@lowering("Clip", since=12)
def lower_clip_by_inputs(b: Builder) -> Sequence[Value]:
    """Clip -> ClipByValue; an absent bound is a limit of the node's own dtype."""
    return _clip_by_inputs(b, b.output_type().dtype)


def _clip_by_inputs(b: Builder, limited: DType) -> Sequence[Value]:
    """ClipByValue whose absent bounds are the limits of `limited`."""
    dtype = b.output_type().dtype
    low, high = _limits(b, limited)
    minimum = b.optional_input(1) or b.const("min", SplatConst(low, dtype, ()))
    maximum = b.optional_input(2) or b.const("max", SplatConst(high, dtype, ()))
    return [b.op("ClipByValue", [b.input(0), minimum, maximum], b.output_type())]


def _sum(b: Builder, label: str | None) -> Value:
    values = [b.input(position) for position in range(len(b.node.inputs))]
    result = b.output_type()
    alike = not result.is_open and all(value.type.dims == result.dims for value in values)
    if len(values) > 1 and alike and _accumulates(result.dtype):
        name = None if label is None else _part(b, label)
        return b.op("AccumulateNV2", values, result, {"N": len(values)}, name)
    return _chain(b, "Add", label)


def _accumulates(dtype: DType) -> bool:
    """True if a kernel sums any number of tensors of a dtype; for float64 none does.

    Of a bfloat16 the SoC decides.
    """
    row = find_operator("AccumulateNV2")
    listed = {column.inputs[0] for column in row.columns} if row is not None else set()
    return dtype in listed or dtype is DType.BFLOAT16


def _chain(b: Builder, op: str, label: str | None) -> Value:
    values = [b.input(position) for position in range(len(b.node.inputs))]
    dtype = b.output_type().dtype

    def pair(left: Value, numbered: tuple[int, Value]) -> Value:
        position, right = numbered
        shape = b.broadcast(left.type.dims, right.type.dims)
        last = position == len(values) - 1
        name = label if last else "partial"
        named = None if name is None else _part(b, name)
        return b.op(op, [left, right], TensorType(dtype, shape), label=named)

    return reduce(pair, list(enumerate(values))[1:], values[0])


def _expanded(b: Builder, x: Value, shape: Shape, label: str | None) -> Value:
    if x.type.dims == shape:
        return x
    # ONNX's inference before opset 7 takes the dims of A even where B has more.
    if not x.type.is_open and b.broadcast(x.type.dims, shape) != shape:
        text = Text("cannot broadcast {slope} to {x}")
        raise b.bad(text.with_values(slope=format_shape(x.type.dims), x=format_shape(shape)))
    name = None if label is None else _part(b, label)
    return b.op("ExpandD", [x], TensorType(x.type.dtype, shape), {"shape": shape}, name)


def _part(b: Builder, label: str) -> str:
    return f"{b.node.op_type}.{b.node.index}.{label}"


def _limits(b: Builder, dtype: DType) -> tuple[float, float]:
    import ml_dtypes

    own = b.output_type().dtype
    if not (own.is_float or own.is_integer):
        raise b.bad(Text("needs numbers, found {found}", found=own.value), "input 0")
    if own.is_integer:
        limits = np.iinfo(own.numpy)
        return int(limits.min), int(limits.max)
    info = ml_dtypes.finfo(dtype.numpy)  # type: ignore[no-untyped-call]
    return float(info.min), float(info.max)


# Logic and bits -----------------------------------------------------------------------------------


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

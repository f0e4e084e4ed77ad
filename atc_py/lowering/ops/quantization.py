"""Lowering of CANN's quantization operators, which stand in models under their own names.

Inputs count by position. Flags are the integers 0 and 1 in a file. Words are handed on as they are:
what AscendDequant reads of a word, the factor, is in the same place in both packings, and models
that have the other operators have hardware words.
"""

from collections.abc import Sequence
from math import prod

from atc_py.ir import AttrValue, TensorType, Value
from atc_py.lowering.builder import Builder, lowering, said
from atc_py.tensor.dtypes import DType
from atc_py.text import Text, all_of

_ROUND_MODES = ("Round", "Floor", "Ceil", "Trunc")
_TARGETS = {"INT8": DType.INT8, "INT16": DType.INT16, "INT4": DType.INT4}
_RESULTS = {dtype.ge: dtype for dtype in (DType.FLOAT32, DType.FLOAT16)}


@lowering("AscendQuant")
def lower_ascend_quant(b: Builder) -> Sequence[Value]:
    x, mode = b.input(0), b.string("round_mode", "Round")
    if mode not in _ROUND_MODES:
        known = ", ".join(_ROUND_MODES)
        text = Text("takes one of {known} as round_mode, found {found}")
        raise b.bad(text.with_values(known=known, found=mode), "attribute round_mode")
    target = _target(b)
    attributes: dict[str, AttrValue] = {
        **_scale_and_offset(b),
        "sqrt_mode": b.flag("sqrt_mode"),
        "round_mode": mode,
        "dst_type": target,
    }
    result = b.stated_type(0, TensorType(target, x.type.shape))
    return [b.op("AscendQuant", [x], result, attributes)]


@lowering("AscendAntiQuant")
def lower_ascend_anti_quant(b: Builder) -> Sequence[Value]:
    """Lower AscendAntiQuant, whose target adds the offset that a file says to subtract."""
    x, numbers = b.input(0), _scale_and_offset(b)
    dtype = _dtype(b)
    attributes: dict[str, AttrValue] = {
        "scale": numbers["scale"],
        "offset": 0.0 - numbers["offset"],
        "dtype": dtype,
        "sqrt_mode": b.flag("sqrt_mode"),
    }
    result = b.stated_type(0, TensorType(dtype, x.type.shape))
    return [b.op("AscendAntiQuant", [x], result, attributes)]


@lowering("AscendDequant")
def lower_ascend_dequant(b: Builder) -> Sequence[Value]:
    x, scale = b.input(0), _scale(b)
    sqrt_mode, dtype = b.flag("sqrt_mode"), _dtype(b)
    if sqrt_mode and scale.type.dtype is DType.UINT64:
        raise b.bad(
            Text("takes float16 factors with sqrt_mode, found uint64"), "attribute sqrt_mode"
        )
    attributes: dict[str, AttrValue] = {
        "sqrt_mode": sqrt_mode,
        "relu_flag": b.flag("relu_flag"),
        "dtype": dtype,
    }
    result = b.stated_type(0, TensorType(dtype, x.type.shape))
    return [b.op("AscendDequant", [x, scale], result, attributes)]


@lowering("AscendRequant")
def lower_ascend_requant(b: Builder) -> Sequence[Value]:
    x, scale = b.input(0), _scale(b)
    result = b.stated_type(0, TensorType(DType.INT8, x.type.shape))
    return [b.op("AscendRequant", [x, scale], result, {"relu_flag": b.flag("relu_flag")})]


@lowering("AscendRequantS16")
def lower_ascend_requant_s16(b: Builder) -> Sequence[Value]:
    """Lower AscendRequantS16, with the second output where dual_output is set."""
    x, scale, addend = b.input(0), _scale(b), b.optional_input(2)
    dual = b.flag("dual_output")
    if b.wants_output(1) and not dual:
        raise b.bad(Text("gives a second output with dual_output alone"), "output 1")
    if addend is not None and addend.type.shape != x.type.shape:
        text = Text("needs x1 of the shape of x0, found {found}")
        raise b.bad(text.with_values(found=said(addend.type)), "input x1")
    names = [(b.output_name(0), DType.INT8), (f"{b.output_name(0)}.int16", DType.INT16)]
    if b.wants_output(1):
        names[1] = (b.output_name(1), DType.INT16)
    outputs = [
        (name, b.stated_type(position, TensorType(dtype, x.type.shape)))
        for position, (name, dtype) in enumerate(names[: 2 if dual else 1])
    ]
    attributes: dict[str, AttrValue] = {
        "dual_output": dual,
        "relu_flag": b.flag("relu_flag"),
    }
    return b.ops("AscendRequantS16", b.present(x, scale, addend), outputs, attributes)


@lowering("AscendDequantS16")
def lower_ascend_dequant_s16(b: Builder) -> Sequence[Value]:
    x, scale, addend = b.input(0), _scale(b), b.optional_input(2)
    if addend is not None and addend.type.shape != x.type.shape:
        _check_channels(b, x, addend, "x1")
    result = b.stated_type(0, TensorType(DType.INT16, x.type.shape))
    inputs = b.present(x, scale, addend)
    return [b.op("AscendDequantS16", inputs, result, {"relu_flag": b.flag("relu_flag")})]


# Parts ------------------------------------------------------------------------------------------


def _scale_and_offset(b: Builder) -> dict[str, float]:
    for name in ("scale", "offset"):
        if name not in b.node.attributes:
            raise b.bad(Text("needs the attribute {name}", name=name), f"attribute {name}")
    return {name: b.number(name, 0.0) for name in ("scale", "offset")}


def _target(b: Builder) -> DType:
    name = b.string("dst_type", "INT8")
    if name in _TARGETS:
        return _TARGETS[name]
    known = ", ".join(_TARGETS)
    text = Text("takes one of {known} as dst_type, found {found}")
    raise b.bad(text.with_values(known=known, found=name), "attribute dst_type")


def _dtype(b: Builder) -> DType:
    """The dtype whose number in CANN's graph the attribute `dtype` is."""
    number = b.integer("dtype", DType.FLOAT32.ge)
    if number not in _RESULTS:
        known = " or ".join(f"{ge} ({dtype.value})" for ge, dtype in _RESULTS.items())
        text = Text("takes {known} as dtype, found {found}")
        raise b.bad(text.with_values(known=known, found=number), "attribute dtype")
    return _RESULTS[number]


def _scale(b: Builder) -> Value:
    scale = b.input(1)
    _check_channels(b, b.input(0), scale, "1")
    return scale


def _check_channels(b: Builder, x: Value, value: Value, name: str) -> None:
    from atc_py.tensor.scale_words import channel_axis, is_a_list

    count = prod(value.type.shape)
    fits = channel_axis(x.type.shape, count) is not None and is_a_list(value.type.shape)
    if count != 1 and not fits:
        found = all_of([said(x.type), said(value.type)])
        raise b.bad(
            Text("needs 1 element or 1 for each channel, found {found}", found=found),
            Text("input {at}", at=name),
        )

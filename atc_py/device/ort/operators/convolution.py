"""Convolutions and transposed convolutions of images and volumes."""

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.ort.body import Body, emulates
from atc_py.device.ort.node import NoFormError
from atc_py.device.ort.products import (
    OFFSET_W,
    bytes_of_operand,
    factors,
    offset_of_weights,
    shifted,
    single_offset,
    zero_point,
)
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

Geometry = dict[str, Any]


_FILTER, _BIAS = 1, 2


@emulates("Conv2D", "Conv3D", "DepthwiseConv2D")
def convolution(body: Body) -> str:
    """Write `y[n, o] = bias[o] + sum over c and taps of (w - offset_w)[o, c] * x[n, c]`.

    x is padded with `offset_x`. Floats are added up in float32, operands rounded to HF32 first where
    `impl_mode` says so; int8 is added up in int32, which wraps around.
    """
    node, groups = body.node, body.node.required(0).dims[1]
    if node.op != "DepthwiseConv2D":  # which has as many groups as channels
        groups = node.integer("groups")
    if groups is None:
        raise NoFormError(Text("input 'x' has an open number of channels"))
    geometry = {"group": groups, "pads": _onnx_pads(node.integers("pads")), **_steps(body)}
    if node.dtype() is not DType.INT8:
        _check_float64(body)
        data, weights = factors(body)
        if any(geometry["pads"]) and _has_infinite_weights(body):
            geometry, data = _padded_apart(body, geometry, data)
        return body.add("Conv", data, weights, *_bias(body), **geometry)
    data, weights = bytes_of_operand(body, 0), bytes_of_operand(body, _FILTER)
    zero = node.integer("offset_x")
    # What is padded counts nothing where offset_x is the zero point; it is then added for all taps.
    total = _integer_sums(body, data, weights, zero, geometry)
    constants = [_all_taps(body, zero)] if zero else []
    return _with_constants(body, total, constants)


@emulates("Conv2DTransposeD", "Conv3DTransposeD")
def transposed(body: Body) -> str:
    """Write the sum of the filter times each element `i`, at `i * stride + tap * dilation - pad`.

    int8 is a convolution by the turned filter; what is between and around the data is `offset_x`.
    """
    node = body.node
    groups, extra = node.integer("groups"), node.integers("output_padding")[2:]
    if node.dtype() is DType.INT8:
        return _integer_transposed(body, groups, extra)
    _check_float64(body)
    pads, extra = _without_long_extra(node.integers("pads"), extra, _steps(body))
    return body.add(
        "ConvTranspose",
        *factors(body),
        *_bias(body),
        group=groups,
        output_padding=extra,
        pads=_onnx_pads(pads),
        **_steps(body),
    )


def _without_long_extra(
    pads: Sequence[int], extra: Sequence[int], steps: Geometry
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Pads and output_padding, of which runtimes take less than stride or dilation.

    What is longer is left off the padding at the end, which is the same.
    """
    pads, extra = list(pads), list(extra)
    for axis, (stride, dilation) in enumerate(zip(*steps.values(), strict=True)):
        if extra[axis] < max(stride, dilation):
            continue
        if extra[axis] > pads[2 * axis + 1]:
            raise NoFormError(Text("output_padding reaches stride and dilation, but no pad does"))
        pads[2 * axis + 1] -= extra[axis]
        extra[axis] = 0
    return tuple(pads), tuple(extra)


def _check_float64(body: Body) -> None:
    if body.node.dtype() is DType.FLOAT64:
        raise NoFormError(Text("onnxruntime has no convolution of float64"))


def _has_infinite_weights(body: Body) -> bool:
    """True if the filter is a constant with infinity or NaN.

    Their products with padding are NaN, which onnxruntime leaves out where it is blocked by channels.
    """
    weights = body.node.constant(_FILTER)
    return weights is not None and not np.isfinite(weights.astype(np.float32)).all()


def _padded_apart(body: Body, geometry: Geometry, data: str) -> tuple[Geometry, str]:
    """The geometry without padding, and the data with it.

    There is an axis more in between: onnxruntime would add a mere Pad to the convolution that follows.
    """
    pads, rank, first = geometry["pads"], body.node.rank() - 2, body.ints(0)
    around = body.ints(0, 0, 0, *pads[:rank], 0, 0, 0, *pads[rank:])
    padded = body.add("Pad", body.add("Unsqueeze", data, first), around, body.const(0.0))
    return {**geometry, "pads": (0,) * len(pads)}, body.add("Squeeze", padded, first)


def _bias(body: Body) -> list[str]:
    return [body.x(_BIAS)] if body.node.has(_BIAS) else []


def _steps(body: Body) -> Geometry:
    return {name: body.node.integers(name)[2:] for name in ("strides", "dilations")}


def _onnx_pads(pads: tuple[int, ...]) -> tuple[int, ...]:
    """CANN's pads, which are axis by axis, as ONNX's: all first ones before all last ones."""
    return *pads[::2], *pads[1::2]


# int8 -------------------------------------------------------------------------------------------


def _integer_sums(body: Body, data: str, weights: str, zero: int, geometry: Geometry) -> str:
    """The sums of `(w - offset_w) * (x - zero)` in int32, data and filter given as bytes."""
    total = body.add(
        "ConvInteger", data, weights, zero_point(body, zero), single_offset(body), **geometry
    )
    offset = offset_of_weights(body)
    if offset is None:
        return total
    groups = geometry["group"]
    channels, depth, *kernel = _oihw(body)
    ones = body.const(np.full((groups, depth, *kernel), 129), DType.UINT8)
    zeros = zero_point(body, zero), zero_point(body)
    sums = body.add("ConvInteger", data, ones, *zeros, **geometry)
    group_of = np.repeat(np.arange(groups), channels // groups)
    sums = body.add("Gather", sums, body.const(group_of, DType.INT64), axis=1)
    return body.add("Sub", total, body.add("Mul", sums, _by_channel(body, offset)))


def _oihw(body: Body) -> tuple[int, ...]:
    first, second, *kernel = body.node.shape(_FILTER)
    if body.node.op != "Conv2DTransposeD":
        return first, second, *kernel
    groups = body.node.integer("groups")
    return groups * second, first // groups, *kernel


def _by_channel(body: Body, values: str) -> str:
    return body.add("Reshape", values, body.ints(-1, *(1,) * (body.node.rank() - 2)))


def _all_taps(body: Body, zero: int) -> str:
    """`zero` times the sum of the weights of each channel."""
    depth = body.node.rank() - 2
    if _FILTER in body.node.constants:
        sums = body.form(_FILTER, f"sums_{zero}", partial(_channel_sums, zero))
    else:
        wide = body.cast(body.own(_FILTER), DType.INT32)
        sums = body.add("ReduceSum", wide, body.ints(*range(1, depth + 2)), keepdims=0)
        sums = body.add("Mul", sums, body.const(zero, DType.INT32))
    if body.node.has(OFFSET_W):
        taps = prod(_oihw(body)[1:])
        offset = body.cast(body.own(OFFSET_W), DType.INT32)
        sums = body.add("Sub", sums, body.add("Mul", offset, body.const(taps * zero, DType.INT32)))
    return sums


def _channel_sums(zero: int, weights: NDArray[Any]) -> NDArray[np.int32]:
    """`zero` times the sum of an OIHW filter of each output channel, modulo 2^32."""
    sums = weights.reshape(len(weights), -1).sum(axis=1, dtype=np.int64) * zero
    found: NDArray[np.int32] = sums.astype(np.int32)
    return found


def _with_constants(body: Body, total: str, constants: list[str]) -> str:
    """`total` plus constants of the channels and the bias, modulo 2^32."""
    if body.node.has(_BIAS):
        constants = [*constants, body.own(_BIAS)]
    if not constants:
        return total
    constant = constants[0] if len(constants) == 1 else body.add("Add", *constants)
    return body.add("Add", total, _by_channel(body, constant))


def _integer_transposed(body: Body, groups: int, extra: tuple[int, ...]) -> str:
    """A convolution, by the turned filter, of the data with `offset_x` between and around."""
    node = body.node
    zero, kernel = node.integer("offset_x"), _oihw(body)[2:]
    strides, dilations = (node.integers(name)[2:] for name in ("strides", "dilations"))
    reaches = [step * (size - 1) + 1 for step, size in zip(dilations, kernel, strict=True)]
    pads = node.integers("pads")
    around = [reach - 1 - pad for reach, pad in zip(reaches, pads[::2], strict=True)]
    around += [
        reach - pad + more - stride
        for reach, pad, more, stride in zip(reaches, pads[1::2], extra, strides, strict=True)
    ]
    data = _spread(body, bytes_of_operand(body, 0), zero, strides)
    data = _padded(body, data, zero, [0, 0, *around[:2], 0, 0, *around[2:]])
    geometry = {"group": groups, "dilations": dilations}
    total = _integer_sums(body, data, _turned(body, groups), 0, geometry)
    return _with_constants(body, total, [])


def _spread(body: Body, data: str, zero: int, strides: tuple[int, ...]) -> str:
    """The data with `stride - 1` times `zero` after each element."""
    if set(strides) == {1}:
        return data
    apart = body.add("Unsqueeze", data, body.ints(3, 5))
    down, across = strides
    wide = _padded(body, apart, zero, [0] * 9 + [down - 1, 0, across - 1])
    shape = body.add("Mul", body.add("Shape", data), body.ints(1, 1, down, across))
    return body.add("Reshape", wide, shape)


def _padded(body: Body, data: str, zero: int, pads: list[int]) -> str:
    """The data with as much of `zero` around; a negative pad cuts off."""
    return body.add("Pad", data, body.ints(*pads), zero_point(body, zero)) if any(pads) else data


def _turned(body: Body, groups: int) -> str:
    """An IOHW filter as the bytes of an OIHW filter, its axes of space backward."""
    if _FILTER in body.node.constants:
        return body.form(_FILTER, f"turned_{groups}", partial(_turned_filter, groups))
    channels, depth, *kernel = _oihw(body)
    value = bytes_of_operand(body, _FILTER)
    split = body.add("Reshape", value, body.ints(groups, depth, channels // groups, *kernel))
    swapped = body.add("Transpose", split, perm=[0, 2, 1, 3, 4])
    whole = body.add("Reshape", swapped, body.ints(channels, depth, *kernel))
    ends = body.ints(-1, -1), body.ints(-(2**31), -(2**31))
    return body.add("Slice", whole, *ends, body.ints(2, 3), body.ints(-1, -1))


def _turned_filter(groups: int, weights: NDArray[Any]) -> NDArray[np.uint8]:
    inputs, filters, *kernel = weights.shape
    split = weights.reshape(groups, inputs // groups, filters, *kernel).swapaxes(1, 2)
    whole = split.reshape(groups * filters, inputs // groups, *kernel)
    return shifted(np.ascontiguousarray(whole[:, :, ::-1, ::-1]))

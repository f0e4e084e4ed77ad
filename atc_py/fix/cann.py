"""For each deviation of CANN, nodes of ONNX that compute what CANN computes.

Over 400 lines because one page has all forms.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from atc_py.fix import tables
from atc_py.fix.context import RuleContext
from atc_py.fix.parts.windows import require_places, take
from atc_py.fix.unfit import require
from atc_py.onnx_graph.source import SourceTensor
from atc_py.tensor.dtypes import DType
from atc_py.tensor.resampling import KernelAxis

Form = Callable[[RuleContext], Sequence[str]]

FORMS: dict[tuple[str, str], Form] = {}
"""Every form by operator and deviation."""


def cann_form(operator: str, *deviations: str) -> Callable[[Form], Form]:
    """Register what writes what CANN computes of a node with deviations, rows of the operator.

    The function returns the names of the values that become the node's outputs, by position.
    """

    def register(form: Form) -> Form:
        for name in deviations:
            if (operator, name) in FORMS:
                raise ValueError(f"{operator}/{name} has two forms")
            FORMS[operator, name] = form
        return form

    return register


_CHANGED: Mapping[tuple[str, str], dict[str, Any]] = {
    ("AveragePool", "large-window-counts-padding"): {"count_include_pad": 1, "ceil_mode": None},
    ("BatchMultiClassNMS", "coordinate-frame-ignored"): {"change_coordinate_frame": None},
    ("EyeLike", "float32-without-dtype"): {"dtype": 1},
    ("GRU", "activations-ignored"): {
        "activations": None,
        "activation_alpha": None,
        "activation_beta": None,
    },
    ("LSTM", "activations-ignored"): {
        "activations": None,
        "activation_alpha": None,
        "activation_beta": None,
    },
    ("GRU", "clip-ignored"): {"clip": None},
    ("LSTM", "clip-ignored"): {"clip": None},
    ("GRU", "reset-after-product"): {"linear_before_reset": 1},
    ("GRU", "reverse-as-forward"): {"direction": None},
    ("GatherND", "batch-dims-ignored"): {"batch_dims": None},
    ("Gemm", "alpha-ignored"): {"alpha": None},
    ("Gemm", "alpha-ignored-without-c"): {"alpha": None},
    ("Gemm", "beta-ignored"): {"beta": None},
    ("LSTM", "input-forget-ignored"): {"input_forget": None},
    ("MaxPool", "same-lower-as-upper"): {"auto_pad": "SAME_UPPER"},
    ("AveragePool", "same-lower-as-upper"): {"auto_pad": "SAME_UPPER"},
    ("LpPool", "same-lower-as-upper"): {"auto_pad": "SAME_UPPER"},
    ("Mod", "sign-of-dividend"): {"fmod": 1},
    ("Multinomial", "int32-always"): {"dtype": 6},
    ("Multinomial", "one-sample"): {"sample_size": 1},
    ("RandomNormalLike", "float32-after-nodes"): {"dtype": 1},
    ("RandomNormalLike", "float32-without-dtype"): {"dtype": 1},
    ("RandomUniformLike", "float32-after-nodes"): {"dtype": 1},
    ("RandomUniformLike", "float32-without-dtype"): {"dtype": 1},
    ("ReduceSumSquare", "keepdims-absent"): {"keepdims": 0},
    ("ReduceSumSquare", "keepdims-always"): {"keepdims": 1},
    ("RoiAlign", "mode-is-avg"): {"mode": None},
}
"""Attributes with which the operator itself computes what CANN does, by operator and deviation."""


def _with_attributes(ctx: RuleContext, changed: Mapping[str, Any]) -> Sequence[str]:
    return ctx.again(count=ctx.output_count, **changed)


FORMS.update({key: partial(_with_attributes, changed=changed) for key, changed in _CHANGED.items()})


@cann_form("ArgMax", "kept-axis-at-1")
@cann_form("ArgMin", "kept-axis-at-1")
def kept_at_1(ctx: RuleContext) -> Sequence[str]:
    return [ctx.unsqueeze(ctx.again(keepdims=0)[0], [1])]


@cann_form("ArgMin", "int32-always", "int32-below-newest")
def positions_in_int32(ctx: RuleContext) -> Sequence[str]:
    return [ctx.cast(result, DType.INT32) for result in ctx.again()]


@cann_form("Clip", "float32-before-11")
def clip_as_float32(ctx: RuleContext) -> Sequence[str]:
    return ctx.again(ctx.cast(ctx.name(0), DType.FLOAT32))


@cann_form("GlobalMaxPool", "volume-in-part")
def max_of_two_axes(ctx: RuleContext) -> Sequence[str]:
    return [ctx.reduce("ReduceMax", ctx.name(0), [2, len(ctx.dims(0)) - 1])]


_INT8 = 3


@cann_form("Cast", "float16-wraps")
def through_int32(ctx: RuleContext) -> Sequence[str]:
    """Write the conversion through int32, of which the low eight bits stay."""
    to = DType.INT8 if ctx.integer("to", 0) == _INT8 else DType.UINT8
    return [ctx.cast(ctx.cast(ctx.name(0), DType.INT32), to)]


@cann_form("Cast", "int8-magnitude")
def magnitude(ctx: RuleContext) -> Sequence[str]:
    """Write the magnitude, found in float16, which has 128."""
    wide = ctx.cast(ctx.name(0), DType.FLOAT16)
    return [ctx.cast(ctx.op("Abs", wide), DType.UINT8)]


@cann_form("Clip", "lower-bound-in-float32", "upper-bound-in-float32")
def clip_in_float32(ctx: RuleContext) -> Sequence[str]:
    return ctx.again(*(name and ctx.cast(name, DType.FLOAT32) for name in ctx.names))


@cann_form("BatchMatMul", "adj-x1-ignored", "adj-x2-ignored")
def plain_product(ctx: RuleContext) -> Sequence[str]:
    return [ctx.op("MatMul", *ctx.names)]


@cann_form("GridSample", "ties-go-far")
def at_pixels(ctx: RuleContext) -> Sequence[str]:
    """Write the sampling at positions that are rounded, halves away from 0, to those of pixels.

    Outside of X rounding and the rule of reflection do not change places.
    """
    padding = ctx.text("padding_mode", "zeros")
    require(padding != "reflection", "padding_mode is not reflection")
    height, width = ctx.shape(0)[2:]
    sizes = np.array([width, height], np.float32)
    grid = ctx.tensor(1)
    corners = ctx.integer("align_corners", 0)

    def const(values: object) -> str:
        return ctx.const(np.asarray(values, np.float32), DType.FLOAT32, "sizes")

    place = ctx.cast(ctx.name(1), DType.FLOAT32)
    place = ctx.op("Add", place, const(1))
    if corners:
        place = ctx.op("Mul", ctx.op("Mul", place, const(0.5)), const(sizes - 1))
    else:
        place = ctx.op("Add", ctx.op("Mul", place, const(sizes)), const(-1))
        place = ctx.op("Mul", place, const(0.5))
    away = ctx.op("Floor", ctx.op("Add", ctx.op("Abs", place), const(0.5)))
    pixel = ctx.op("Mul", ctx.op("Sign", place), away)
    step = 2 / np.maximum(sizes - 1, 1) if corners else 2 / sizes
    first = tables.full(2, -1) if corners else 1 / sizes - 1
    y = ctx.op("Add", ctx.op("Mul", pixel, const(step)), const(first))
    if grid is not None and grid.dtype is not None:
        y = ctx.cast(y, grid.dtype)
    return ctx.again(ctx.name(0), y)


@cann_form("OneHot", "indices-wrap")
def wrapped(ctx: RuleContext) -> Sequence[str]:
    """Write the marks where the remainder of index + depth by depth is the place along the axis.

    Remainders have the sign of the dividend, so that those of indices below -depth mark nothing.
    """
    depth = int(ctx.constant(1).reshape(-1)[0])
    require(depth > 0, "depth is more than 0")
    rank = len(ctx.dims(0))
    axis = ctx.axis(-1, rank + 1)
    size = ctx.const(depth, DType.INT32, "depth")
    indices = ctx.cast(ctx.name(0), DType.INT32)
    shifted = ctx.op("Add", indices, size)
    whole = ctx.op("Mul", ctx.op("Div", shifted, size), size)
    places = ctx.unsqueeze(ctx.op("Sub", shifted, whole), [axis])
    along = tables.arange(depth).reshape([-1] + [1] * (rank - axis))
    marked = ctx.op("Equal", places, ctx.const(along, DType.INT32, "places"))
    narrow = ctx.input(2).dtype is DType.INT64
    values = ctx.cast(ctx.name(2), DType.INT32) if narrow else ctx.name(2)
    off, on = ctx.slice(values, 0, 0, 1), ctx.slice(values, 0, 1, 2)
    y = ctx.op("Where", marked, on, off)
    return [ctx.cast(y, DType.INT64) if narrow else y]


@cann_form("Mod", "dividend-in-float32", "divisor-in-float32")
def mod_in_float32(ctx: RuleContext) -> Sequence[str]:
    dividend, divisor = (ctx.cast(name, DType.FLOAT32) for name in ctx.names)
    size = ctx.op("Floor", ctx.op("Abs", ctx.op("Div", dividend, divisor)))
    sign = ctx.op("Mul", ctx.op("Sign", dividend), ctx.op("Sign", divisor))
    whole = ctx.op("Mul", ctx.op("Mul", size, sign), divisor)
    return [ctx.cast(ctx.op("Sub", dividend, whole), DType.INT32)]


@cann_form("LogSoftmax", "one-axis")
@cann_form("Hardmax", "one-axis")
def over_one_axis(ctx: RuleContext) -> Sequence[str]:
    """Write the node over one axis, which is put last: there ONNX takes that axis alone, too."""
    rank = len(ctx.dims(0))
    axis = ctx.axis(-1, rank)
    order = [*(at for at in range(rank) if at != axis), axis]
    back = [order.index(at) for at in range(rank)]
    moved = ctx.transpose(ctx.name(0), order)
    return [ctx.transpose(ctx.op(ctx.node.op_type, moved, axis=rank - 1), back)]


# Element that CANN pads X with before a large MaxPool: the least finite one of float16.
_LEAST = -65504.0

# Axes before those that a window moves along: batch and channels.
_OUTER = 2


@cann_form("MaxPool", "large-window-pads-65504")
def with_least_padding(ctx: RuleContext) -> Sequence[str]:
    y, dims, pads = ctx.name(0), list(ctx.shape(0)), ctx.integers("pads")
    for axis, (begin, end) in enumerate(zip(pads, pads[len(pads) // 2 :], strict=False), _OUTER):
        parts = [y]
        for count, at in ((end, 1), (begin, 0)):
            if count:
                around = [*dims[:axis], count, *dims[axis + 1 :]]
                parts.insert(at, ctx.full(around, _LEAST, "least"))
        dims[axis] += begin + end
        y = ctx.concat(parts, axis)
    return ctx.again(y, pads=None, ceil_mode=None)


@cann_form("GlobalLpPool", "odd-p-keeps-signs")
def norm_of_signed_powers(ctx: RuleContext) -> Sequence[str]:
    """Write the root of the sum of powers that keep the signs of their elements."""
    p, dims = ctx.integer("p", 2), ctx.dims(0)
    require(ctx.element in {DType.FLOAT16, DType.FLOAT32}, "X is a float")
    axes = range(_OUTER, len(dims))
    if p == 1:
        return [ctx.reduce("ReduceSum", ctx.name(0), axes)]
    power = ctx.op("Pow", ctx.name(0), ctx.scalar(p, "power"))
    total = ctx.reduce("ReduceSum", power, axes)
    return [ctx.op("Pow", total, ctx.scalar(1 / p, "root"))]


@cann_form("LpPool", "odd-p-keeps-signs")
def pool_of_signed_powers(ctx: RuleContext) -> Sequence[str]:
    """Write the root of sums of windows of powers that keep the signs of their elements."""
    p, window = ctx.integer("p", 2), ctx.integers("kernel_shape")
    require(ctx.element in {DType.FLOAT16, DType.FLOAT32}, "X is a float")
    power = ctx.name(0) if p == 1 else ctx.op("Pow", ctx.name(0), ctx.scalar(p, "power"))
    moved: dict[str, Any] = {
        name: ctx.node.attributes[name] for name in _MOVES if name in ctx.node.attributes
    }
    mean = ctx.op("AveragePool", power, kernel_shape=window, count_include_pad=1, **moved)
    total = ctx.times(mean, float(np.prod(window)))
    return [total if p == 1 else ctx.op("Pow", total, ctx.scalar(1 / p, "root"))]


_MOVES = ("auto_pad", "pads", "strides")
"""Attributes that say where a pool has its windows."""

_PEEPHOLES = 7


@cann_form("LSTM", "peepholes-ignored")
def without_peepholes(ctx: RuleContext) -> Sequence[str]:
    return ctx.again(*ctx.names[:_PEEPHOLES], count=ctx.output_count)


@cann_form("ReduceLogSumExp", "axes-absent", "axes-attribute-lost")
@cann_form("ReduceMax", "axes-absent", "axes-attribute-lost", "axes-input-lost")
@cann_form("ReduceMean", "axes-absent", "axes-input-lost")
@cann_form("ReduceMin", "axes-absent", "axes-attribute-lost", "axes-input-lost")
@cann_form("ReduceProd", "axes-absent", "axes-attribute-lost", "axes-input-lost")
def not_reduced(ctx: RuleContext) -> Sequence[str]:
    return [ctx.op("Identity", ctx.name(0))]


_AXES = (2, 3)
# Opset since which an attribute says how coordinates are transformed.
_WITH_MODES = 11

_FLOATS = (DType.FLOAT16, DType.FLOAT32)
_TORCH = frozenset({"pytorch_half_pixel"})


@cann_form("Resize", "linear-as-asymmetric")
def linear_as_asymmetric(ctx: RuleContext) -> Sequence[str]:
    """Write the mean of two neighbors along each axis, weighted by the place between them."""
    require(ctx.element in _FLOATS, "X is float16 or float32")
    y = ctx.name(0)
    for axis, places in _axes(ctx, _TORCH):
        found = places.linear
        first = np.floor(found).astype(np.int64)
        last = np.minimum(first + 1, places.size - 1)
        dims = [places.count, *(1 for _ in range(axis + 1, 4))]
        share = (found - first).astype(np.float32).reshape(dims)
        low, high = (
            ctx.op("Gather", y, ctx.const(value, label="positions"), axis=axis)
            for value in (first, last)
        )
        rest = ctx.const(1 - share, ctx.element, "shares")
        parts = (
            ctx.op("Mul", low, rest),
            ctx.op("Mul", high, ctx.const(share, ctx.element, "shares")),
        )
        y = ctx.op("Add", *parts)
    return [ctx.own(y)]


def _nearest(ctx: RuleContext, halves: Collection[str], *, upper: bool = False) -> Sequence[str]:
    y = ctx.name(0)
    for axis, places in _axes(ctx, halves, upper=upper):
        y = take(ctx, y, axis, places.nearest, places.size)
    return [ctx.own(y)]


# The elements that the parsers of CANN 5 to 7 choose, those of CANN 8.5 and later, and those and the
# kernel of Ascend950.
_HALF = _TORCH | {"half_pixel"}
FORMS["Resize", "nearest-mode-ignored"] = partial(_nearest, halves=_TORCH)
FORMS["Resize", "nearest-mode-ignored-half-pixel"] = partial(_nearest, halves=_HALF)
FORMS["Resize", "nearest-mode-ignored-ties-up"] = partial(_nearest, halves=_HALF, upper=True)


def _axes(
    ctx: RuleContext, halves: Collection[str], *, upper: bool = False
) -> Iterator[tuple[int, KernelAxis]]:
    mode = "asymmetric"
    if ctx.node.opset >= _WITH_MODES:
        mode = ctx.text("coordinate_transformation_mode", "half_pixel")
    result = ctx.output(0)
    require(result is not None and not result.is_open, "the dims of the result are known")
    x, y = ctx.shape(0), cast("SourceTensor", result).shape
    for axis in _AXES:
        if x[axis] != y[axis]:
            require_places([y[axis]])
            corners = mode == "align_corners"
            yield axis, KernelAxis(x[axis], y[axis], mode in halves, corners, upper)


# Opset as of which the parser has no norms; their sums are written instead.
_AXES_OF_NORMS_AS_INPUT = 18


@cann_form("LpNormalization", "zero-by-zero")
def divided_by_norm(ctx: RuleContext) -> Sequence[str]:
    """Write the quotient by the norm, which is NaN where the norm is 0."""
    data = ctx.name(0)
    axis = ctx.axis(-1, len(ctx.dims(0)))
    first = ctx.integer("p", 2) == 1
    if ctx.opset < _AXES_OF_NORMS_AS_INPUT:
        norm = ctx.reduce("ReduceL1" if first else "ReduceL2", data, [axis])
    elif first:
        norm = ctx.reduce("ReduceSum", ctx.op("Abs", data), [axis])
    else:
        squares = ctx.reduce("ReduceSum", ctx.op("Mul", data, data), [axis])
        norm = ctx.op("Sqrt", squares)
    return [ctx.op("Div", data, norm)]


@cann_form("ThresholdedRelu", "infinity-by-zero")
def times_mask(ctx: RuleContext) -> Sequence[str]:
    data = ctx.name(0)
    above = ctx.op("Greater", data, ctx.scalar(ctx.number("alpha", 1.0)))
    return [ctx.op("Mul", data, ctx.cast(above, ctx.element))]


@cann_form("ConvTranspose", "output-shape-halves")
def halves_of_output_shape(ctx: RuleContext) -> Sequence[str]:
    """Write the pads that CANN takes off what all windows cover, and what it adds at the end."""
    lengths, windows = ctx.shape(0)[2:], ctx.shape(1)[2:]
    axes = len(lengths)
    strides = ctx.integers("strides", (1,) * axes)
    dilations = ctx.integers("dilations", (1,) * axes)
    asked = ctx.integers("output_shape")[-axes:]
    covered = [
        (length - 1) * stride + (window - 1) * dilation + 1
        for length, window, stride, dilation in zip(
            lengths, windows, strides, dilations, strict=True
        )
    ]
    pads = _pads(ctx, [max(0, most - size) for most, size in zip(covered, asked, strict=True)])
    left = [most - pads[axis] - pads[axis + axes] for axis, most in enumerate(covered)]
    more = [max(0, size - most) for size, most in zip(asked, left, strict=True)]
    return ctx.again(auto_pad=None, output_shape=None, pads=pads, output_padding=more)


def _pads(ctx: RuleContext, totals: Sequence[int]) -> list[int]:
    less = [total // 2 for total in totals]
    more = [total - half for total, half in zip(totals, less, strict=True)]
    return more + less if ctx.text("auto_pad", "") == "SAME_UPPER" else less + more

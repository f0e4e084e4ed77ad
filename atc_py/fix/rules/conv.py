"""Rules of convolutions.

Over 400 lines because a page holds its whole family.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from atc_py.fix.case import case, contrib_case, data
from atc_py.fix.context import RuleContext
from atc_py.fix.parts.windows import (
    LONGEST_ROW,
    LONGEST_STRIDE,
    MOST_PIECES,
    MOST_TAPS,
    VOLUMES,
    H,
    ImageAxis,
    W,
    conv_axes,
    images_of,
    require_known_windows,
    window_attributes,
)
from atc_py.fix.rule import REORDERED, rule
from atc_py.fix.unfit import require, skip_unless


@rule(
    REORDERED,
    case("Conv", [1, 2, 5, 6], data(3, 2, 3, 2), group=1),
    miss=case("Conv", [1, 2, 5, 6], data(3, 2, 3, 2), strides=[1, 1]),
    boundary=case(
        "Conv",
        [1, 1, 4, 4, 4],
        data(2, 1, 2, 2, 2),
        auto_pad="SAME_UPPER",
        strides=[4, 4, 4],
        operator_list="cann-9.0",
    ),
    deviations="Conv/no-attribute-refused Conv/padding-of-volumes-at-risk "
    "Conv/same-padding-of-volumes-refused",
)
def conv_attributes(ctx: RuleContext) -> Sequence[str]:
    """Conv without attributes, or of volumes with auto_pad -> Conv with kernel_shape, strides,
    dilations and pads, if dims are known.
    """
    return ctx.again(auto_pad=None, **window_attributes(conv_axes(ctx)))


@rule(
    REORDERED,
    case("Conv", [1, 2, 4, 40], data(3, 2, 2, 30), pads=[1, 300, 0, 2]),
    miss=case("Conv", [1, 3, 16], data(4, 3, 3)),
    boundary=case("Conv", [1, 1, 3, 4], data(2, 1, 2, 2), pads=[256, 0, 0, 255]),
)
def conv_far_pads(ctx: RuleContext) -> Sequence[str]:
    """A convolution with a pad above 255 -> Pad, the convolution without pads, if X is images of
    known dims.
    """
    images = images_of(ctx)
    height, width = images.axes
    pads = [height.begin, width.begin, height.end, width.end]
    skip_unless(max(pads) > MOST_TAPS)
    x = ctx.pad(ctx.name(0), [0, 0, *pads[:2], 0, 0, *pads[2:]])
    bare = replace(
        images,
        axes=(
            replace(height, size=height.size + height.begin + height.end, begin=0, end=0),
            replace(width, size=width.size + width.begin + width.end, begin=0, end=0),
        ),
    )
    return ctx.again(x, *ctx.names[1:], **bare.attributes)


@rule(
    REORDERED,
    case("Conv", [1, 2, 1, 9000], data(3, 2, 1, 5), data(3), strides=[1, 2], pads=[0, 2, 0, 2]),
    miss=case("Conv", [1, 2, 5000, 5000], data(3, 2, 3, 3)),
    boundary=(
        case("Conv", [1, 1, 1, 4097], data(2, 1, 1, 255), strides=[1, 63]),
        case("Conv", [1, 1, 1, 4098], data(2, 1, 1, 3), auto_pad="SAME_LOWER", dilations=[1, 2]),
    ),
)
def conv_long_row(ctx: RuleContext) -> str:
    """A convolution of one row longer than 4096 -> Pad, Slice into rows that overlap, Concat as
    batch, Conv, Transpose, Reshape, Slice, if dims are known; X has one row; the filter and the
    stride are listed; at most 1024 pieces.
    """
    images = images_of(ctx)
    height, axis = images.axes
    skip_unless(axis.size > LONGEST_ROW)
    require(height.size == 1, "X has one row", found=height.size)
    require(height.count == 1, "the result has one row", found=height.count)
    require(not height.begin, "no pad before the row", found=height.begin)
    require(
        axis.stride <= LONGEST_STRIDE and axis.taps <= MOST_TAPS, "filter and stride are listed"
    )
    most = (LONGEST_ROW - axis.span) // axis.stride + 1
    require(most > 1, "two windows fit a row")
    pieces = -(-axis.count // most)
    require(pieces <= MOST_PIECES, "there are at most 1024 pieces", found=pieces)
    windows = -(-axis.count // pieces)
    step, size = windows * axis.stride, (windows - 1) * axis.stride + axis.span
    length = (pieces - 1) * step + size
    there = axis.begin + axis.size
    x = ctx.pad(ctx.name(0), [0, 0, 0, axis.begin, 0, 0, 0, max(length - there, 0)])
    rows = [ctx.slice(x, 3, at * step, at * step + size) for at in range(pieces)]
    batch = ctx.op("Concat", *rows, axis=0)
    part = ImageAxis(size, axis.taps, axis.stride, axis.dilation, 0, 0)
    (y,) = ctx.again(batch, *ctx.names[1:], **replace(images, axes=(height, part)).attributes)
    y = ctx.reshape(y, [pieces, images.batch, images.filters, windows])
    y = ctx.reshape(
        ctx.transpose(y, [1, 2, 0, 3]), [images.batch, images.filters, 1, pieces * windows]
    )
    return y if pieces * windows == axis.count else ctx.slice(y, 3, 0, axis.count)


@rule(
    REORDERED,
    case(
        "Conv",
        [1, 3, 6, 5],
        data(4, 3, 3, 3),
        data(4),
        strides=[5, 7],
        pads=[1, 0, 0, 1],
        dilations=[2, 1],
    ),
    miss=case("Conv", [1, 3, 6, 5000], data(4, 3, 3, 3), strides=[2, 2]),
    boundary=(
        case("Conv", [1, 1, 2, 3], data(1, 1, 3, 3), strides=[9, 9], pads=[2, 0, 0, 0]),
        case("Conv", [1, 1, 1, 70], data(2, 1, 1, 70), strides=[1, 64]),
    ),
)
def conv_one_window(ctx: RuleContext) -> Sequence[str]:
    """A convolution with one pixel as its result, whose X and W differ in height or width, or with
    a stride above 63 -> Slice of X to the elements under the window, Slice of W to the taps over
    the image, the convolution without pads, if dims are known; a tap meets the image.

    The list `base` takes results of one pixel only where X and W have the same height and width.
    """
    images = images_of(ctx)
    skip_unless(all(axis.count == 1 for axis in images.axes))
    alike = all(
        axis.size == axis.taps and axis.dilation == 1 and not axis.begin for axis in images.axes
    )
    far = any(axis.stride > LONGEST_STRIDE for axis in images.axes)
    require(far or not alike, "X and W differ in height or width, or a stride is above 63")
    x, w = ctx.name(0), ctx.name(1)
    axes = []
    for at, axis in enumerate(images.axes, 2):
        first = max(-(-axis.begin // axis.dilation), 0)
        last = min((axis.begin + axis.size - 1) // axis.dilation, axis.taps - 1)
        taps = max(last - first + 1, 0)
        require(taps > 0, "a tap meets the image")
        start = first * axis.dilation - axis.begin
        end = start + (taps - 1) * axis.dilation + 1
        if (start, end, axis.dilation) != (0, axis.size, 1):
            x = ctx.slice(x, at, start, end, axis.dilation)
        if taps < axis.taps:
            w = ctx.slice(w, at, first, first + taps)
        axes.append(ImageAxis(taps, taps, 1, 1, 0, 0))
    cut = replace(images, axes=(axes[H], axes[W]))
    return ctx.again(x, w, *ctx.names[2:], **cut.attributes)


@rule(
    REORDERED,
    case("Conv", [1, 2, 1, 400], data(3, 2, 1, 100), data(3), strides=[1, 80], pads=[0, 10, 0, 30]),
    miss=case("Conv", [1, 2, 200, 200], data(3, 2, 5, 5), strides=[70, 70], dilations=[1, 2]),
    boundary=case("Conv", [1, 1, 3, 66], data(2, 1, 2, 2), strides=[1, 64]),
)
def conv_stride_fold(ctx: RuleContext) -> Sequence[str]:
    """A convolution with a stride above 63 -> Pad or Slice, Reshape, Transpose and Reshape of X and
    W, a convolution of stride 1, if dims are known; no dilation along an axis with such a stride
    and several windows.

    Elements that are a stride apart are channels of one pixel: X of L elements becomes s * C
    channels of L / s elements, W likewise, and the stride is 1. Filters gain zero taps up to a
    multiple of s.
    """
    images = images_of(ctx)
    far = [axis.stride > LONGEST_STRIDE for axis in images.axes]
    skip_unless(any(far))
    require(max(axis.count for axis in images.axes) > 1, "there are several windows")
    x, w = ctx.name(0), ctx.name(1)
    axes, steps = list(images.axes), [1, 1]
    for at, axis in enumerate(images.axes):
        if not far[at]:
            continue
        if axis.count == 1:
            x = _fit_length(ctx, x, at, axis, axis.span)
            axes[at] = ImageAxis(axis.span, axis.taps, 1, axis.dilation, 0, 0)
            continue
        require(axis.dilation == 1 or axis.taps == 1, "no dilation", found=axis.dilation)
        steps[at] = axis.stride
        taps = -(-axis.taps // axis.stride)
        length = axis.count - 1 + taps
        x = _fit_length(ctx, x, at, axis, length * axis.stride)
        w = ctx.pad(w, [0] * (6 + at) + [taps * axis.stride - axis.taps] + [0] * (1 - at))
        axes[at] = ImageAxis(length, taps, 1, 1, 0, 0)
    height, width = axes
    x = _fold_strides(ctx, x, [images.batch, images.channels], [height.size, width.size], steps)
    channels = images.channels // images.group
    w = _fold_strides(ctx, w, [images.filters, channels], [height.taps, width.taps], steps)
    folded = replace(images, axes=(height, width))
    return ctx.again(x, w, *ctx.names[2:], **folded.attributes)


def _fit_length(ctx: RuleContext, x: str, at: int, axis: ImageAxis, length: int) -> str:
    """Images with their zeros before an axis, of exactly `length` elements along it."""
    there = axis.begin + axis.size
    if there > length:
        x = ctx.slice(x, 2 + at, 0, length - axis.begin)
    pads = [0] * 8
    pads[2 + at], pads[6 + at] = axis.begin, max(length - there, 0)
    return ctx.pad(x, pads)


def _fold_strides(
    ctx: RuleContext, x: str, lead: Sequence[int], sizes: Sequence[int], steps: Sequence[int]
) -> str:
    """Images whose pixels have the channels of `steps` rows and columns."""
    if max(steps) == 1:
        return x
    x = ctx.reshape(x, [*lead, sizes[H], steps[H], sizes[W], steps[W]])
    x = ctx.transpose(x, [0, 1, 3, 5, 2, 4])
    return ctx.reshape(x, [lead[0], lead[1] * steps[H] * steps[W], *sizes])


@rule(
    REORDERED,
    case("Conv", [1, 3, 9, 4], data(5, 3, 3, 4), data(5), strides=[2, 1]),
    miss=case("Conv", [1, 3, 4, 9], data(5, 3, 4, 3), strides=[1, 2]),
    boundary=case("Conv", [1, 1, 4096, 3], data(2, 1, 3, 3)),
)
def conv_swap_axes(ctx: RuleContext) -> str:
    """A convolution whose result has width 1 and height above 1, or whose rows are longer than 4096
    and whose columns are not -> Transpose of X and W, the convolution with the axes exchanged,
    Transpose, if dims are known; H of X is at most 4096.

    The list `base` refuses results of width 1 and height above 1, and rows of more than 4096
    elements.
    """
    images = images_of(ctx)
    height, width = images.axes
    narrow = width.count == 1 and height.count > 1
    long = width.size > LONGEST_ROW
    skip_unless(narrow or long)
    require(height.size <= LONGEST_ROW, "H of X is at most 4096", found=height.size)
    require(not (long and height.count == 1), "the result has more than one row")
    swapped = replace(images, axes=(width, height))
    order = (0, 1, 3, 2)
    inputs = [ctx.transpose(ctx.name(position), order) for position in (0, 1)]
    inputs += ctx.names[2:]
    return ctx.transpose(ctx.again(*inputs, **swapped.attributes)[0], order)


# Convolutions that are written at most.
_MOST_PIECES = 255


@rule(
    REORDERED,
    case("Conv", [1, 2, 1, 400], data(3, 2, 1, 300), data(3), pads=[0, 3, 0, 4]),
    miss=case("Conv", [1, 2, 400, 20], data(3, 2, 300, 3), strides=[64, 1], dilations=[1, 2]),
    boundary=(
        case("Conv", [1, 1, 2, 400], data(1, 1, 1, 256), strides=[1, 63]),
        case("Conv", [1, 1, 2, 400], data(1, 1, 1, 2), dilations=[1, 256]),
    ),
    float16="each piece rounds its sums once more",
)
def conv_wide_kernel(ctx: RuleContext) -> str:
    """A convolution whose filter has more than 255 taps along an axis, or dilations above 255 ->
    Slice of X and W, a Conv for each piece of at most 255 taps (one, if they are far apart),
    Add, if dims are known; the stride along the axis is at most 63; at most 255 pieces.

    Taps that are more than 255 elements apart are pieces of their own.
    """
    images = images_of(ctx)
    wide = [axis.taps > MOST_TAPS or _is_far(axis) for axis in images.axes]
    skip_unless(any(wide))
    at = W if wide[W] else H
    axis = images.axes[at]
    require(axis.stride <= LONGEST_STRIDE, "the stride is at most 63", found=axis.stride)
    most = 1 if _is_far(axis) else MOST_TAPS
    require(axis.taps <= most * _MOST_PIECES, "there are at most 255 pieces")
    pads = [0] * 8
    pads[2 + at], pads[6 + at] = axis.begin, axis.end
    x = ctx.pad(ctx.name(0), pads)
    total = ""
    for first in range(0, axis.taps, most):
        taps = min(most, axis.taps - first)
        start = first * axis.dilation
        step = axis.dilation if taps > 1 else 1
        size = (axis.count - 1) * axis.stride + (taps - 1) * step + 1
        axes = list(images.axes)
        axes[at] = ImageAxis(size, taps, axis.stride, step, 0, 0)
        cut = ctx.slice(x, 2 + at, start, start + size)
        w = ctx.slice(ctx.name(1), 2 + at, first, first + taps)
        bias = [] if total else ctx.present(2)
        piece = replace(images, axes=(axes[H], axes[W]))
        (y,) = ctx.again(cut, w, *bias, **piece.attributes)
        total = ctx.add(total, y)
    return total


def _is_far(axis: ImageAxis) -> bool:
    return axis.dilation > MOST_TAPS and axis.taps > 1


@rule(
    REORDERED,
    case(
        "Conv",
        [1, 2, 4, 5, 6],
        data(3, 2, 2, 3, 3),
        data(3),
        pads=[1, 0, 1, 0, 1, 1],
        strides=[2, 1, 1],
    ),
    miss=case("Conv", [1, 3, 16], data(4, 3, 3)),
    boundary=case("Conv", [1, 2, 2, 5, 6], data(3, 2, 2, 3, 3)),
    float16="each tap of the depth rounds its sums once more",
)
def conv_3d_as_slices(ctx: RuleContext) -> str:
    """Conv of volumes -> for each tap of the depth Slice, Transpose and Reshape of slices to a
    batch of images, Conv; Add; Reshape, Transpose, if dims are known.
    """
    x, w = ctx.shape(0), ctx.shape(1)
    skip_unless(len(x) == VOLUMES)
    depth, *plane = conv_axes(ctx)
    require(depth.count > 0, "Y has slices")
    volume = ctx.pad(ctx.name(0), [0, 0, depth.begin, 0, 0, 0, 0, depth.end, 0, 0])
    total = ""
    for tap in range(w[2]):
        start = tap * depth.dilation
        end = start + (depth.count - 1) * depth.stride + 1
        part = ctx.transpose(ctx.slice(volume, 2, start, end, depth.stride), [0, 2, 1, 3, 4])
        images = ctx.reshape(part, [x[0] * depth.count, x[1], *x[3:]])
        filters = ctx.squeeze(ctx.slice(ctx.name(1), 2, tap, tap + 1), [2])
        bias = [] if total else ctx.present(2)
        own = window_attributes(plane)
        group = ctx.integer("group", 1)
        (y,) = ctx.again(images, filters, *bias, **own, group=group, auto_pad=None)
        total = ctx.add(total, y)
    stacked = ctx.reshape(total, [x[0], depth.count, w[0], *(axis.count for axis in plane)])
    return ctx.transpose(stacked, [0, 2, 1, 3, 4])


# Rank of N x C x L.
_SEQUENCES = 3

# Attributes with a number for each axis, and the number for an axis of 1.
_OF_ONE = {"dilations": 1, "kernel_shape": 1, "strides": 1, "output_padding": 0, "output_shape": 1}

_POOLS = frozenset({"AveragePool", "MaxPool"})
_WITH_FILTERS = frozenset({"Conv", "ConvTranspose"})


@rule(
    REORDERED,
    case("Conv", [1, 3, 16], data(4, 3, 3), data(4), pads=[1, 0], strides=[2], dilations=[2]),
    operators="AveragePool Conv ConvTranspose LpPool MaxPool",
    miss=case("Conv", [1, 2, 4, 4, 4], data(3, 2, 2, 2, 2)),
    boundary=case("MaxPool", [1, 2, 4], kernel_shape=[3], strides=[3], auto_pad="SAME_UPPER"),
)
def window_1d(ctx: RuleContext) -> str:
    """A convolution or pool along one axis -> Unsqueeze, the same operator on an image of one row,
    Squeeze, if X has rank 3; of a pool, Indices are not used and each window meets X.

    Convolutions and pools of the list `base` take images alone. The axis of 1 goes before the last,
    so that the length is on W: a width of 1 with a height above 1 is refused.
    """
    rank = len(ctx.dims(0))
    skip_unless(rank <= _SEQUENCES)  # images and volumes are near misses of other rules
    require(rank == _SEQUENCES, "X has rank 3", found=rank)
    require(ctx.output(1) is None, "Indices are not used")
    if ctx.node.op_type in _POOLS:
        require_known_windows(ctx)
    inputs = [ctx.unsqueeze(ctx.name(0), [2])]
    if ctx.node.op_type in _WITH_FILTERS:
        inputs.append(ctx.unsqueeze(ctx.name(1), [2]))
    inputs += [ctx.name(position) for position in range(len(inputs), len(ctx.node.inputs))]
    return ctx.squeeze(ctx.again(*inputs, **_as_image(ctx))[0], [2])


def _as_image(ctx: RuleContext) -> dict[str, Any]:
    """The attributes with a number for each axis, with that of an axis of 1 before it."""
    attributes = ctx.node.attributes
    changed: dict[str, Any] = {
        name: [one, *ctx.integers(name)] for name, one in _OF_ONE.items() if name in attributes
    }
    if "pads" in attributes:
        begin, end = ctx.integers("pads")
        changed["pads"] = [0, begin, 0, end]
    return changed


_STATE = 3

# Attributes of onnxruntime that give input and state other dims.
_OTHER_LAYOUTS = ("state_window", "state_length", "input_channels", "state_update_capacity")


@rule(
    REORDERED,
    contrib_case(
        "CausalConvWithState",
        [1, 3, 8],
        data(3, 1, 4),
        data(3),
        [1, 3, 3],
        activation="silu",
        outputs=2,
    ),
    operators="CausalConvWithState com.microsoft::CausalConvWithState",
    miss=contrib_case(
        "CausalConvWithState",
        [1, 3, 8],
        data(3, 1, 4),
        data(3),
        [2, 1, 3, 3],
        state_window=2,
        outputs=2,
    ),
    boundary=contrib_case(
        "CausalConvWithState",
        [1, 3, 8],
        data(3, 1, 2),
        data(3),
        [1, 3, 1],
        outputs=2,
    ),
)
def causal_conv_as_conv(ctx: RuleContext) -> Sequence[str]:
    """CausalConvWithState of ONNX or onnxruntime -> Concat of the state, Conv of each channel,
    Sigmoid, Mul, Slice, if dims are known; one axis of positions; the state has no window.

    A convolution of each channel over the past and x (CausalConvWithState-27 of ONNX and that of
    onnxruntime).
    """
    ctx.floats(0)
    require(not any(ctx.integer(name, 0) for name in _OTHER_LAYOUTS), "the state has no window")
    dims = ctx.shape(0)
    one = ctx.integer("ndim", 1) == 1 and len(dims) == _SEQUENCES
    require(one, "there is one axis of positions")
    order = [0, 2, 1] if ctx.flag("channels_last", default=False) else [0, 1, 2]
    batch, channels, length = (dims[at] for at in order)
    dilation = ctx.integer("dilation", 1)
    held = (ctx.shape(1)[2] - 1) * dilation
    require(held > 0 or ctx.output(1) is None, "the state after it has elements")
    x = ctx.transpose(ctx.name(0), order)
    if held:
        if ctx.tensor(_STATE) is not None:
            own = ctx.shape(_STATE)
            fits = [own[at] for at in order] == [batch, channels, held]
            require(fits, "the state has the taps before X")
            state = ctx.transpose(ctx.name(_STATE), order)
        else:
            state = ctx.full((batch, channels, held), 0, "state")
        x = ctx.op("Concat", state, x, axis=2)
    weights = [ctx.name(at) for at in (1, 2) if ctx.tensor(at) is not None]
    y = ctx.op("Conv", x, *weights, group=channels, dilations=[dilation])
    kind = ctx.text("activation", "none")
    require(kind in {"none", "silu", "swish"}, "the activation is known")
    if kind != "none":
        y = ctx.op("Mul", y, ctx.op("Sigmoid", y))
    used = held and ctx.output(1) is not None
    state = ctx.transpose(ctx.slice(x, 2, length, length + held), order) if used else ""
    return [ctx.transpose(y, order), state]

"""Rules of convolutions.

Over 400 lines because a page holds its whole family.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from atc_py.fix import tables
from atc_py.fix.case import case, contrib_case, data
from atc_py.fix.parts.windows import (
    LONGEST_ROW,
    LONGEST_STRIDE,
    MOST_PIECES,
    MOST_TAPS,
    SAME,
    H,
    ImageAxis,
    W,
    images_of,
    require_known_windows,
    same_pads,
)
from atc_py.fix.registry import rule
from atc_py.fix.site import Site
from atc_py.fix.unfit import require
from atc_py.fix.writing import REORDERED


@rule(
    "Conv",
    REORDERED,
    case("Conv", [1, 2, 5, 6], data(3, 2, 3, 2), group=1),
    miss=case("Conv", [1, 2, 5, 6], data(3, 2, 3, 2), strides=[1, 1]),
    deviations="Conv/no-attribute-refused Conv/same-padding-of-volumes-refused",
)
def conv_attributes(site: Site) -> Sequence[str]:
    """Conv without attributes, or of volumes with SAME pads -> Conv with kernel_shape, strides,
    dilations and pads, if dims are known.
    """
    size, taps = site.shape(0)[2:], site.shape(1)[2:]
    ones = (1,) * len(taps)
    strides, dilations = (site.integers(name) or ones for name in ("strides", "dilations"))
    pads = site.integers("pads") or (0,) * (2 * len(taps))
    mode = site.text("auto_pad", "NOTSET")
    if mode in SAME:
        spans = [(tap - 1) * dilation + 1 for tap, dilation in zip(taps, dilations, strict=True)]
        pairs = [
            same_pads(dim, span, stride, mode)
            for dim, span, stride in zip(size, spans, strides, strict=True)
        ]
        pads = (*(first for first, _ in pairs), *(last for _, last in pairs))
    elif mode == "VALID":
        pads = (0,) * (2 * len(taps))
    return site.again(
        auto_pad=None,
        kernel_shape=list(taps),
        strides=list(strides),
        dilations=list(dilations),
        pads=list(pads),
    )


@rule(
    "Conv",
    REORDERED,
    case("Conv", [1, 2, 4, 40], data(3, 2, 2, 30), pads=[1, 300, 0, 2]),
    miss=case("Conv", [1, 3, 16], data(4, 3, 3)),
    boundary=case("Conv", [1, 1, 3, 4], data(2, 1, 2, 2), pads=[256, 0, 0, 255]),
)
def conv_far_pads(site: Site) -> Sequence[str]:
    """A convolution with a pad above 255 -> Pad, the convolution without pads, if X is images of
    known dims.
    """
    images = images_of(site)
    height, width = images.axes
    pads = [height.begin, width.begin, height.end, width.end]
    require(max(pads) > MOST_TAPS, "a pad is above 255")
    x = site.pad(site.name(0), [0, 0, *pads[:2], 0, 0, *pads[2:]])
    bare = replace(
        images,
        axes=(
            replace(height, size=height.size + height.begin + height.end, begin=0, end=0),
            replace(width, size=width.size + width.begin + width.end, begin=0, end=0),
        ),
    )
    return site.again(x, *site.names[1:], **bare.attributes)


@rule(
    "Conv",
    REORDERED,
    case("Conv", [1, 2, 1, 9000], data(3, 2, 1, 5), data(3), strides=[1, 2], pads=[0, 2, 0, 2]),
    miss=case("Conv", [1, 2, 5000, 5000], data(3, 2, 3, 3)),
    boundary=(
        case("Conv", [1, 1, 1, 4097], data(2, 1, 1, 255), strides=[1, 63]),
        case("Conv", [1, 1, 1, 4098], data(2, 1, 1, 3), auto_pad="SAME_LOWER", dilations=[1, 2]),
    ),
)
def conv_long_row(site: Site) -> str:
    """A convolution of one row longer than 4096 -> Pad, Slice into rows that overlap, Concat as
    batch, Conv, Transpose, Reshape, Slice, if dims are known; X has one row; the filter and the
    stride are listed; at most 1024 pieces.
    """
    images = images_of(site)
    height, axis = images.axes
    require(axis.size > LONGEST_ROW, "a row of X is longer than 4096")
    require(height.size == 1 and height.count == 1 and not height.begin, "X has one row")
    require(
        axis.stride <= LONGEST_STRIDE and axis.taps <= MOST_TAPS, "filter and stride are listed"
    )
    most = (LONGEST_ROW - axis.span) // axis.stride + 1
    require(most > 1, "two windows fit a row")
    pieces = -(-axis.count // most)
    require(pieces <= MOST_PIECES, "there are at most 1024 pieces")
    each = -(-axis.count // pieces)
    step, size = each * axis.stride, (each - 1) * axis.stride + axis.span
    length = (pieces - 1) * step + size
    there = axis.begin + axis.size
    x = site.pad(site.name(0), [0, 0, 0, axis.begin, 0, 0, 0, max(length - there, 0)])
    rows = [site.slice(x, 3, at * step, at * step + size) for at in range(pieces)]
    batch = site.op("Concat", *rows, axis=0)
    part = ImageAxis(size, axis.taps, axis.stride, axis.dilation, 0, 0)
    rest = site.names[1:]
    (y,) = site.again(batch, *rest, **replace(images, axes=(height, part)).attributes)
    y = site.reshape(y, [pieces, images.batch, images.filters, each])
    y = site.reshape(
        site.transpose(y, [1, 2, 0, 3]), [images.batch, images.filters, 1, pieces * each]
    )
    return y if pieces * each == axis.count else site.slice(y, 3, 0, axis.count)


@rule(
    "Conv",
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
    boundary=case("Conv", [1, 1, 2, 3], data(1, 1, 3, 3), strides=[9, 9], pads=[2, 0, 0, 0]),
)
def conv_one_window(site: Site) -> Sequence[str]:
    """A convolution with one pixel as its result, whose X and W differ in height or width -> Slice
    of X to the elements under the window, Slice of W to the taps over the image, the convolution
    without pads, if dims are known; a tap meets the image.

    The list `base` takes results of one pixel only where X and W have the same height and width.
    """
    images = images_of(site)
    require(all(each.count == 1 for each in images.axes), "Y is one pixel")
    alike = all(
        each.size == each.taps and each.dilation == 1 and not each.begin for each in images.axes
    )
    require(not alike, "X and W differ in height or width")
    x, w = site.name(0), site.name(1)
    axes = []
    for at, axis in enumerate(images.axes, 2):
        first, taps = _taps_inside(axis)
        require(taps > 0, "a tap meets the image")
        start = first * axis.dilation - axis.begin
        end = start + (taps - 1) * axis.dilation + 1
        if (start, end, axis.dilation) != (0, axis.size, 1):
            x = site.slice(x, at, start, end, axis.dilation)
        if taps < axis.taps:
            w = site.slice(w, at, first, first + taps)
        axes.append(ImageAxis(taps, taps, 1, 1, 0, 0))
    cut = replace(images, axes=(axes[H], axes[W]))
    rest = site.names[2:]
    return site.again(x, w, *rest, **cut.attributes)


def _taps_inside(axis: ImageAxis) -> tuple[int, int]:
    first = max(-(-axis.begin // axis.dilation), 0)
    last = min((axis.begin + axis.size - 1) // axis.dilation, axis.taps - 1)
    return first, max(last - first + 1, 0)


@rule(
    "Conv",
    REORDERED,
    case("Conv", [1, 2, 1, 400], data(3, 2, 1, 100), data(3), strides=[1, 80], pads=[0, 10, 0, 30]),
    miss=case("Conv", [1, 2, 200, 200], data(3, 2, 5, 5), strides=[70, 70], dilations=[1, 2]),
    boundary=case("Conv", [1, 1, 3, 66], data(2, 1, 2, 2), strides=[1, 64]),
)
def conv_stride_fold(site: Site) -> Sequence[str]:
    """A convolution with a stride above 63 -> Pad or Slice, Reshape, Transpose and Reshape of X and
    W, a convolution of stride 1, if dims are known; no dilation along an axis with such a stride
    and several windows.

    Elements that are a stride apart are channels of one pixel: X of L elements becomes s * C
    channels of L / s elements, W likewise, and the stride is 1. Filters gain zero taps up to a
    multiple of s.
    """
    images = images_of(site)
    far = [each.stride > LONGEST_STRIDE for each in images.axes]
    require(any(far), "a stride is above 63")
    require(max(each.count for each in images.axes) > 1, "there are several windows")
    x, w = site.name(0), site.name(1)
    axes, steps = list(images.axes), [1, 1]
    for at, axis in enumerate(images.axes):
        if not far[at]:
            continue
        if axis.count == 1:
            x = _fitted(site, x, at, axis, axis.span)
            axes[at] = ImageAxis(axis.span, axis.taps, 1, axis.dilation, 0, 0)
            continue
        require(axis.dilation == 1 or axis.taps == 1, "no dilation")
        steps[at] = axis.stride
        taps = -(-axis.taps // axis.stride)
        length = axis.count - 1 + taps
        x = _fitted(site, x, at, axis, length * axis.stride)
        w = site.pad(w, [0] * (6 + at) + [taps * axis.stride - axis.taps] + [0] * (1 - at))
        axes[at] = ImageAxis(length, taps, 1, 1, 0, 0)
    height, width = axes
    x = _folded(site, x, [images.batch, images.channels], [height.size, width.size], steps)
    each = images.channels // images.group
    w = _folded(site, w, [images.filters, each], [height.taps, width.taps], steps)
    folded = replace(images, axes=(height, width))
    rest = site.names[2:]
    return site.again(x, w, *rest, **folded.attributes)


def _fitted(site: Site, x: str, at: int, axis: ImageAxis, length: int) -> str:
    """Images with their zeros before an axis, of exactly `length` elements along it."""
    there = axis.begin + axis.size
    if there > length:
        x = site.slice(x, 2 + at, 0, length - axis.begin)
    pads = [0] * 8
    pads[2 + at], pads[6 + at] = axis.begin, max(length - there, 0)
    return site.pad(x, pads)


def _folded(
    site: Site, x: str, lead: Sequence[int], sizes: Sequence[int], steps: Sequence[int]
) -> str:
    """Images whose pixels have the channels of `steps` rows and columns."""
    if max(steps) == 1:
        return x
    x = site.reshape(x, [*lead, sizes[H], steps[H], sizes[W], steps[W]])
    x = site.transpose(x, [0, 1, 3, 5, 2, 4])
    return site.reshape(x, [lead[0], lead[1] * steps[H] * steps[W], *sizes])


@rule(
    "Conv",
    REORDERED,
    case("Conv", [1, 3, 9, 4], data(5, 3, 3, 4), data(5), strides=[2, 1]),
    miss=case("Conv", [1, 3, 4, 9], data(5, 3, 4, 3), strides=[1, 2]),
    boundary=case("Conv", [1, 1, 4096, 3], data(2, 1, 3, 3)),
)
def conv_swap_axes(site: Site) -> str:
    """A convolution whose result has width 1 and height above 1, or whose rows are longer than 4096
    and whose columns are not -> Transpose of X and W, the convolution with the axes exchanged,
    Transpose, if dims are known; H of X is at most 4096.

    The list `base` refuses results of width 1 and height above 1, and rows of more than 4096
    elements.
    """
    images = images_of(site)
    height, width = images.axes
    narrow = width.count == 1 and height.count > 1
    long = width.size > LONGEST_ROW
    require(
        narrow or long, "the result has width 1 and height above 1, or X has rows longer than 4096"
    )
    require(height.size <= LONGEST_ROW, "H of X is at most 4096")
    require(not (long and height.count == 1), "the result has more than one row")
    swapped = replace(images, axes=(width, height))
    order = (0, 1, 3, 2)
    inputs = [site.transpose(site.name(position), order) for position in (0, 1)]
    inputs += site.names[2:]
    return site.transpose(site.again(*inputs, **swapped.attributes)[0], order)


# Convolutions that are written at most.
_MOST_PIECES = 255


@rule(
    "Conv",
    REORDERED,
    case("Conv", [1, 2, 1, 400], data(3, 2, 1, 300), data(3), pads=[0, 3, 0, 4]),
    miss=case("Conv", [1, 2, 400, 20], data(3, 2, 300, 3), strides=[64, 1], dilations=[1, 2]),
    boundary=(
        case("Conv", [1, 1, 2, 400], data(1, 1, 1, 256), strides=[1, 63]),
        case("Conv", [1, 1, 2, 400], data(1, 1, 1, 2), dilations=[1, 256]),
    ),
    float16="each piece rounds its sums once more",
)
def conv_wide_kernel(site: Site) -> str:
    """A convolution whose filter has more than 255 taps along an axis, or dilations above 255 ->
    Slice of X and W, a Conv for each piece of at most 255 taps (one, if they are far apart),
    Add, if dims are known; the stride along the axis is at most 63; at most 255 pieces.

    Taps that are more than 255 elements apart are pieces of their own.
    """
    images = images_of(site)
    wide = [each.taps > MOST_TAPS or _is_far(each) for each in images.axes]
    require(any(wide), "an axis has too many taps, or taps too far apart")
    at = W if wide[W] else H
    axis = images.axes[at]
    require(axis.stride <= LONGEST_STRIDE, "the stride is at most 63")
    most = 1 if _is_far(axis) else MOST_TAPS
    require(axis.taps <= most * _MOST_PIECES, "there are at most 255 pieces")
    pads = [0] * 8
    pads[2 + at], pads[6 + at] = axis.begin, axis.end
    x = site.pad(site.name(0), pads)
    total = ""
    for first in range(0, axis.taps, most):
        taps = min(most, axis.taps - first)
        start = first * axis.dilation
        step = axis.dilation if taps > 1 else 1
        size = (axis.count - 1) * axis.stride + (taps - 1) * step + 1
        axes = list(images.axes)
        axes[at] = ImageAxis(size, taps, axis.stride, step, 0, 0)
        cut = site.slice(x, 2 + at, start, start + size)
        w = site.slice(site.name(1), 2 + at, first, first + taps)
        bias = [] if total or site.tensor(2) is None else [site.name(2)]
        piece = replace(images, axes=(axes[H], axes[W]))
        (y,) = site.again(cut, w, *bias, **piece.attributes)
        total = y if not total else site.op("Add", total, y)
    return total


def _is_far(axis: ImageAxis) -> bool:
    """True if the taps are farther apart than the list has it."""
    return axis.dilation > MOST_TAPS and axis.taps > 1


_VOLUMES = 5


@rule(
    "Conv",
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
def conv_3d_as_slices(site: Site) -> str:
    """Conv of volumes -> for each tap of the depth Slice, Transpose and Reshape of slices to a
    batch of images, Conv; Add; Reshape, Transpose, if dims are known.
    """
    x, w = site.shape(0), site.shape(1)
    require(len(x) == _VOLUMES, "X has rank 5")
    strides, dilations = (site.integers(name, (1, 1, 1)) for name in ("strides", "dilations"))
    pads = _pads(site, strides, dilations)
    depth = (x[2] + pads[0] + pads[3] - (w[2] - 1) * dilations[0] - 1) // strides[0] + 1
    require(depth > 0, "Y has slices")
    volume = site.pad(site.name(0), [0, 0, pads[0], 0, 0, 0, 0, pads[3], 0, 0])
    total = ""
    for tap in range(w[2]):
        start = tap * dilations[0]
        part = site.slice(volume, 2, start, start + (depth - 1) * strides[0] + 1, strides[0])
        images = site.reshape(site.transpose(part, [0, 2, 1, 3, 4]), [x[0] * depth, x[1], *x[3:]])
        plane = site.squeeze(site.slice(site.name(1), 2, tap, tap + 1), [2])
        bias = [] if total or site.tensor(2) is None else [site.name(2)]
        (y,) = site.again(
            images,
            plane,
            *bias,
            kernel_shape=list(w[3:]),
            strides=list(strides[1:]),
            dilations=list(dilations[1:]),
            pads=[pads[1], pads[2], pads[4], pads[5]],
            group=site.integer("group", 1),
            auto_pad=None,
        )
        total = y if not total else site.op("Add", total, y)
    rows, columns = (
        (x[3 + at] + pads[1 + at] + pads[4 + at] - (w[3 + at] - 1) * dilations[1 + at] - 1)
        // strides[1 + at]
        + 1
        for at in range(2)
    )
    stacked = site.reshape(total, [x[0], depth, w[0], rows, columns])
    return site.transpose(stacked, [0, 2, 1, 3, 4])


def _pads(site: Site, strides: Sequence[int], dilations: Sequence[int]) -> Sequence[int]:
    """The pads before the three axes, then those after them."""
    mode = site.text("auto_pad", "NOTSET")
    if mode == "NOTSET":
        return site.integers("pads", [0] * 6)
    if mode not in SAME:
        return [0] * 6
    spans = [(taps - 1) * by + 1 for taps, by in zip(site.shape(1)[2:], dilations, strict=True)]
    sizes = site.shape(0)[2:]
    pairs = [same_pads(*each, mode) for each in zip(sizes, spans, strides, strict=True)]
    return [*(begin for begin, _ in pairs), *(end for _, end in pairs)]


# Rank of N x C x L.
_SEQUENCES = 3

# Attributes with a number for each axis, and the number for an axis of 1.
_OF_ONE = {"dilations": 1, "kernel_shape": 1, "strides": 1, "output_padding": 0, "output_shape": 1}

_POOLS = frozenset({"AveragePool", "MaxPool"})
_WITH_FILTERS = frozenset({"Conv", "ConvTranspose"})


@rule(
    "AveragePool Conv ConvTranspose LpPool MaxPool",
    REORDERED,
    case("Conv", [1, 3, 16], data(4, 3, 3), data(4), pads=[1, 0], strides=[2], dilations=[2]),
    miss=case("Conv", [1, 2, 4, 4, 4], data(3, 2, 2, 2, 2)),
)
def window_1d(site: Site) -> str:
    """A convolution or pool along one axis -> Unsqueeze, the same operator on an image of one row,
    Squeeze, if X has rank 3; of a pool, Indices are not used and each window meets X.

    Convolutions and pools of the list `base` take images alone. The axis of 1 goes before the last,
    so that the length is on W: a width of 1 with a height above 1 is refused.
    """
    require(len(site.dims(0)) == _SEQUENCES, "X has rank 3")
    require(site.output(1) is None, "Indices are not used")
    if site.node.op_type in _POOLS:
        require_known_windows(site)
    inputs = [site.unsqueeze(site.name(0), [2])]
    if site.node.op_type in _WITH_FILTERS:
        inputs.append(site.unsqueeze(site.name(1), [2]))
    inputs += [site.name(position) for position in range(len(inputs), len(site.node.inputs))]
    return site.squeeze(site.again(*inputs, **_as_image(site))[0], [2])


def _as_image(site: Site) -> dict[str, Any]:
    """The attributes with a number for each axis, with that of an axis of 1 before it."""
    attributes = site.node.attributes
    changed: dict[str, Any] = {
        name: [one, *site.integers(name)] for name, one in _OF_ONE.items() if name in attributes
    }
    if "pads" in attributes:
        begin, end = site.integers("pads")
        changed["pads"] = [0, begin, 0, end]
    return changed


_STATE = 3

# Attributes of onnxruntime that give input and state other dims.
_OTHER_LAYOUTS = ("state_window", "state_length", "input_channels", "state_update_capacity")


@rule(
    "CausalConvWithState com.microsoft::CausalConvWithState",
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
    miss=contrib_case(
        "CausalConvWithState",
        [1, 3, 8],
        data(3, 1, 4),
        data(3),
        [2, 1, 3, 3],
        state_window=2,
        outputs=2,
    ),
)
def causal_conv_as_conv(site: Site) -> Sequence[str]:
    """CausalConvWithState of ONNX or onnxruntime -> Concat of the state, Conv of each channel,
    Sigmoid, Mul, Slice, if dims are known; one axis of positions; the state has no window.

    A convolution of each channel over the past and x (CausalConvWithState-27 of ONNX and that of
    onnxruntime).
    """
    site.floats(0)
    plain = not any(site.integer(name, 0) for name in _OTHER_LAYOUTS)
    require(plain, "the state has no window")
    dims = site.shape(0)
    one = site.integer("ndim", 1) == 1 and len(dims) == _SEQUENCES
    require(one, "there is one axis of positions")
    last = site.flag("channels_last", default=False)
    order = [0, 2, 1] if last else [0, 1, 2]
    batch, channels, length = (dims[at] for at in order)
    dilation = site.integer("dilation", 1)
    held = (site.shape(1)[2] - 1) * dilation
    kept = held > 0 or site.output(1) is None
    require(kept, "the state after it has elements")
    x = site.transpose(site.name(0), order)
    if held:
        if site.tensor(_STATE) is not None:
            own = site.shape(_STATE)
            fits = [own[at] for at in order] == [batch, channels, held]
            require(fits, "the state has the taps before X")
            state = site.transpose(site.name(_STATE), order)
        else:
            state = site.const(tables.zeros((batch, channels, held)), site.element, "state")
        x = site.op("Concat", state, x, axis=2)
    weights = [site.name(at) for at in (1, 2) if site.tensor(at) is not None]
    y = site.op("Conv", x, *weights, group=channels, dilations=[dilation])
    kind = site.text("activation", "none")
    require(kind in {"none", "silu", "swish"}, "the activation is known")
    if kind != "none":
        y = site.op("Mul", y, site.op("Sigmoid", y))
    used = held and site.output(1) is not None
    state = site.transpose(site.slice(x, 2, length, length + held), order) if used else ""
    return [site.transpose(y, order), state]

"""Rules of transposed convolutions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.fix import tables
from atc_py.fix.case import CaseNode, Fed, case, case_after, data
from atc_py.fix.context import RuleContext
from atc_py.fix.parts.windows import (
    IMAGES,
    SAME,
    VOLUMES,
    ImageAxis,
    window_attributes,
    window_numbers,
)
from atc_py.fix.rule import EQUAL, REORDERED, rule
from atc_py.fix.unfit import require, skip_unless


@dataclass(frozen=True, slots=True)
class TransposedAxis(ImageAxis):
    """One axis: stride, dilation and pads are of Y, whose begin and end are cut off."""

    extra: int  # zeros after the last window, of output_padding

    @property
    def full(self) -> int:
        """Elements that the windows cover, and `extra`."""
        return (self.size - 1) * self.stride + self.span + self.extra

    @property
    def count(self) -> int:
        return self.full - self.begin - self.end


def transposed_axes(ctx: RuleContext) -> tuple[TransposedAxis, ...]:
    """The axes of a ConvTranspose with explicit, stated or automatic dims."""
    sizes, taps = ctx.shape(0)[2:], ctx.shape(1)[2:]
    rank = len(sizes)
    strides, dilations, pads = window_numbers(ctx, rank)
    extra = ctx.integers("output_padding") or (0,) * rank
    mode = ctx.text("auto_pad", "NOTSET")
    wanted = ctx.integers("output_shape")[-rank:]
    if mode in SAME and not wanted:
        wanted = tuple(size * step for size, step in zip(sizes, strides, strict=True))
    results = []
    for at in range(rank):
        begin, end = (pads[at], pads[rank + at]) if mode == "NOTSET" else (0, 0)
        axis = TransposedAxis(
            sizes[at], taps[at], strides[at], dilations[at], begin, end, extra[at]
        )
        if wanted:
            full = replace(axis, begin=0, end=0).full
            require(wanted[at] <= full, "windows cover Y")
            less, rest = (full - wanted[at]) // 2, (full - wanted[at] + 1) // 2
            begin, end = (less, rest) if mode == "SAME_UPPER" else (rest, less)
            axis = replace(axis, begin=begin, end=end)
        require(axis.count > 0, "Y has elements")
        results.append(axis)
    return tuple(results)


_IMAGE = ([1, 2, 4, 5], data(2, 3, 3, 2))
_PLAIN_DILATED = case("ConvTranspose", *_IMAGE, kernel_shape=[3, 2], dilations=[2, 1])


@rule(
    REORDERED,
    case("ConvTranspose", *_IMAGE, data(3), strides=[2, 1], dilations=[1, 2], output_shape=[8, 5]),
    miss=_PLAIN_DILATED,
    boundary=case(
        "ConvTranspose",
        [1, 1, 1, 2],
        data(1, 2, 2, 2),
        strides=[1, 3],
        output_shape=[2, 6],
        dilations=[1, 2],
    ),
    deviations=(
        "ConvTranspose/kernel-shape-needed",
        "ConvTranspose/not-marked-after-auto-pad",
        "ConvTranspose/output-shape-beside-notset",
        "ConvTranspose/output-shape-halves",
    ),
    lists=True,
)
def conv_transpose_explicit(ctx: RuleContext) -> Sequence[str]:
    """ConvTranspose with output_shape or automatic pads, or without kernel_shape -> ConvTranspose
    with explicit pads, if dims are known; X has rank 4 or 5; windows cover the result.
    """
    require(len(ctx.shape(0)) >= IMAGES, "X has rank 4 or 5")
    stated = ctx.node.attributes
    bare = stated.get("auto_pad", "NOTSET") == "NOTSET" and not stated.get("output_shape")
    skip_unless(not bare or not stated.get("kernel_shape"))
    axes = transposed_axes(ctx)
    own = window_attributes(axes)
    return ctx.again(
        auto_pad=None,
        output_shape=None,
        kernel_shape=own["kernel_shape"],
        pads=own["pads"],
        output_padding=[axis.extra for axis in axes],
    )


_KERNEL: Mapping[str, Any] = {"kernel_shape": [2, 2]}
_SHAPED: tuple[CaseNode, ...] = (
    ("ConvTranspose", ("x0", "x1"), ("first",), {**_KERNEL, "output_shape": [5, 6]}),
)
_PLAIN: tuple[CaseNode, ...] = (("ConvTranspose", ("x0", "x1"), ("first",), _KERNEL),)
_INPUTS: Mapping[str, Fed | NDArray[Any]] = {
    "x0": Fed((1, 1, 4, 5)),
    "x1": np.ones((1, 1, 2, 2), np.float32),
}


@rule(
    EQUAL,
    case_after(_SHAPED, "ConvTranspose", ("first", "x1"), _INPUTS, attributes=_KERNEL),
    miss=case_after(_PLAIN, "ConvTranspose", ("first", "x1"), _INPUTS, attributes=_KERNEL),
    deviations="ConvTranspose/marked-by-node-before",
)
def conv_transpose_not_set(ctx: RuleContext) -> Sequence[str]:
    """ConvTranspose without auto_pad after one with output_shape -> ConvTranspose with auto_pad
    NOTSET, if it has no output_shape.
    """
    stated = ctx.node.attributes
    skip_unless("auto_pad" not in stated and not stated.get("output_shape"))
    return ctx.again(auto_pad="NOTSET")


@rule(
    REORDERED,
    case(
        "ConvTranspose",
        *_IMAGE,
        data(3),
        kernel_shape=[3, 2],
        strides=[2, 1],
        dilations=[2, 3],
        pads=[1, 0, 0, 2],
    ),
    miss=case(
        "ConvTranspose",
        [1, 2, 4, 5, 3],
        data(2, 3, 3, 2, 2),
        kernel_shape=[3, 2, 2],
        dilations=[2, 1, 1],
    ),
    boundary=case(
        "ConvTranspose",
        [1, 1, 1, 1],
        data(1, 2, 2, 1),
        kernel_shape=[2, 1],
        dilations=[2, 1],
        pads=[1, 0, 1, 0],
    ),
)
def conv_transpose_spread_filter(ctx: RuleContext) -> Sequence[str]:
    """ConvTranspose of images with dilations -> W with zeros between its taps by Reshape, Pad and
    Slice; ConvTranspose, if dims are known; no output_shape; pads are explicit.
    """
    w, stated = list(ctx.shape(1)), ctx.node.attributes
    require(len(ctx.shape(0)) == IMAGES, "X is images")
    axes = transposed_axes(ctx)
    skip_unless(any(axis.dilation > 1 for axis in axes))
    bare = stated.get("auto_pad", "NOTSET") in {"NOTSET", "VALID"}
    bare = bare and not stated.get("output_shape")
    require(bare, "pads are explicit")
    name = ctx.name(1)
    for at, axis in enumerate(axes, 2):
        if axis.dilation == 1:
            continue
        name = ctx.reshape(name, [*w[: at + 1], 1, *w[at + 1 :]])
        pads = [0] * (2 * len(w) + 2)
        pads[len(w) + 1 + at + 1] = axis.dilation - 1
        w[at] = axis.taps * axis.dilation
        name = ctx.reshape(ctx.pad(name, pads), w)
        w[at] = (axis.taps - 1) * axis.dilation + 1
        name = ctx.slice(name, at, 0, w[at])
    return ctx.again(ctx.name(0), name, *ctx.names[2:], kernel_shape=w[2:], dilations=None)


@rule(
    REORDERED,
    case(
        "ConvTranspose",
        [1, 2, 3, 4, 3],
        data(2, 2, 2, 3, 2),
        data(2),
        kernel_shape=[2, 3, 2],
        strides=[2, 1, 2],
        pads=[1, 0, 1, 0, 1, 0],
    ),
    miss=_PLAIN_DILATED,
    boundary=case(
        "ConvTranspose",
        [1, 1, 1, 1, 1],
        data(1, 2, 2, 2, 2),
        kernel_shape=[2, 2, 2],
        pads=[1, 1, 1, 0, 0, 0],
    ),
    float16="each tap of the depth rounds its sums once more",
)
def conv_transpose_of_volumes(ctx: RuleContext) -> str:
    """ConvTranspose of volumes -> ConvTranspose of the slices with a filter for each tap of the
    depth; for each tap Slice, Pad; Add, if dims are known.
    """
    x, w = ctx.shape(0), ctx.shape(1)
    skip_unless(len(x) == VOLUMES)
    depth, *plane = transposed_axes(ctx)
    filters = w[1] * ctx.integer("group", 1)
    slices = ctx.transpose(ctx.name(0), [0, 2, 1, 3, 4])
    slices = ctx.reshape(slices, [x[0] * x[2], x[1], *x[3:]])
    weight = ctx.reshape(ctx.name(1), [w[0], w[1] * w[2], *w[3:]])
    y = ctx.op(
        "ConvTranspose",
        slices,
        weight,
        **window_attributes(plane),
        output_padding=[axis.extra for axis in plane],
        group=ctx.integer("group", 1),
    )
    sizes = [axis.count for axis in plane]
    y = ctx.reshape(y, [x[0], x[2], filters, w[2], prod(sizes)])
    y = ctx.transpose(y, [0, 2, 1, 3, 4])
    y = ctx.reshape(y, [x[0] * filters, x[2], 1, w[2] * prod(sizes)])
    y = ctx.pad(y, [0] * 6 + [depth.stride - 1, 0])
    y = ctx.reshape(y, [x[0] * filters, x[2] * depth.stride, w[2], prod(sizes)])
    y = ctx.reshape(_sum(ctx, y, depth), [x[0], filters, depth.count, *sizes])
    if ctx.tensor(2) is None:
        return y
    return ctx.op("Add", y, ctx.reshape(ctx.name(2), [1, filters, 1, 1, 1]))


def _sum(ctx: RuleContext, y: str, depth: TransposedAxis) -> str:
    length = (depth.size - 1) * depth.stride + 1
    total = ""
    for tap in range(depth.taps):
        offset = tap * depth.dilation - depth.begin
        first, last = max(-offset, 0), min(length, depth.count - offset)
        if first >= last:
            continue
        part = ctx.slice(y, 2, tap, tap + 1)
        if (first, last) != (0, length) or depth.stride > 1:
            part = ctx.slice(part, 1, first, last)
        part = ctx.pad(part, [0, offset + first, 0, 0, 0, depth.count - offset - last, 0, 0])
        total = ctx.add(total, part)
    require(total, "a tap reaches Y")
    return total


@rule(
    REORDERED,
    case("Col2Im", [2, 8, 12], np.array([4, 5]), np.array([2, 2]), pads=[0, 0, 0, 0], opset=18),
    miss=case("Col2Im", [2, 16, 1], np.array([2, 2, 2, 2]), np.array([2, 2, 2, 2]), opset=18),
)
def col2im_as_conv_transpose(ctx: RuleContext) -> str:
    """Col2Im -> Reshape, ConvTranspose with one filter of a single 1 for each element of a block,
    Reshape, if dims, image_shape and block_shape are known; two axes, or one with one channel.
    """
    x = ctx.shape(0)
    image, block = ([int(number) for number in ctx.constant(at)] for at in (1, 2))
    rank = len(image)
    ctx.floats(0, "X")
    strides, dilations, pads = window_numbers(ctx, rank)
    spans = [(taps - 1) * by + 1 for taps, by in zip(block, dilations, strict=True)]
    rooms = [image[at] + pads[at] + pads[rank + at] - spans[at] for at in range(rank)]
    counts = [room // step + 1 for room, step in zip(rooms, strides, strict=True)]
    require(prod(counts) == x[2], "the blocks fit the image")
    taps = prod(block)
    # onnxruntime's sums along other axes are not those of ONNX, so no result could be proved.
    require(rank + 2 == IMAGES or (rank == 1 and x[1] == taps), "two axes, or one with one channel")
    batch = x[0] * (x[1] // taps)
    weight = ctx.const(tables.eye(taps).reshape(taps, 1, *block), ctx.element, "weight")
    y = ctx.reshape(ctx.name(0), [batch, taps, *counts])
    y = ctx.op(
        "ConvTranspose",
        y,
        weight,
        kernel_shape=block,
        strides=list(strides),
        dilations=list(dilations),
        pads=list(pads),
        output_padding=[room % step for room, step in zip(rooms, strides, strict=True)],
    )
    return ctx.reshape(y, [x[0], x[1] // taps, *image])

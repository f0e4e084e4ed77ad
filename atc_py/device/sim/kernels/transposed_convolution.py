"""Transposed convolutions of NCHW data: each element spreads a filter, and what meets is summed.

int8 data and filters are multiplied in float32 by sums that lose nothing, see `cube_types`;
what meets in one place and the bias are added as int32 and wrap around.
"""

import math
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.execution.parallel import PRODUCTS_AT_ONCE, ROWS_TOGETHER, rows_of
from atc_py.device.sim.kernel import Call, kernel
from atc_py.device.sim.numerics.cube_types import (
    DIFFERENCE,
    INT8,
    check_channels,
    convolution_operands,
    exact_matmul,
    exact_terms,
    filter_window,
    widened,
    widened_weights,
    with_hf32,
)
from atc_py.device.sim.primitives.window import Axis
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.text import Text

_SPREAD = 4 * 1024 * 1024
"""Elements that are spread at a time, so that memory stays bounded."""


def _transpose_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The shape that `input_size` gives, if strides, pads and output_padding lead to it.

    A size of -1 stands for the one that they lead to.
    """
    x, weights, dtype = convolution_operands(node)
    groups = node.integer("groups")
    batch, channels, *dims = x.shape
    if groups < 1 or channels != weights.shape[0] or channels % groups:
        text = Text("{channels} channels, {groups} groups and filter {weights} do not fit")
        raise NodeError(text.with_values(channels=channels, groups=groups, weights=weights))
    filters = groups * weights.shape[1]
    check_channels(node, filters)
    window = filter_window(node)
    extra = node.integers("output_padding", 4)[2:]
    implied = (
        batch,
        filters,
        *(
            axis.covered(dim) - axis.before - axis.after + more
            for axis, dim, more in zip((window.height, window.width), dims, extra, strict=True)
        ),
    )
    found = node.integers("input_size", 4)
    fits = all(size in {-1, dim} for size, dim in zip(found, implied, strict=True))
    if min(implied[2:]) < 1:
        text = Text("the result {implied} must have at least one row and column")
        raise NodeError(text.with_values(implied=list(implied)))
    if not fits:
        text = Text("input_size must be {implied}, found {found}")
        raise NodeError(text.with_values(implied=list(implied), found=list(found)))
    return (TensorFacts(dtype, implied),)


@kernel("Conv2DTransposeD", _transpose_types, finishes=True)
def conv2d_transpose(call: Call) -> None:
    """Spread filter times value of each input element; sum what falls on one place.

    With i the input position along an axis and t the tap, the place is
    i * stride + t * dilation - pad. An int8 filter counts less offset_w of its output channel. A
    tap that no element meets in a place counts `offset_x` there, the quantized zero: the bias of
    a quantized layer makes up for that zero in every tap of every place.
    """
    with_hf32(call, lambda narrowed: partial(_transpose, narrowed))()


def _transpose(call: Call) -> None:
    weights, terms = _filters(call)
    constant = _constant(call, weights)
    zero = np.array(call.node.integer("offset_x"), np.int8)
    groups, count = call.node.integer("groups"), weights.shape[1]
    matrices = weights.reshape(groups, len(weights) // groups, -1)
    for image, data in enumerate(call.x):
        maps = widened(call, "data", data, zero or None) if terms else data
        sources = maps.reshape(groups, len(weights) // groups, -1)
        products = matrices[0].size * sources.shape[2]
        taps = math.prod(weights.shape[2:])
        some = max(1, _SPREAD // (taps * sources.shape[2] or 1))
        pieces = -(-count // some) if some < count else max(1, count // ROWS_TOGETHER)
        least = -(-pieces * PRODUCTS_AT_ONCE // max(products, 1))
        for group in range(groups):
            where = image, group
            work = _Group(call, matrices[group], sources[group], constant, where, terms, some)
            call.workers.split(pieces, work.compute, least)


class _Group(msgspec.Struct, frozen=True):
    """A group of channels of one image."""

    call: Call  # for geometry and workspace
    filters: NDArray[Any]  # [channels, filters * kh * kw]
    source: NDArray[Any]  # [channels, h * w]
    constant: NDArray[Any] | None  # what every element of an output channel gets, or None
    where: tuple[int, int]  # the image and the group
    terms: int  # for int8, how many products float32 adds up exactly; else 0
    some: int  # output channels whose results are spread at a time

    def compute(self, start: int, stop: int) -> None:
        """Compute some pieces of the output channels: of bounded memory, or of one piece a part."""
        call, (image, group) = self.call, self.where
        taps = math.prod(call.node.required(1).shape[2:])
        count = self.filters.shape[1] // taps
        before, whole = group * count, rows_of(count, start, stop)
        if self.some < count:
            whole = slice(start * self.some, min(stop * self.some, count))
        for first in range(whole.start, whole.stop, self.some):
            last = min(first + self.some, whole.stop)
            channels = slice(before + first, before + last)
            maps = call.out[image, channels]
            filters = self.filters[:, first * taps : last * taps]
            _spread(call, self.source, filters, maps, self.terms)
            if self.constant is not None:
                np.add(maps, self.constant[channels, None, None], out=maps)
            call.finish(maps, (call.out.shape, (image, channels)))


def _filters(call: Call) -> tuple[NDArray[Any], int]:
    """The filters, int8 widened, and how many products of int8 add up exactly, else 0."""
    weights, offset = call.input(1), call.optional(3)
    if weights.dtype != np.int8:
        return weights, 0
    if offset is not None:  # in the order of the first axes of an IOHW filter
        groups, (channels, filters) = call.node.integer("groups"), weights.shape[:2]
        by_group = np.broadcast_to(offset, (groups * filters,)).reshape(groups, filters)
        offset = np.repeat(by_group, channels // groups, axis=0)[:, :, None, None]
    terms = exact_terms(
        DIFFERENCE if call.node.integer("offset_x") else INT8,
        INT8 if offset is None else DIFFERENCE,
    )
    return widened_weights(call, weights, offset), terms


def _constant(call: Call, weights: NDArray[Any]) -> NDArray[Any] | None:
    """Addend of an output channel: the bias, and offset_x in all taps."""
    bias, zero = call.optional(2), call.node.integer("offset_x")
    if not zero:
        return bias
    groups = call.node.integer("groups")
    by_group = weights.reshape(groups, len(weights) // groups, weights.shape[1], -1)
    sums = by_group.sum(axis=(1, 3), dtype=np.float64).reshape(-1)
    constant: NDArray[Any] = (sums * zero).astype(np.int64).astype(np.int32)
    if bias is not None:
        np.add(constant, bias, out=constant)
    return constant


def _spread(
    call: Call, source: NDArray[Any], filters: NDArray[Any], result: NDArray[Any], terms: int
) -> None:
    """Compute some output channels of one image.

    `source` is [channels, h * w], `filters` [channels, some filters * kh * kw], `result`
    [some filters, oh, ow].
    """
    window = filter_window(call.node)
    height, width = call.x.shape[2:]
    spread = call.workspace.lines("columns", (filters.shape[1], height * width), result.dtype)
    if terms:
        exact_matmul(filters.T, source, spread, terms, call.workspace)
    else:
        np.matmul(filters.T, source, out=spread)
    vertical, horizontal = window.height, window.width
    rows = _places(vertical, height, result.shape[1])
    columns = _places(horizontal, width, result.shape[2])
    spread = spread.reshape(len(result), len(rows), len(columns), height, width)
    apart = _is_apart(vertical) and _is_apart(horizontal)
    if not (apart and _is_full(rows, result.shape[1]) and _is_full(columns, result.shape[2])):
        result[...] = 0
    for row, (from_rows, to_rows) in enumerate(rows):
        for column, (from_columns, to_columns) in enumerate(columns):
            part = spread[:, row, column, from_rows, from_columns]
            place = result[:, to_rows, to_columns]
            if apart:
                np.copyto(place, part)
            else:
                np.add(place, part, out=place)


def _places(axis: Axis, dim: int, outputs: int) -> list[tuple[slice, slice]]:
    """For each tap the input elements that it spreads, and where they fall.

    They fall where the windows of a convolution of the result would read.
    """
    return [(tap.windows, tap.places) for tap in axis.taps(outputs, dim)]


def _is_apart(axis: Axis) -> bool:
    """True if no two elements fall on one place."""
    return axis.dilation * (axis.size - 1) < axis.stride


def _is_full(places: list[tuple[slice, slice]], outputs: int) -> bool:
    """True if something falls on every place of an axis on which nothing falls together."""
    filled: int = sum(source.stop - source.start for source, _ in places)
    return filled == outputs

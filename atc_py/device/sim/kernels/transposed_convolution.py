"""Transposed convolutions of NCHW data: each element spreads a filter, and what meets is summed.

int8 data and filters are multiplied in float32 by sums that lose nothing, see `integer_products`;
what meets in one place and the bias are added as int32 and wrap around.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.device.sim.cube_types import check_channels, convolution_operands, filter_window
from atc_py.device.sim.integer_products import (
    DIFFERENCE,
    INT8,
    exact_matmul,
    exact_terms,
    widened,
    widened_weights,
)
from atc_py.device.sim.kernel import Call, kernel
from atc_py.device.sim.node import NodeError, NodeFacts, TensorFacts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from atc_py.device.sim.window import Window

__all__: list[str] = []

_AT_ONCE = 32 * 1024
"""Elements of the result below which completing them is not worth sharing."""

_SPREAD = 4 * 1024 * 1024
"""Elements that are spread at a time, so that memory stays bounded."""


def _transpose_types(node: NodeFacts) -> tuple[TensorFacts, ...]:
    """The shape that `input_size` gives, if strides, pads and output_padding lead to it.

    An extent of -1 is what they lead to.
    """
    x, weights, dtype = convolution_operands(node)
    groups = node.integer("groups")
    batch, channels, *extents = x.shape
    if groups < 1 or channels != weights.shape[0] or channels % groups:
        raise NodeError(f"{channels} channels, {groups} groups and filter {weights} do not fit")
    filters = groups * weights.shape[1]
    check_channels(node, filters)
    window = filter_window(node)
    extra = node.integers("output_padding", 4)[2:]
    implied = (
        batch,
        filters,
        *(
            axis.covered(extent) - axis.before - axis.after + more
            for axis, extent, more in zip(
                (window.height, window.width), extents, extra, strict=True
            )
        ),
    )
    found = node.integers("input_size", 4)
    fits = all(size in {-1, extent} for size, extent in zip(found, implied, strict=True))
    if not fits or min(implied[2:]) < 1:
        raise NodeError(f"input_size must be {list(implied)}, found {list(found)}")
    return (TensorFacts(dtype, implied),)


@kernel("Conv2DTransposeD", _transpose_types, finishes=True)
def conv2d_transpose(call: Call) -> None:
    """Each input element spreads filter times its value; what falls on one place is summed.

    With i the input position along an axis and t the tap, the place is
    i * stride + t * dilation - pad. An int8 filter counts less offset_w of its output channel. A
    tap that no element meets in a place counts `offset_x` there, the quantised zero: the bias of
    a quantised layer makes up for that zero in every tap of every place.
    """
    weights, terms = _filters(call)
    zero = np.array(call.node.integer("offset_x"), np.int8)
    for image, result in zip(call.x, call.out, strict=True):
        data = widened(call, "data", image, zero or None) if terms else image
        source = data.reshape(len(image), -1)
        for members, filters, target in _pieces(call, weights):
            _spread(call, source[members], filters, result[target], terms)
    _complete(call, _constant(call, weights))


def _complete(call: Call, constant: NDArray[Any] | None) -> None:
    """Add what every element of a channel gets, and what else is done to the result."""
    finishes = call.finishing is not None
    if constant is None and not finishes:
        return
    for image, result in enumerate(call.out):

        def part(start: int, stop: int, image: int = image, result: NDArray[Any] = result) -> None:
            maps = result[start:stop]
            if constant is not None:
                np.add(maps, constant[start:stop, None, None], out=maps)
            if finishes:
                call.finish(maps, (call.out.shape, (image, slice(start, stop))))

        call.workers.split(len(result), part, least=-(-_AT_ONCE // max(result[0].size, 1)))


def _filters(call: Call) -> tuple[NDArray[Any], int]:
    """The filters, int8 widened, and how many products of int8 add up exactly, else 0."""
    weights, offset = call.input(1), call.optional(3)
    if weights.dtype != np.int8:
        return weights, 0
    if offset is not None:
        offset = _by_input_channel(offset, weights, call.node.integer("groups"))
    terms = exact_terms(
        DIFFERENCE if call.node.integer("offset_x") else INT8,
        INT8 if offset is None else DIFFERENCE,
    )
    return widened_weights(call, weights, offset), terms


def _by_input_channel(
    offset: NDArray[np.int8], weights: NDArray[np.int8], groups: int
) -> NDArray[np.int8]:
    """Offsets of the output channels as they lie along the first axes of an IOHW filter."""
    channels, filters = weights.shape[:2]
    by_group = np.broadcast_to(offset, (groups * filters,)).reshape(groups, filters)
    return np.repeat(by_group, channels // groups, axis=0)[:, :, None, None]


def _pieces(call: Call, weights: NDArray[Any]) -> Iterator[tuple[slice, NDArray[Any], slice]]:
    """Work in pieces of bounded memory: input channels, filters, output channels."""
    groups = call.node.integer("groups")
    channels, count, rows, columns = weights.shape
    height, width = call.x.shape[2:]
    some = max(1, min(count, _SPREAD // (rows * columns * height * width or 1)))
    for group in range(groups):
        members = slice(group * channels // groups, (group + 1) * channels // groups)
        for first in range(0, count, some):
            filters = weights[members, first : first + some]
            target = group * count + first
            yield members, filters, slice(target, target + filters.shape[1])


def _constant(call: Call, weights: NDArray[Any]) -> NDArray[Any] | None:
    """What every element of an output channel gets: the bias, and offset_x in all taps."""
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

    Args:
        call: for geometry and workspace.
        source: [channels, h * w].
        filters: [channels, some filters, kh, kw].
        result: [some filters, oh, ow].
        terms: for int8, how many products float32 adds up exactly; else 0.
    """
    window = filter_window(call.node)
    height, width = call.x.shape[2:]
    count, rows, columns = filters.shape[1:]
    shape = (count * rows * columns, height * width)
    spread = call.workspace.take("columns", shape, result.dtype)
    matrix = filters.reshape(len(source), -1).T
    if terms:
        exact_matmul(matrix, source, spread, terms, call.workspace)
    else:
        np.matmul(matrix, source, out=spread)
    spread = spread.reshape(count, rows, columns, height, width)
    vertical, horizontal = window.height, window.width
    canvas = call.workspace.take("padded", (count, *_canvas(call, window)), result.dtype)
    canvas[...] = 0
    for row in range(rows):
        for column in range(columns):
            place = canvas[:, vertical.tap(row, height), horizontal.tap(column, width)]
            np.add(place, spread[:, row, column], out=place)
    np.copyto(
        result,
        canvas[
            :,
            vertical.before : vertical.before + result.shape[1],
            horizontal.before : horizontal.before + result.shape[2],
        ],
    )


def _canvas(call: Call, window: Window) -> tuple[int, int]:
    """Extents that hold all that is spread and all that is read, before the padding is cut."""
    height, width = call.x.shape[2:]
    return (
        max(window.height.covered(height), window.height.before + call.out.shape[2]),
        max(window.width.covered(width), window.width.before + call.out.shape[3]),
    )

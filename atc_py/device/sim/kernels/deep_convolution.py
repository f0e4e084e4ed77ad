"""Convolutions of NCDHW data, slice by slice of the result.

Of a convolution the slices that a window reaches are unrolled into columns, and one matrix product
a group sums them up. Of a transposed one each slice that falls on a slice of the result is spread
in turn. int8 is multiplied in float32 by sums that lose nothing, see `cube_types`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.execution.parallel import PRODUCTS_AT_ONCE
from atc_py.device.sim.kernel import Call, kernel
from atc_py.device.sim.numerics.cube_types import (
    DIFFERENCE,
    INT8,
    check_channels,
    convolution_operands,
    exact_matmul,
    exact_terms,
    widened_weights,
    with_hf32,
)
from atc_py.device.sim.primitives.window import Axis, Window, taps_of
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

VOLUME_RANK = 5


@dataclass(frozen=True, slots=True)
class VolumeWindow:
    """A window over depth, height and width."""

    depth: Axis
    height: Axis
    width: Axis

    @property
    def axes(self) -> tuple[Axis, Axis, Axis]:
        return self.depth, self.height, self.width

    @property
    def slice(self) -> Window:
        return Window(self.height, self.width)

    def outputs(self, dims: Shape) -> Shape:
        return tuple(axis.outputs(dim) for axis, dim in zip(self.axes, dims, strict=True))

    def read(self, place: int, depth: int) -> list[tuple[int, int]]:
        """Tap and slice of what the windows at `place` read along the depth, padding apart."""
        axis = self.depth
        first = place * axis.stride - axis.before
        taps = ((tap, first + tap * axis.dilation) for tap in range(axis.size))
        return [(tap, at) for tap, at in taps if 0 <= at < depth]

    def met(self, place: int, depth: int) -> list[tuple[int, int]]:
        """Tap and slice of what falls on slice `place` of a transposed convolution."""
        axis = self.depth
        reached = ((tap, place + axis.before - tap * axis.dilation) for tap in range(axis.size))
        found = ((tap, at // axis.stride) for tap, at in reached if at % axis.stride == 0)
        return [(tap, at) for tap, at in found if 0 <= at < depth]


def volume_window(node: NodeView, size: Shape) -> VolumeWindow:
    """The window of a node whose attributes strides, dilations and pads are CANN's.

    Strides and dilations are in NCDHW order, pads are [front, back, top, bottom, left, right].
    """
    strides, dilations = _spatial(node, "strides"), _spatial(node, "dilations")
    pads = node.integers("pads", 6)
    return VolumeWindow(
        *(
            Axis(size[at], strides[at], dilations[at], pads[2 * at], pads[2 * at + 1])
            for at in range(VOLUME_RANK - 2)
        )
    )


def filter_volume(node: NodeView) -> VolumeWindow:
    return volume_window(node, node.required(1).shape[2:])


def _spatial(node: NodeView, name: str) -> Shape:
    batch, channels, *rest = node.integers(name, VOLUME_RANK)
    if (batch, channels) != (1, 1):
        text = Text("{name} must start with 1, 1 (NCDHW), found {found}")
        raise NodeError(text.with_values(name=name, found=[batch, channels]))
    return tuple(rest)


_COLUMNS = 512 * 1024
"""Elements of columns at a time, so that they stay in the cache."""


def _convolution_types(node: NodeView) -> tuple[TensorFacts, ...]:
    x, weights, dtype = convolution_operands(node, VOLUME_RANK)
    groups, (filters, depth) = node.integer("groups"), weights.shape[:2]
    if groups < 1 or x.shape[1] != groups * depth or filters % groups:
        text = Text("{channels} channels, {groups} groups and filter {weights} do not fit")
        raise NodeError(text.with_values(channels=x.shape[1], groups=groups, weights=weights))
    check_channels(node, filters)
    windows = filter_volume(node).outputs(x.shape[2:])
    return (TensorFacts(dtype, (x.shape[0], filters, *windows)),)


@kernel("Conv3D", _convolution_types, finishes=True, keeps_shape=True)
def conv3d(call: Call) -> None:
    """Compute y[n, o] = bias[o] + sum over c, d, i, j of w[o, c, d, i, j] * x[n, c] at that tap.

    w is the filter, less offset_w[o] where that is given. Where a tap falls on the padding x is
    `offset_x`, the quantized zero.
    """
    with_hf32(call, lambda narrowed: partial(_convolve, narrowed))()


def _convolve(call: Call) -> None:
    weights, offset, terms = call.input(1), call.optional(3), 0
    if weights.dtype == np.int8:
        minus = None if offset is None else offset[:, None, None, None, None]
        weights = widened_weights(call, weights, minus)
        terms = exact_terms(INT8, INT8 if offset is None else DIFFERENCE)
    groups = call.node.integer("groups")
    matrices = weights.reshape(groups, len(weights) // groups, -1)
    work = _Slices(call, filter_volume(call.node), matrices, terms)
    _share(call, matrices[0].size * groups, work.fill)


def _share(call: Call, products: int, compute: Callable[[int, int], None]) -> None:
    """Share the slices of all images, each point of which takes `products` multiplications.

    `compute` does one, of an image at a place.
    """
    batch, _, depth, height, width = call.out.shape
    least = -(-PRODUCTS_AT_ONCE // max(products * height * width, 1))

    def part(start: int, stop: int) -> None:
        for number in range(start, stop):
            compute(*divmod(number, depth))

    call.workers.split(batch * depth, part, least)


@dataclass(frozen=True, slots=True)
class _Slices:
    """Slices of the result of a convolution."""

    call: Call  # for data, workspace and what is left to do
    window: VolumeWindow
    matrices: NDArray[Any]  # [groups, filters of a group, depth * kd * kh * kw]
    terms: int  # for int8, how many products float32 adds up exactly; else 0

    def fill(self, image: int, place: int) -> None:
        """Compute one slice, so many rows at a time that their columns stay in the cache."""
        height, width = self.call.out.shape[3:]
        taps = taps_of(self._seen(image, place), self.window.slice, (height, width))
        groups, _, terms = self.matrices.shape
        some = max(1, _COLUMNS // max(groups * terms * width, 1))
        for first in range(0, height, some):
            rows = slice(first, min(first + some, height))
            self._rows(taps[..., rows, :], image, place, rows)

    def _seen(self, image: int, place: int) -> NDArray[Any]:
        """[channels, kd, H, W], padded: what the windows of a slice of the result read."""
        call, window = self.call, self.window
        data, (height, width) = call.x[image], call.out.shape[3:]
        dims = window.height.covered(height), window.width.covered(width)
        top, left = window.height.before, window.width.before
        rows = max(0, min(data.shape[2], dims[0] - top))
        columns = max(0, min(data.shape[3], dims[1] - left))
        shape = (len(data), window.depth.size, *dims)
        seen = call.workspace.take("seen", shape, self.matrices.dtype)
        seen[...] = call.node.integer("offset_x")
        for tap, at in window.read(place, data.shape[1]):
            inside = seen[:, tap, top : top + rows, left : left + columns]
            np.copyto(inside, data[:, at, :rows, :columns])
        return seen

    def _rows(self, taps: NDArray[Any], image: int, place: int, rows: slice) -> None:
        """Multiply what is unrolled of some rows; `taps` is [channels, kd, kh, kw, rows, width]."""
        call, (groups, filters, terms) = self.call, self.matrices.shape
        columns = call.workspace.take("columns", taps.shape, taps.dtype)
        np.copyto(columns, taps)
        columns = columns.reshape(groups, terms, -1)
        shape = (groups, filters, columns.shape[2])
        sums = call.workspace.take("sums", shape, call.out.dtype)
        if self.terms:
            exact_matmul(self.matrices, columns, sums, self.terms, call.workspace)
        else:
            np.matmul(self.matrices, columns, out=sums)
        bias = call.optional(2)
        if bias is not None:
            np.add(sums, bias.reshape(groups, filters, 1), out=sums)
        _put(call, sums, (image, slice(None), place, rows))


def _put(call: Call, sums: NDArray[Any], where: tuple[Any, ...]) -> None:
    target = call.out[where]
    values = sums.reshape(target.shape)
    call.finish(values, (call.out.shape, where))
    np.copyto(target, values)


def _transposed_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The shape that `input_size` gives, if strides, pads and output_padding lead to it.

    A size of -1 stands for the one that they lead to.
    """
    x, weights, dtype = convolution_operands(node, VOLUME_RANK)
    if x.dtype is DType.INT8:
        raise NodeError(Text("the kernel computes floats, found int8"))
    groups, channels = node.integer("groups"), x.shape[1]
    if groups < 1 or channels != weights.shape[0] or channels % groups:
        text = Text("{channels} channels, {groups} groups and filter {weights} do not fit")
        raise NodeError(text.with_values(channels=channels, groups=groups, weights=weights))
    filters = groups * weights.shape[1]
    check_channels(node, filters)
    extra = node.integers("output_padding", VOLUME_RANK)[2:]
    dims = tuple(
        axis.covered(dim) - axis.before - axis.after + more
        for axis, dim, more in zip(filter_volume(node).axes, x.shape[2:], extra, strict=True)
    )
    if min(dims) < 1:
        text = Text("the result {dims} must have at least one slice, row and column")
        raise NodeError(text.with_values(dims=list(dims)))
    implied = (x.shape[0], filters, *dims)
    found = node.integers("input_size", VOLUME_RANK)
    if not all(size in {-1, dim} for size, dim in zip(found, implied, strict=True)):
        text = Text("input_size must be {implied}, found {found}")
        raise NodeError(text.with_values(implied=list(implied), found=list(found)))
    return (TensorFacts(dtype, implied),)


@kernel("Conv3DTransposeD", _transposed_types, finishes=True, keeps_shape=True)
def conv3d_transpose(call: Call) -> None:
    """Spread filter times value of each input element; sum what falls on one place.

    With i the input position along an axis and t the tap, the place is
    i * stride + t * dilation - pad.
    """
    with_hf32(call, lambda narrowed: partial(_transpose, narrowed))()


def _transpose(call: Call) -> None:
    weights, groups = call.input(1), call.node.integer("groups")
    split = weights.reshape(groups, len(weights) // groups, *weights.shape[1:])
    filters = np.ascontiguousarray(split.transpose(3, 0, 2, 4, 5, 1))
    work = _SpreadSlices(call, filter_volume(call.node), filters)
    _share(call, weights.size, work.fill)


@dataclass(frozen=True, slots=True)
class _SpreadSlices:
    """Slices of the result of a transposed convolution."""

    call: Call  # for data, workspace and what is left to do
    window: VolumeWindow
    filters: NDArray[Any]  # [kd, groups, filters of a group, kh, kw, channels of a group]

    def fill(self, image: int, place: int) -> None:
        call, (_, groups, filters) = self.call, self.filters.shape[:3]
        height, width = call.out.shape[3:]
        sums = call.workspace.take("sums", (groups, filters, height, width), call.out.dtype)
        sums[...] = 0
        data = call.x[image]
        for tap, at in self.window.met(place, data.shape[1]):
            self._spread(data[:, at], self.filters[tap], sums)
        bias = call.optional(2)
        if bias is not None:
            np.add(sums, bias.reshape(groups, filters, 1, 1), out=sums)
        _put(call, sums, (image, slice(None), place))

    def _spread(self, data: NDArray[Any], filters: NDArray[Any], sums: NDArray[Any]) -> None:
        height, width = data.shape[1:]
        groups, outputs, *taps, channels = filters.shape
        source = data.reshape(groups, channels, height * width)
        spread = np.matmul(filters.reshape(groups, -1, channels), source)
        parts = spread.reshape(groups, outputs, *taps, height, width)
        down = self.window.height.taps(sums.shape[2], height)
        across = self.window.width.taps(sums.shape[3], width)
        for row, high in enumerate(down):
            for column, wide in enumerate(across):
                place = sums[:, :, high.places, wide.places]
                np.add(place, parts[:, :, row, column, high.windows, wide.windows], out=place)

"""Convolutions of NCHW data: windows unrolled into columns, then one matrix product a group.

int8 data and filters are unrolled and multiplied in float32 by sums that lose nothing, see
`integer_products`; the bias is added to the int32 result and wraps around with it.
"""

from __future__ import annotations

from dataclasses import dataclass
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
from atc_py.device.sim.parallel import PRODUCTS_AT_ONCE
from atc_py.device.sim.window import padded, taps_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__: list[str] = []

_COLUMNS = 512 * 1024
"""Elements of columns at a time, so that they stay in the cache of the core that unrolls them."""

_INT8_COLUMNS = 2 * _COLUMNS
"""The same for int8: its products go through a pass more, and larger ones were faster."""

_MANY_PIXELS = 700
"""Outputs of a map from which on workers share the map; of smaller ones they share the filters."""

_LEAST_DEPTH = 64
"""Products in a sum from which on multiplying is what takes the time."""

_SHORT = 24
"""Elements in a row below which copying int8 to float32 takes much longer than within float32."""


def _convolution_types(node: NodeFacts, groups: int) -> tuple[TensorFacts, ...]:
    """N, output channels of the filter, and as many windows as fit."""
    x, weights, dtype = convolution_operands(node)
    batch, channels, height, width = x.shape
    filters, depth = weights.shape[:2]
    if groups < 1 or channels != groups * depth or filters % groups:
        raise NodeError(f"{channels} channels, {groups} groups and filter {weights} do not fit")
    check_channels(node, filters)
    windows = filter_window(node).outputs((height, width))
    return (TensorFacts(dtype, (batch, filters, *windows)),)


def _conv2d_types(node: NodeFacts) -> tuple[TensorFacts, ...]:
    """Groups are an attribute."""
    return _convolution_types(node, node.integer("groups"))


def _depthwise_types(node: NodeFacts) -> tuple[TensorFacts, ...]:
    """Every input channel is a group."""
    convolution_operands(node)
    return _convolution_types(node, node.x.shape[1])


@kernel("Conv2D", _conv2d_types, finishes=True)
def conv2d(call: Call) -> None:
    """y[n, o] = bias[o] + sum over c, i, j of w[o, c, i, j] * x[n, c] at tap (i, j).

    w is the filter, less offset_w[o] where that is given: what AMCT calls the value of a quantised
    weight, though its own are symmetric and CANN reserves the operand. Where a tap falls on the
    padding x is `offset_x`, the quantised zero; the bias makes up for that zero elsewhere.
    """
    _convolve(call, call.node.integer("groups"))


@kernel("DepthwiseConv2D", _depthwise_types, finishes=True)
def depthwise_conv2d(call: Call) -> None:
    """A convolution with as many groups as channels; output o reads channel o // (O / C)."""
    _convolve(call, call.node.x.shape[1])


def _convolve(call: Call, groups: int) -> None:
    """Unroll and multiply image by image, and add the bias to each part of the result."""
    out, window = call.out, filter_window(call.node)
    batch, _, height, width = out.shape
    depth = call.input(1).shape[1]
    matrices, terms = _matrices(call, groups)
    bias = call.optional(2)
    biases = None if bias is None else bias.reshape(groups, -1, 1)
    zero = call.node.integer("offset_x")
    results = out.reshape(batch, groups, -1, height * width)
    for at, image in enumerate(call.x):
        maps = image.reshape(groups, depth, *image.shape[1:])
        filled = padded(maps, window, (height, width), zero, call.workspace)
        if terms and width < _SHORT and matrices.shape[2] > depth:
            filled = widened(call, "data", filled)  # one pass more saves time for every tap
        taps = taps_of(filled, window, (height, width))
        _Product(call, matrices, taps, biases, results, at, terms).compute()


def _matrices(call: Call, groups: int) -> tuple[NDArray[Any], int]:
    """The filter as [groups, filters of a group, depth * kh * kw], and `_Product.terms`."""
    weights, offset = call.input(1), call.optional(3)
    terms = 0
    if weights.dtype == np.int8:
        minus = None if offset is None else offset[:, None, None, None]
        weights = widened_weights(call, weights, minus)
        terms = exact_terms(INT8, INT8 if offset is None else DIFFERENCE)
    return weights.reshape(groups, len(weights) // groups, -1), terms


@dataclass(frozen=True, slots=True)
class _Product:
    """results[image, g] = matrices[g] @ columns of taps[g] + biases[g], shared among workers.

    Attributes:
        call: for workspace and workers.
        matrices: [groups, filters of a group, depth * kh * kw].
        taps: [groups, depth, kh, kw, oh, ow], a view.
        biases: [groups, filters of a group, 1], or None.
        results: [batch, groups, filters of a group, oh * ow].
        image: which of the batch is computed.
        terms: for int8, how many products float32 adds up exactly; else 0.
    """

    call: Call
    matrices: NDArray[Any]
    taps: NDArray[Any]
    biases: NDArray[Any] | None
    results: NDArray[Any]
    image: int
    terms: int

    def compute(self) -> None:
        """Cut the work where the parts stay large: groups, rows of the map, or filters."""
        groups, filters, depth = self.matrices.shape
        rows, width = self.taps.shape[4:]
        # Short sums cost more for what is read and written than for what is multiplied.
        products = groups * filters * max(depth, _LEAST_DEPTH) * rows * width
        if groups > 1:
            self._split(groups, products, lambda start, stop: self._groups(slice(start, stop)))
        elif rows * width >= _MANY_PIXELS:
            one = slice(0, 1)
            self._split(rows, products, lambda start, stop: self._rows(one, start, stop))
        else:
            columns = self._columns(self.taps)
            self._split(filters, products, lambda start, stop: self._filters(columns, start, stop))

    def _split(self, total: int, products: int, action: Callable[[int, int], None]) -> None:
        """Share `products` multiplications, which lie in `total` pieces."""
        self.call.workers.split(total, action, -(-total * PRODUCTS_AT_ONCE // max(products, 1)))

    def _groups(self, members: slice) -> None:
        """Compute some groups, as many at a time as keep the columns in cache."""
        size = self.matrices.shape[2] * self.results.shape[3]
        some = max(1, _COLUMNS // size)
        for start in range(members.start, members.stop, some):
            part = slice(start, min(start + some, members.stop))
            self._rows(part, 0, self.taps.shape[4])

    def _rows(self, groups: slice, start: int, stop: int) -> None:
        """Compute some rows of the maps of `groups`."""
        width = self.taps.shape[5]
        limit = _INT8_COLUMNS if self.terms else _COLUMNS
        some = max(1, limit // (self.matrices.shape[2] * width))
        for row in range(start, stop, some):
            last = min(row + some, stop)
            columns = self._columns(self.taps[groups, :, :, :, row:last])
            self._multiply(columns, groups, slice(None), slice(row * width, last * width))

    def _filters(self, columns: NDArray[Any], start: int, stop: int) -> None:
        """Compute the maps of some filters of the one group."""
        self._multiply(columns, slice(0, 1), slice(start, stop), slice(None))

    def _columns(self, taps: NDArray[Any]) -> NDArray[Any]:
        """[groups, depth * kh * kw, outputs]: a view of the maps themselves where that is one.

        int8 becomes float32.
        """
        shape = (len(taps), self.matrices.shape[2], -1)
        if taps.flags.c_contiguous and taps.dtype != np.int8:
            return taps.reshape(shape)
        dtype = np.dtype(np.float32) if taps.dtype == np.int8 else taps.dtype
        columns = self.call.workspace.take("columns", taps.shape, dtype)
        np.copyto(columns, taps)
        return columns.reshape(shape)

    def _multiply(
        self, columns: NDArray[Any], groups: slice, filters: slice, pixels: slice
    ) -> None:
        """Matrices @ columns into their place; what else is done to the result while in cache."""
        matrices, place = self.matrices[groups, filters], (self.image, groups, filters, pixels)
        target, finish = self.results[place], self.call.finish
        direct = finish is None or target.flags.c_contiguous
        sums = target
        if not direct:
            sums = self.call.workspace.take("sums", target.shape, target.dtype)
        if self.terms:
            exact_matmul(matrices, columns, sums, self.terms, self.call.workspace)
        else:
            np.matmul(matrices, columns, out=sums)
        if self.biases is not None:
            np.add(sums, self.biases[groups, filters], out=sums)
        if finish is not None:
            finish(sums, (self.results.shape, place))
        if not direct:
            np.copyto(target, sums)

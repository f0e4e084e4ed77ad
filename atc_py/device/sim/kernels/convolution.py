"""Convolutions of NCHW data: windows unrolled into columns, then one matrix product a group.

int8 data and filters are unrolled and multiplied in float32 by sums that lose nothing, see
`cube_types`; the bias is added to the int32 result and wraps around with it.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.execution.parallel import PRODUCTS_AT_ONCE, ROWS_TOGETHER, rows_of
from atc_py.device.sim.kernel import (
    Call,
    Launch,
    bound_kernel,
    falls_together,
    sequence,
    split_among_workers,
)
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
from atc_py.device.sim.primitives.channelwise import channelwise, is_worthwhile
from atc_py.device.sim.primitives.window import Window, padding, taps_of, unrolling
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.text import Text

_COLUMNS = 512 * 1024
"""Elements of columns at a time, so that they stay in the cache of the core that unrolls them."""

_RESULTS = 64 * 1024
"""Elements of results at a time: bias, rounding and all that follows find them in the cache."""

_INT8_COLUMNS = 2 * _COLUMNS
"""The same for int8: its products go through a pass more, and larger ones were faster."""

_APART = 8 * 1024 * 1024
"""Elements of results up to which memory is taken to write them so that BLAS likes it."""

_MANY_PIXELS = 700
"""Outputs of a map from which on workers share the map; of smaller ones they share the filters."""

_LEAST_DEPTH = 64
"""Products in a sum from which on multiplying is what takes the time."""

_SHORT = 24
"""Elements in a row below which copying int8 to float32 takes much longer than within float32."""


def _groups(node: NodeView) -> int:
    return node.x.shape[1] if node.op == "DepthwiseConv2D" else node.integer("groups")


def _convolution_types(node: NodeView) -> tuple[TensorFacts, ...]:
    x, weights, dtype = convolution_operands(node)
    groups, (batch, channels, height, width) = _groups(node), x.shape
    filters, depth = weights.shape[:2]
    if groups < 1 or channels != groups * depth or filters % groups:
        text = Text("{channels} channels, {groups} groups and filter {weights} do not fit")
        raise NodeError(text.with_values(channels=channels, groups=groups, weights=weights))
    check_channels(node, filters)
    windows = filter_window(node).outputs((height, width))
    return (TensorFacts(dtype, (batch, filters, *windows)),)


@bound_kernel("Conv2D", _convolution_types, finishes=True)
@bound_kernel("DepthwiseConv2D", _convolution_types, finishes=True)
def conv2d(call: Call) -> Launch:
    """Compute y[n, o] = bias[o] + sum over c, i, j of w[o, c, i, j] * x[n, c] at tap (i, j).

    w is the filter, less offset_w[o] where that is given: what AMCT calls the value of a quantized
    weight, though its own are symmetric and CANN reserves the operand. Where a tap falls on the
    padding x is `offset_x`, the quantized zero; the bias makes up for that zero elsewhere.
    DepthwiseConv2D has as many groups as channels; output o reads channel o // (O / C).
    """
    return with_hf32(call, _images)


def _images(call: Call) -> Launch:
    """A launch that convolves image by image; int8 is widened anew every time."""
    images = [partial(_image, call, _groups(call.node), at) for at in range(len(call.x))]
    if call.x.dtype == np.int8:
        return lambda: [image()() for image in images]
    return sequence([image() for image in images])


def _image(call: Call, groups: int, at: int) -> Launch:
    out, window, image = call.out, filter_window(call.node), call.x[at]
    batch, _, height, width = out.shape
    depth = call.input(1).shape[1]
    matrices, terms = _matrices(call, groups)
    bias = call.optional(2)
    biases = None if bias is None else bias.reshape(groups, -1, 1)
    zero = call.node.integer("offset_x")
    results = out.reshape(batch, groups, -1, height * width)
    maps = image.reshape(groups, depth, *image.shape[1:])
    pixels = max(maps[0, 0].size, height * width)
    if depth == 1 and not terms and is_worthwhile(window, pixels, matrices.shape[1]):
        return _channelwise(call, window, at)
    filled, fill = padding(maps, window, (height, width), zero, call.workspace)
    if terms and width < _SHORT and matrices.shape[2] > depth:
        fill()
        filled = widened(call, "data", filled)  # one pass more saves time for every tap
        fill = sequence([])
    taps = taps_of(filled, window, (height, width))
    product = _Product(call, matrices, taps, biases, results, at, terms)
    return sequence([fill, product.launch()])


def _channelwise(call: Call, window: Window, at: int) -> Launch:
    bias = call.optional(2)

    def finish(values: NDArray[Any], filters: slice) -> Launch:
        launches: list[Launch] = []
        if bias is not None:
            launches.append(partial(np.add, values, bias[filters, None], values))
        if call.finishing is not None:
            batch, count, height, width = call.out.shape
            place = (at, filters, slice(None))
            launches.append(call.finishing(values, ((batch, count, height * width), place)))
        return sequence(launches)

    return channelwise(call, window, at, finish)


def _matrices(call: Call, groups: int) -> tuple[NDArray[Any], int]:
    """The filter as [groups, filters of a group, depth * kh * kw], and `_Product.terms`."""
    weights, offset = call.input(1), call.optional(3)
    terms = 0
    if weights.dtype == np.int8:
        minus = None if offset is None else offset[:, None, None, None]
        weights = widened_weights(call, weights, minus)
        terms = exact_terms(INT8, INT8 if offset is None else DIFFERENCE)
    return weights.reshape(groups, len(weights) // groups, -1), terms


class _Product(msgspec.Struct, frozen=True):
    """results[image, g] = matrices[g] @ columns of taps[g] + biases[g], shared among workers."""

    call: Call  # for workspace and workers
    matrices: NDArray[Any]  # [groups, filters of a group, depth * kh * kw]
    taps: NDArray[Any]  # [groups, depth, kh, kw, oh, ow], a view
    biases: NDArray[Any] | None  # [groups, filters of a group, 1], or None
    results: NDArray[Any]  # [batch, groups, filters of a group, oh * ow]
    image: int  # which of the batch is computed
    terms: int  # for int8, how many products float32 adds up exactly; else 0

    def launch(self) -> Launch:
        """Cut the work where the parts stay large: groups, rows of the map, or filters."""
        groups, filters, depth = self.matrices.shape
        rows, width = self.taps.shape[4:]
        # Short sums cost more for what is read and written than for what is multiplied.
        products = groups * filters * max(depth, _LEAST_DEPTH) * rows * width
        if groups > 1:
            return self._split(groups, products, self._groups)
        blocks = [*self._blocks()]
        if rows * width >= _MANY_PIXELS and not self._is_direct(self.taps) and len(blocks) > 1:
            some = partial(self._rows, slice(0, 1), blocks)
            return self._split(len(blocks), products, some)
        columns, unroll = self._columns(self.taps)
        pieces = max(1, filters // ROWS_TOGETHER)
        return sequence([*unroll, self._split(pieces, products, partial(self._filters, columns))])

    @staticmethod
    def _is_direct(taps: NDArray[Any]) -> bool:
        """True if the data are their own columns: windows of one element, one step apart."""
        return taps.flags.c_contiguous and taps.dtype != np.int8

    def _split(self, total: int, products: int, part: Callable[[int, int], Launch]) -> Launch:
        least = -(-total * PRODUCTS_AT_ONCE // max(products, 1))
        return split_among_workers(self.call.workers, total, part, least)

    def _groups(self, first: int, last: int) -> Launch:
        """A launch that computes some groups, so many at once that columns stay in cache."""
        some = self._at_once(self.results.shape[3])
        blocks = [*self._blocks()]
        return sequence(
            [
                self._rows(slice(start, min(start + some, last)), blocks, 0, len(blocks))
                for start in range(first, last, some)
            ]
        )

    def _rows(
        self, groups: slice, blocks: Sequence[tuple[int, int]], start: int, stop: int
    ) -> Launch:
        width = self.taps.shape[5]
        launches: list[Launch] = []
        for row, last in blocks[start:stop]:
            columns, unroll = self._columns(self.taps[groups, :, :, :, row:last])
            pixels = slice(row * width, last * width)
            launches += (*unroll, self._multiply(columns, groups, slice(None), pixels))
        return sequence(launches)

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Yield rows of a map in blocks of about equal size, whose results BLAS likes to write.

        BLAS adds up the last results of a block in another order, so blocks do not depend on who
        computes them.
        """
        rows, width = self.taps.shape[4:]
        count = -(-rows // self._at_once(width))
        some = -(-rows // max(count, 1))
        if some > 1 and falls_together(some * width, self.results.dtype):
            some -= 1
        for first in range(0, rows, some):
            yield first, min(first + some, rows)

    def _at_once(self, pixels: int) -> int:
        _, filters, depth = self.matrices.shape
        if self.terms:
            return max(1, int(_INT8_COLUMNS // (depth * pixels)))
        return max(1, int(min(_COLUMNS // (depth * pixels), _RESULTS // (filters * pixels))))

    def _filters(self, columns: NDArray[Any], start: int, stop: int) -> Launch:
        filters = rows_of(self.matrices.shape[1], start, stop)
        return self._multiply(columns, slice(0, 1), filters, slice(None))

    def _columns(self, taps: NDArray[Any]) -> tuple[NDArray[Any], list[Launch]]:
        """[groups, depth * kh * kw, outputs], and what fills it, if it is not a view.

        int8 becomes float32.
        """
        shape = (len(taps), self.matrices.shape[2], -1)
        if self._is_direct(taps):
            return taps.reshape(shape), []
        dtype = np.dtype(np.float32) if taps.dtype == np.int8 else taps.dtype
        columns = self.call.workspace.take("columns", taps.shape, dtype)
        window = filter_window(self.call.node)
        return columns.reshape(shape), unrolling(taps, window, columns, self.call.workspace)

    def _multiply(
        self, columns: NDArray[Any], groups: slice, filters: slice, pixels: slice
    ) -> Launch:
        """A launch that stores matrices @ columns and finishes the result in the cache."""
        matrices, place = self.matrices[groups, filters], (self.image, groups, filters, pixels)
        target, call = self.results[place], self.call
        direct = call.finishing is None or target.flags.c_contiguous
        sums = target
        if not direct:
            sums = call.workspace.take("sums", target.shape, target.dtype)
        product, lies_badly = sums, falls_together(sums.shape[2], sums.dtype)
        if self.biases is not None and lies_badly and sums.size <= _APART:
            product = call.workspace.lines("apart", sums.shape, sums.dtype)
        launches: list[Launch] = [
            partial(exact_matmul, matrices, columns, product, self.terms, call.workspace)
            if self.terms
            else partial(np.matmul, matrices, columns, product)
        ]
        start, stop, _ = filters.indices(self.matrices.shape[1])
        some = max(1, _RESULTS // sums.shape[2]) if len(sums) == 1 else stop - start
        for first in range(start, stop, some):
            part = slice(first, min(first + some, stop))
            here = slice(None), slice(part.start - start, part.stop - start)
            if self.biases is not None:
                addend = self.biases[groups, part]
                launches.append(partial(np.add, product[here], addend, sums[here]))
            if call.finishing is not None:
                where = self.results.shape, (self.image, groups, part, pixels)
                launches.append(call.finishing(sums[here], where))
        if not direct:
            launches.append(partial(np.copyto, target, sums))
        return sequence(launches)

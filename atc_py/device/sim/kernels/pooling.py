"""Pooling of NCHW data: windows are taken apart into a pass over rows and one over columns."""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.execution.parallel import ELEMENTS_AT_ONCE
from atc_py.device.sim.kernel import (
    Call,
    Launch,
    Rounding,
    Workspace,
    bound_kernel,
    sequence,
    split_among_workers,
)
from atc_py.device.sim.primitives.window import Axis, Window, along, folding, spatial
from atc_py.device.sim.typing_rules import require_float, require_rank
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.text import Text

_BLOCK = 256 * 1024
"""Elements of the input worked on at a time; its intermediate results stay in cache."""

_LONG = 3
"""Elements of a window above which its maxima are found by doubling."""

_ONES = (1, 1, 1, 1)


def _window(node: NodeView) -> Window:
    """The node's window after padding_mode and global_pooling have had their say."""
    dims = node.x.shape[2:]
    if node.flag("global_pooling"):
        return Window(*(Axis(dim, 1, 1, 0, 0) for dim in dims))
    sizes, strides = spatial(node, "ksize"), spatial(node, "strides")
    has_dilations = node.attributes.get("dilations", _ONES) != _ONES
    dilations = spatial(node, "dilations") if has_dilations else (1, 1)
    top, bottom, left, right = node.integers("pads", 4)
    given = ((top, bottom), (left, right))
    mode = node.text("padding_mode")
    if mode not in {"CALCULATED", "SAME", "VALID"}:
        text = Text("padding_mode must be CALCULATED, SAME or VALID, found {found}")
        raise NodeError(text.with_values(found=repr(mode)))
    axes = []
    for axis in range(2):
        pads = given[axis] if mode == "CALCULATED" else (0, 0)
        row = Axis(sizes[axis], strides[axis], dilations[axis], *pads)
        axes.append(_same(row, dims[axis]) if mode == "SAME" else row)
    return Window(*axes)


def _same(axis: Axis, dim: int) -> Axis:
    windows = -(-dim // axis.stride)
    missing = max(0, axis.covered(windows) - dim)
    before = missing // 2
    return Axis(axis.size, axis.stride, axis.dilation, before, missing - before)


def _pool_types(node: NodeView) -> tuple[TensorFacts, ...]:
    x = node.x
    require_float(x)
    require_rank(x, 4, "x")
    node.expect("data_format", "NCHW")
    batch, channels, height, width = x.shape
    ceil = node.flag("ceil_mode")
    windows = _window(node).outputs((height, width), ceil=ceil)
    return (TensorFacts(x.dtype, (batch, channels, *windows)),)


@bound_kernel("MaxPoolV3", _pool_types, rounding=Rounding.ON_GRID)
def max_pool(call: Call) -> Launch:
    """Find the largest element under the window; padding counts as -inf."""
    return _sliding(call, np.maximum, -np.inf)


@bound_kernel("AvgPoolV2", _pool_types)
def avg_pool(call: Call) -> Launch:
    """Divide the sum under the window, accumulated in the carrier, by a count.

    `divisor_override` is the count where it is not 0. Else `exclusive` counts the elements of x
    alone; without it padding counts too, but not what a window of `ceil_mode` overhangs the
    padding: ONNX's definition since AveragePool-19, and what onnxruntime does at every opset.
    """
    counts = _counts(call)
    return sequence([_sliding(call, np.add, 0.0), partial(np.divide, call.out, counts, call.out)])


def _sliding(call: Call, combine: np.ufunc, fill: float) -> Launch:
    window = _window(call.node)
    height, width = call.x.shape[2:]
    outputs = (call.out.shape[2], call.out.shape[3])
    images = math.prod(call.x.shape[:2])  # said, since maps of padding alone have no elements
    planes, results = call.x.reshape(images, height, width), call.out.reshape(images, *outputs)
    some = max(1, _BLOCK // max(1, height * width))
    pool = _Pool(call.workspace, combine, fill)

    def part(start: int, stop: int) -> Launch:
        launches: list[Launch] = []
        for first in range(start, stop, some):
            here = slice(first, min(first + some, stop))
            source, target = planes[here], results[here]
            rows = call.workspace.take("rows", (len(source), outputs[0], width), source.dtype)
            launches += pool.along(window.height, source, 1, rows)
            launches += pool.along(window.width, rows, 2, target)
        return sequence(launches)

    least = -(-ELEMENTS_AT_ONCE // max(1, height * width))
    return split_among_workers(call.workers, images, part, least)


class _Pool(msgspec.Struct, frozen=True):
    """Elements under windows along one axis, combined."""

    workspace: Workspace
    combine: np.ufunc  # commutative and associative
    fill: float  # what padding counts as; `combine` leaves any other number alone with it

    def along(
        self, axis: Axis, source: NDArray[Any], at: int, out: NDArray[Any]
    ) -> Iterator[Launch]:
        """Yield launches that combine elements under windows along axis `at` of `source`."""
        if self.combine is np.maximum and axis.size > _LONG and axis.stride == axis.dilation == 1:
            return self._doubling(axis, source, at, out)
        parts = (
            (tap.windows, along(source, at, tap.places))
            for tap in axis.taps(source.shape[at], out.shape[at])
        )
        return folding(self.combine, parts, at, out, self.fill)

    def _doubling(
        self, axis: Axis, source: NDArray[Any], at: int, out: NDArray[Any]
    ) -> Iterator[Launch]:
        """Yield launches that find the largest elements under long windows one step apart.

        Of two windows of n elements, n apart, comes one of 2 n elements; of two that overlap, any
        length in between. So a window of k elements takes log2(k) passes instead of k. All but the
        last go through the whole memory as one line, and what they find at its turns nobody reads.
        """
        dim, outputs = source.shape[at], out.shape[at]
        covered = axis.covered(outputs)
        shape = (*source.shape[:at], covered, *source.shape[at + 1 :])
        now, then = (self.workspace.take(f"pool {n}", shape, source.dtype) for n in range(2))
        stop = min(axis.before + dim, covered)
        for padding in (slice(0, axis.before), slice(stop, covered)):
            yield partial(np.copyto, along(now, at, padding), self.fill)
        inside = along(now, at, slice(axis.before, stop))
        yield partial(np.copyto, inside, along(source, at, slice(0, stop - axis.before)))
        length = 1
        while 2 * length < axis.size:
            shift = length * math.prod(shape[at + 1 :])
            left, line = now.size - shift, now.reshape(-1)
            yield partial(np.maximum, line[:left], line[shift:], out=then.reshape(-1)[:left])
            now, then, length = then, now, 2 * length
        shift = axis.size - length
        first, second = (along(now, at, slice(by, by + outputs)) for by in (0, shift))
        yield partial(np.maximum, first, second, out=out)


def _counts(call: Call) -> NDArray[Any]:
    """The divisor of each output, broadcast against [oh, ow], in the carrier's dtype."""
    override = call.node.integer("divisor_override")
    if override:
        return np.asarray(override, call.out.dtype)
    window, exclusive = _window(call.node), call.node.flag("exclusive")
    rows = _covered(window.height, call.x.shape[2], call.out.shape[2], exclusive=exclusive)
    columns = _covered(window.width, call.x.shape[3], call.out.shape[3], exclusive=exclusive)
    return np.outer(rows, columns).astype(call.out.dtype)


def _covered(axis: Axis, dim: int, outputs: int, *, exclusive: bool) -> NDArray[np.int64]:
    low, high = (0, dim) if exclusive else (-axis.before, dim + axis.after)
    starts = np.arange(outputs) * axis.stride - axis.before
    places = starts[:, None] + np.arange(axis.size) * axis.dilation
    counts: NDArray[np.int64] = ((places >= low) & (places < high)).sum(axis=1)
    return counts

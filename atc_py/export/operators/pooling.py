"""Pools over sliding windows of NCHW data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from atc_py.export.axes import reduced
from atc_py.export.node import NoFormError
from atc_py.export.numbers import carrier, number
from atc_py.export.registry import emulates
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from atc_py.export.body import Body
    from atc_py.export.node import CompiledNode

__all__: list[str] = []

_SPATIAL = (2, 3)
"""The axes that windows slide along."""

_END = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class _Axis:
    """A window along one axis.

    Attributes:
        dim: elements along the axis; None where only the run knows.
        size: elements under the window.
        stride: steps between windows.
        dilation: steps between elements of a window.
        before: padding in front.
        after: padding at the end.
    """

    dim: int | None
    size: int
    stride: int
    dilation: int
    before: int
    after: int

    @property
    def reach(self) -> int:
        """Steps from the first element of a window to past its last."""
        return self.dilation * (self.size - 1) + 1

    def windows(self, *, ceil: bool) -> int | None:
        """Return how many there are; with `ceil` the last may overhang but not start in padding."""
        if self.dim is None:
            return None
        room = self.dim + self.before + self.after - self.reach
        count = (-(-room // self.stride) if ceil else room // self.stride) + 1
        return count - int(ceil and self.drops_one)

    @property
    def drops_one(self) -> bool:
        """True if rounding up gives a window that starts in the padding at the end."""
        if self.dim is None:
            return False
        last = -(-(self.dim + self.before + self.after - self.reach) // self.stride)
        return last * self.stride >= self.dim + self.before

    def counts(self, *, ceil: bool, exclusive: bool) -> NDArray[np.int64]:
        """Return how many elements under each window count: those of x, else padding as well."""
        dim, windows = self.dim or 0, self.windows(ceil=ceil) or 0
        low, high = (0, dim) if exclusive else (-self.before, dim + self.after)
        first = np.arange(windows) * self.stride - self.before
        places = first[:, None] + np.arange(self.size) * self.dilation
        counts: NDArray[np.int64] = ((places >= low) & (places < high)).sum(axis=1)
        return counts

    def overhang(self, *, ceil: bool) -> int:
        """Return the elements to add at the end for a pool that neither pads nor overhangs."""
        windows = self.windows(ceil=ceil)
        if windows is None:
            return self.after
        covered = (windows - 1) * self.stride + self.reach
        return max(0, covered - (self.dim or 0) - self.before)


def _axes(node: CompiledNode) -> tuple[_Axis, _Axis]:
    """Return the windows, after padding_mode and global_pooling.

    Raises:
        NoFormError: they depend on dims that only the run knows.
    """
    dims = [node.type(0).dims[at] for at in _SPATIAL]
    mode = node.text("padding_mode")
    sizes, strides = (node.integers(name)[2:] for name in ("ksize", "strides"))
    dilations = node.integers("dilations")[2:] if "dilations" in node.attributes else (1, 1)
    pads = node.integers("pads") if mode == "CALCULATED" else (0, 0, 0, 0)
    found = []
    for at, dim in enumerate(dims):
        axis = _Axis(dim, sizes[at], strides[at], dilations[at], *pads[2 * at : 2 * at + 2])
        if mode == "SAME":
            if dim is None:
                raise NoFormError("padding_mode SAME of open dims")
            covered = (-(-dim // axis.stride) - 1) * axis.stride + axis.reach
            missing = max(0, covered - dim)
            before = missing // 2
            axis = _Axis(dim, *_shape_of(axis), before, missing - before)
        found.append(axis)
    return found[0], found[1]


def _shape_of(axis: _Axis) -> tuple[int, int, int]:
    """Return size, stride and dilation."""
    return axis.size, axis.stride, axis.dilation


@dataclass(frozen=True, slots=True)
class _Pool:
    """A pool that is to be written.

    Attributes:
        body: where to.
        axes: its windows.
        ceil: windows may overhang the padding at the end.
    """

    body: Body
    axes: tuple[_Axis, _Axis]
    ceil: bool

    @classmethod
    def of(cls, body: Body) -> _Pool:
        """Return the pool of a node."""
        return cls(body, _axes(body.node), body.node.flag("ceil_mode"))

    @property
    def overhangs(self) -> bool:
        """True if `ceil` adds windows, or may do so where dims are not known."""
        return self.ceil and any(
            axis.dim is None or axis.windows(ceil=True) != axis.windows(ceil=False)
            for axis in self.axes
        )

    @property
    def is_plain(self) -> bool:
        """True if ONNX's operators have such windows.

        They want elements under each window, and the types that `onnx` infers have windows that
        start in the padding.
        """
        dropping = self.overhangs and any(axis.drops_one for axis in self.axes)
        if dropping or 0 in self.body.node.type(0).dims:
            return False
        padded = all(max(axis.before, axis.after) < axis.size for axis in self.axes)
        dilated = any(axis.dilation > 1 and axis.before + axis.after for axis in self.axes)
        return padded and not dilated

    def add(self, op_type: str, value: str, **attributes: int) -> str:
        """Write one of ONNX's pools."""
        high, wide = self.axes
        return self.body.add(
            op_type,
            value,
            kernel_shape=[high.size, wide.size],
            strides=[high.stride, wide.stride],
            dilations=[high.dilation, wide.dilation] if high.dilation * wide.dilation > 1 else None,
            pads=[high.before, wide.before, high.after, wide.after],
            ceil_mode=int(self.overhangs),
            **attributes,
        )

    def padded(self, value: str, fill: float) -> tuple[_Pool, str]:
        """Return a pool without padding that sees the same, and the data with the padding written.

        Raises:
            NoFormError: the overhang depends on dims that only the run knows.
        """
        if self.ceil and any(axis.dim is None for axis in self.axes):
            raise NoFormError("ceil_mode of open dims with such pads")
        ends = [axis.overhang(ceil=self.ceil) for axis in self.axes]
        pads = [(axis.before, end) for axis, end in zip(self.axes, ends, strict=True)]
        axes = [
            _Axis(None if axis.dim is None else axis.dim + sum(pad), *_shape_of(axis), 0, 0)
            for axis, pad in zip(self.axes, pads, strict=True)
        ]
        before, after = zip(*pads, strict=True)
        pool = _Pool(self.body, (axes[0], axes[1]), ceil=False)
        if not any(before + after):
            return pool, value
        amounts = self.body.ints(0, 0, *before, 0, 0, *after)
        return pool, self.body.add("Pad", value, amounts, number(self.body, fill))

    def combined(self, op_type: str, value: str) -> str:
        """Combine the elements under windows without padding by an operator of two operands."""
        for at, axis in zip(_SPATIAL, self.axes, strict=True):
            parts = [self._part(value, at, axis, index) for index in range(axis.size)]
            value = parts[0]
            for part in parts[1:]:
                value = self.body.add(op_type, value, part)
        return value

    def _part(self, value: str, at: int, axis: _Axis, index: int) -> str:
        """Return element `index` of every window along an axis."""
        left = (axis.size - 1 - index) * axis.dilation
        start, stop = index * axis.dilation, -left if left else _END
        return self.body.add(
            "Slice",
            value,
            *(self.body.ints(number) for number in (start, stop, at, axis.stride)),
        )


def _is_empty(body: Body) -> bool:
    """Return True if x is known to have no elements, which onnxruntime's pools refuse."""
    return 0 in body.node.type(0).dims


def _of_nothing(pool: _Pool, values: NDArray[np.float64]) -> str:
    """Return a result all of whose windows see padding alone.

    Raises:
        NoFormError: its shape depends on dims that only the run knows.
    """
    body = pool.body
    windows = [axis.windows(ceil=pool.ceil) for axis in pool.axes]
    if None in windows:
        raise NoFormError("a pool of open dims and no elements")
    sizes = body.ints(*(count for count in windows if count is not None))
    shape = body.add("Concat", body.add("Shape", body.own(), start=0, end=2), sizes, axis=0)
    return body.add("Expand", body.const(values, carrier(body.node.dtype())), shape)


@emulates("MaxPoolV3")
def max_pool(body: Body) -> str:
    """Write the largest element under the window; padding counts as -inf, NaN as the largest."""
    x = body.x()
    if body.node.flag("global_pooling"):

        def largest(part: Body, value: str) -> str:
            return reduced(part, "ReduceMax", value, _SPATIAL)

        return _nan_aware(body, x, largest)
    pool = _Pool.of(body)
    if _is_empty(body):
        return _of_nothing(pool, np.asarray(-np.inf))
    if not pool.is_plain:
        pool, x = pool.padded(x, -np.inf)

    def pooled(part: Body, value: str) -> str:
        return _Pool(part, pool.axes, pool.ceil).add("MaxPool", value)

    return _nan_aware(body, x, pooled)


def _nan_aware(body: Body, x: str, pooled: Callable[[Body, str], str]) -> str:
    """Write a pool that finds NaN, which ONNX's pools do not, where there may be one.

    The sum of all elements is NaN if there is one, or infinities of both signs.
    """
    kind = carrier(body.node.dtype())
    total = body.add("ReduceSum", x, keepdims=0)
    plain, careful = body.inner(), body.inner()
    found = pooled(plain, x)
    marks = careful.cast(careful.add("IsNaN", x), DType.FLOAT32)
    marked = careful.cast(pooled(careful, marks), DType.BOOL)
    result = careful.add("Where", marked, number(careful, np.nan), pooled(careful, x))
    return body.add(
        "If",
        body.add("IsNaN", total),
        then_branch=careful.as_graph([], [(result, kind, None)]),
        else_branch=plain.as_graph([], [(found, kind, None)]),
    )


@emulates("AvgPoolV2")
def avg_pool(body: Body) -> str:
    """Write the sum under the window, divided by how many elements count, or `divisor_override`."""
    node, x = body.node, body.x()
    override, exclusive = node.integer("divisor_override"), node.flag("exclusive")
    if node.flag("global_pooling"):
        return _global_average(body, x, override)
    pool = _Pool.of(body)
    wide = carrier(body.node.dtype()) is DType.FLOAT32
    if wide and pool.is_plain and not override:
        return pool.add("AveragePool", x, count_include_pad=int(not exclusive))
    counts = _counts(pool, override, exclusive=exclusive)
    if _is_empty(body):
        with np.errstate(invalid="ignore"):
            return _of_nothing(pool, np.divide(0, counts))
    bare, value = pool.padded(x, 0)
    if wide:
        size = pool.axes[0].size * pool.axes[1].size
        average = bare.add("AveragePool", value, count_include_pad=1)
        total = body.add("Mul", average, body.const(size))
        return body.add("Div", total, body.const(counts))
    return body.add(
        "Div", bare.combined("Add", value), body.const(counts, carrier(body.node.dtype()))
    )


def _global_average(body: Body, x: str, override: int) -> str:
    """Write the mean of each map, or the sum of it by `override`."""
    if not override:
        return reduced(body, "ReduceMean", x, _SPATIAL)
    return body.add("Div", reduced(body, "ReduceSum", x, _SPATIAL), number(body, override))


def _counts(pool: _Pool, override: int, *, exclusive: bool) -> NDArray[np.float64]:
    """Return the divisor of each output, broadcast against [oh, ow].

    Raises:
        NoFormError: they depend on dims that only the run knows.
    """
    if override:
        return np.asarray(override, np.float64)
    unpadded = not any(axis.before + axis.after for axis in pool.axes) and not pool.ceil
    if unpadded:
        return np.asarray(pool.axes[0].size * pool.axes[1].size, np.float64)
    if any(axis.dim is None for axis in pool.axes):
        raise NoFormError("an average over such pads of open dims")
    rows, columns = (axis.counts(ceil=pool.ceil, exclusive=exclusive) for axis in pool.axes)
    return np.outer(rows, columns).astype(np.float64)

"""Windows that slide over NCHW data, and pools over them as ONNX."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from atc_py.device.ort.body import Body
from atc_py.device.ort.node import CompiledNode, NoFormError
from atc_py.device.ort.numbers import number
from atc_py.text import Text

SPATIAL = (2, 3)
"""The axes that windows slide along."""

_END = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class SlidingAxis:
    """A window along one axis."""

    dim: int | None  # elements along the axis; None where only the run knows
    size: int  # elements under the window
    stride: int  # steps between windows
    dilation: int  # steps between elements of a window
    before: int  # padding in front
    after: int  # padding at the end

    @property
    def reach(self) -> int:
        return self.dilation * (self.size - 1) + 1

    def windows(self, *, ceil: bool) -> int | None:
        """Number of windows; with `ceil` the last may overhang but not start in padding."""
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
        """Number of elements under each window that count: those of x, else padding as well."""
        dim, windows = self.dim or 0, self.windows(ceil=ceil) or 0
        low, high = (0, dim) if exclusive else (-self.before, dim + self.after)
        first = np.arange(windows) * self.stride - self.before
        places = first[:, None] + np.arange(self.size) * self.dilation
        counts: NDArray[np.int64] = ((places >= low) & (places < high)).sum(axis=1)
        return counts

    def overhang(self, *, ceil: bool) -> int:
        """The elements to add at the end for a pool that neither pads nor overhangs."""
        windows = self.windows(ceil=ceil)
        if windows is None:
            return self.after
        covered = (windows - 1) * self.stride + self.reach
        return max(0, covered - (self.dim or 0) - self.before)


def _axes(node: CompiledNode) -> tuple[SlidingAxis, SlidingAxis]:
    """The windows, after padding_mode and global_pooling."""
    dims = [node.required(0).dims[at] for at in SPATIAL]
    mode = node.text("padding_mode")
    sizes, strides = (node.integers(name)[2:] for name in ("ksize", "strides"))
    dilations = node.integers("dilations")[2:] if "dilations" in node.attributes else (1, 1)
    pads = node.integers("pads") if mode == "CALCULATED" else (0, 0, 0, 0)
    found = []
    for at, dim in enumerate(dims):
        axis = SlidingAxis(dim, sizes[at], strides[at], dilations[at], *pads[2 * at : 2 * at + 2])
        if mode == "SAME":
            if dim is None:
                raise NoFormError(Text("padding_mode SAME with open dims"))
            covered = (-(-dim // axis.stride) - 1) * axis.stride + axis.reach
            missing = max(0, covered - dim)
            before = missing // 2
            axis = SlidingAxis(dim, *_shape_of(axis), before, missing - before)
        found.append(axis)
    return found[0], found[1]


def _shape_of(axis: SlidingAxis) -> tuple[int, int, int]:
    return axis.size, axis.stride, axis.dilation


@dataclass(frozen=True, slots=True)
class SlidingPool:
    """A pool that is to be written."""

    body: Body
    axes: tuple[SlidingAxis, SlidingAxis]
    ceil: bool  # windows may overhang the padding at the end

    @classmethod
    def of(cls, body: Body) -> SlidingPool:
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
        if dropping or 0 in self.body.node.required(0).dims:
            return False
        padded = all(max(axis.before, axis.after) < axis.size for axis in self.axes)
        dilated = any(axis.dilation > 1 and axis.before + axis.after for axis in self.axes)
        return padded and not dilated

    def add(self, op_type: str, value: str, **attributes: int) -> str:
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

    def padded(self, value: str, fill: float) -> tuple[SlidingPool, str]:
        """A pool without padding that sees the same, and the data with the padding written."""
        if self.ceil and any(axis.dim is None for axis in self.axes):
            raise NoFormError(Text("ceil_mode with open dims and such pads"))
        ends = [axis.overhang(ceil=self.ceil) for axis in self.axes]
        pads = [(axis.before, end) for axis, end in zip(self.axes, ends, strict=True)]
        axes = [
            SlidingAxis(None if axis.dim is None else axis.dim + sum(pad), *_shape_of(axis), 0, 0)
            for axis, pad in zip(self.axes, pads, strict=True)
        ]
        before, after = zip(*pads, strict=True)
        pool = SlidingPool(self.body, (axes[0], axes[1]), ceil=False)
        if not any(before + after):
            return pool, value
        amounts = self.body.ints(0, 0, *before, 0, 0, *after)
        return pool, self.body.add("Pad", value, amounts, number(self.body, fill))

    def combined(self, op_type: str, value: str) -> str:
        """Combine the elements under windows without padding by an operator of two operands."""
        for at, axis in zip(SPATIAL, self.axes, strict=True):
            parts = [self._part(value, at, axis, index) for index in range(axis.size)]
            value = parts[0]
            for part in parts[1:]:
                value = self.body.add(op_type, value, part)
        return value

    def _part(self, value: str, at: int, axis: SlidingAxis, index: int) -> str:
        """Element `index` of every window along an axis."""
        left = (axis.size - 1 - index) * axis.dilation
        start, stop = index * axis.dilation, -left if left else _END
        return self.body.add(
            "Slice",
            value,
            *(self.body.ints(number) for number in (start, stop, at, axis.stride)),
        )

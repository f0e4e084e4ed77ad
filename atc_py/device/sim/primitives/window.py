"""Sliding windows over the last two axes: geometry, padding and views."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Launch, Workspace, sequence
from atc_py.package.node_view import NodeError, NodeView
from atc_py.text import Text

_SHORT = 48
"""Rows of at most so many elements take much longer per element to copy than long ones."""


class Tap(msgspec.Struct, frozen=True):
    """One element of every window along an axis: window w reads element w + skipped of a phase."""

    phase: int  # elements phase, phase + stride, phase + 2 stride ... of the axis, unpadded
    skipped: int  # may be less than 0, where the first windows read padding
    windows: slice  # those that do not read padding
    stride: int  # steps between windows

    @property
    def elements(self) -> slice:
        return slice(self.windows.start + self.skipped, self.windows.stop + self.skipped)

    @property
    def places(self) -> slice:
        if self.windows.start == self.windows.stop:
            return slice(0, 0)
        first, last = self.elements.start, self.elements.stop - 1
        step = self.stride
        return slice(first * step + self.phase, last * step + self.phase + 1, step)


class Axis(msgspec.Struct, frozen=True):
    """A window along one axis."""

    size: int  # elements under the window
    stride: int  # steps between windows
    dilation: int  # steps between elements of a window
    before: int  # padding in front
    after: int  # padding at the end

    def __post_init__(self) -> None:
        if min(self.size, self.stride, self.dilation) < 1 or min(self.before, self.after) < 0:
            text = Text(
                "window, stride and dilation must be at least 1 and padding at least 0, "
                "found {sizes} and {pads}"
            )
            sizes = f"{self.size}, {self.stride}, {self.dilation}"
            raise NodeError(text.with_values(sizes=sizes, pads=f"{self.before}, {self.after}"))

    @property
    def reach(self) -> int:
        return self.dilation * (self.size - 1) + 1

    def outputs(self, dim: int, *, ceil: bool = False) -> int:
        """Count windows over `dim` elements.

        With `ceil` a last window may overhang the padding at the end, unless it would start there:
        ONNX's rule for pooling. A window larger than all there is may be that one.
        """
        room = dim + self.before + self.after - self.reach
        count = (-(-room // self.stride) if ceil else room // self.stride) + 1
        if ceil and (count - 1) * self.stride >= dim + self.before:
            count -= 1
        if count < 1:
            text = Text("a window of {reach} does not fit in {room}")
            raise NodeError(text.with_values(reach=self.reach, room=room + self.reach))
        return count

    def covered(self, outputs: int) -> int:
        return (outputs - 1) * self.stride + self.reach

    def taps(self, dim: int, outputs: int) -> list[Tap]:
        found = []
        for index in range(self.size):
            skipped, phase = divmod(index * self.dilation - self.before, self.stride)
            there = -(-(dim - phase) // self.stride)
            start = min(max(0, -skipped), outputs)
            stop = max(start, min(outputs, there - skipped))
            found.append(Tap(phase, skipped, slice(start, stop), self.stride))
        return found


class Window(msgspec.Struct, frozen=True):
    """A window over height and width."""

    height: Axis
    width: Axis

    def outputs(self, dims: tuple[int, int], *, ceil: bool = False) -> tuple[int, int]:
        height, width = dims
        return self.height.outputs(height, ceil=ceil), self.width.outputs(width, ceil=ceil)


def window_of(node: NodeView, size: tuple[int, int]) -> Window:
    """The window of a node whose attributes strides, dilations and pads are CANN's.

    Strides and dilations are in NCHW order, pads are [top, bottom, left, right].
    """
    strides = spatial(node, "strides")
    dilations = spatial(node, "dilations")
    top, bottom, left, right = node.integers("pads", 4)
    return Window(
        Axis(size[0], strides[0], dilations[0], top, bottom),
        Axis(size[1], strides[1], dilations[1], left, right),
    )


def spatial(node: NodeView, name: str) -> tuple[int, int]:
    batch, channels, height, width = node.integers(name, 4)
    if (batch, channels) != (1, 1):
        text = Text("{name} must start with 1, 1 (NCHW), found {found}")
        raise NodeError(text.with_values(name=name, found=[batch, channels]))
    return height, width


def padding(
    x: NDArray[Any], window: Window, outputs: tuple[int, int], fill: float, workspace: Workspace
) -> tuple[NDArray[Any], Launch]:
    """`x` with its last two axes padded and cut to the windows, and what fills it.

    It is `x` itself if that fits.

    `x` has any rank from 2, `outputs` are windows over each axis; `workspace` holds the copy as
    "padded".
    """
    dims = (window.height.covered(outputs[0]), window.width.covered(outputs[1]))
    top, left = window.height.before, window.width.before
    if not (top or left) and dims[0] <= x.shape[-2] and dims[1] <= x.shape[-1]:
        return x, sequence([])
    rows = max(0, min(x.shape[-2], dims[0] - top))
    columns = max(0, min(x.shape[-1], dims[1] - left))
    result = workspace.take("padded", (*x.shape[:-2], *dims), x.dtype)
    inside = result[..., top : top + rows, :]
    borders = (
        result[..., :top, :],
        result[..., top + rows :, :],
        inside[..., :left],
        inside[..., left + columns :],
    )
    launches = [partial(np.copyto, border, fill) for border in borders if border.size]
    launches.append(partial(np.copyto, inside[..., left : left + columns], x[..., :rows, :columns]))
    return result, sequence(launches)


def along(array: NDArray[Any], axis: int, where: slice) -> NDArray[Any]:
    view: NDArray[Any] = array[(slice(None),) * axis + (where,)]
    return view


def folding(
    combine: np.ufunc,
    parts: Iterable[tuple[slice, NDArray[Any]]],
    axis: int,
    out: NDArray[Any],
    empty: float,
) -> Iterator[Launch]:
    """Yield launches that combine parts of a result without a pass over the whole of it.

    `combine` is commutative and associative, up to rounding. `parts` say where along `axis` of
    `out`, which is overwritten, each belongs; `empty` is what no part covers.
    """
    dim = out.shape[axis]
    rest = [(there, part) for there, part in parts if there.stop > there.start]
    first = next((at for at, (there, _) in enumerate(rest) if there == slice(0, dim)), None)
    whole = None if first is None else rest.pop(first)[1]
    if whole is None:
        yield partial(np.copyto, out, empty)
    elif not rest:
        yield partial(np.copyto, out, whole)
    for there, part in rest:
        target = along(out, axis, there)
        if whole is None:
            yield partial(combine, target, part, out=target)
            continue
        yield partial(combine, along(whole, axis, there), part, out=target)
        for other in (slice(0, there.start), slice(there.stop, dim)):
            if other.stop > other.start:
                yield partial(np.copyto, along(out, axis, other), along(whole, axis, other))
        whole = None


def taps_of(x: NDArray[Any], window: Window, outputs: tuple[int, int]) -> NDArray[Any]:
    """A view [..., kh, kw, oh, ow] of a padded array [..., h, w]; no element is copied."""
    row, column = x.strides[-2:]
    height, width = window.height, window.width
    return as_strided(
        x,
        (*x.shape[:-2], height.size, width.size, *outputs),
        (
            *x.strides[:-2],
            row * height.dilation,
            column * width.dilation,
            row * height.stride,
            column * width.stride,
        ),
        writeable=False,
    )


def unrolling(
    taps: NDArray[Any], window: Window, columns: NDArray[Any], workspace: Workspace
) -> list[Launch]:
    """Launches that copy `taps`, as `taps_of` has them, to `columns`.

    Short or strided rows are first gathered for each column of the window; its rows are then copied
    from there in long pieces.
    """
    *lead, height, width, rows, count = taps.shape
    down = window.height
    covered = down.covered(rows)
    if 2 * covered > height * rows or (count > _SHORT and window.width.stride == 1):
        return [partial(np.copyto, columns, taps)]
    moved = workspace.take("moved", (*lead, width, covered, count), columns.dtype)
    *outer, _, across, by_rows, element = taps.strides
    source = as_strided(
        taps, moved.shape, (*outer, across, by_rows // down.stride, element), writeable=False
    )
    *outer, across, line, element = moved.strides
    steps = (*outer, line * down.dilation, across, line * down.stride, element)
    again = as_strided(moved, taps.shape, steps, writeable=False)
    return [partial(np.copyto, moved, source), partial(np.copyto, columns, again)]

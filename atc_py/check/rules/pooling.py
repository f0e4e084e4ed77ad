"""Predicates on the windows of pools that only deviations of CANN ask."""

from collections.abc import Callable
from math import prod
from typing import NamedTuple

from atc_py.check.bound_node import BoundNode
from atc_py.check.predicate import deviation
from atc_py.check.reading import (
    HOLDS,
    Answer,
    SettledError,
    attribute,
    fails,
    integers,
    operand,
    shown,
    unknown,
)
from atc_py.spec import deviations
from atc_py.tensor.shapes import window_count
from atc_py.text import COMMA, Text, verbatim

_OUTER = 2
"""Axes before those that a window moves along: batch and channels."""

_IMAGE_AXES = 2
_MOST_ELEMENTS = 255
_MOST_STRIDE = 63
"""Limits of a window for AvgPoolV2 and MaxPoolV3; the parser makes others AvgPool and MaxPool."""

_SAME = frozenset({"SAME_UPPER", "SAME_LOWER"})
_EXPLICIT = Text("write the padding with Pad or as pads")


class _Axis(NamedTuple):
    """A window on one axis, with the pads that the node states."""

    size: int
    window: int
    stride: int
    begin: int
    end: int

    @property
    def same_padding(self) -> int:
        count = -(-self.size // self.stride)
        return max(0, (count - 1) * self.stride + self.window - self.size)

    @property
    def overhangs(self) -> bool:
        """True if ceil_mode adds a window; none begins in the padding after the axis."""
        sizes = self.size, (self.begin, self.end), self.window, self.stride
        return window_count(*sizes, ceil=True) != window_count(*sizes)

    @property
    def ends_early(self) -> bool:
        """True if as many windows as SAME has, one a stride, end before the axis."""
        return (-(-self.size // self.stride) - 1) * self.stride + self.window < self.size

    @property
    def begins_after(self) -> bool:
        """True if the last of as many windows as rounding up gives begins after the axis."""
        covered = self.size + self.begin + self.end - self.window
        last = -(-covered // self.stride) * self.stride
        return covered > 0 and last >= self.size + self.begin


class _Pool(NamedTuple):
    """The attributes of a pool, by spatial axis."""

    windows: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    auto_pad: str

    @property
    def is_volume(self) -> bool:
        """True if a window moves along three axes, which CANN has other operators for."""
        return len(self.windows) > _IMAGE_AXES

    @property
    def is_large(self) -> bool:
        """True if the parser takes the operators without limits for it."""
        if self.is_volume:
            return False
        return prod(self.windows) > _MOST_ELEMENTS or max(self.strides) > _MOST_STRIDE

    def axes(self, dims: tuple[int | None, ...]) -> list[_Axis | None]:
        spatial = len(self.windows)
        begins, ends = self.pads[:spatial], self.pads[spatial:]
        rows = zip(dims[_OUTER:], self.windows, self.strides, begins, ends, strict=True)
        return [None if size is None else _Axis(size, *rest) for size, *rest in rows]


def _pool(node: BoundNode, name: str) -> _Pool:
    """A pool; of an attribute that is not well formed other rules report it."""
    windows = integers(attribute(node, name))
    if not windows or min(windows) < 1:
        raise SettledError(HOLDS)
    count = len(windows)
    strides = _listed(node, "strides", (1,) * count)
    auto_pad = str(node.value("auto_pad"))
    explicit = auto_pad == "NOTSET"
    pads = _listed(node, "pads", (0,) * (2 * count)) if explicit else (0,) * (2 * count)
    if len(strides) != count or min(strides) < 1 or len(pads) != 2 * count:
        raise SettledError(HOLDS)
    return _Pool(windows, strides, pads, auto_pad)


def _listed(node: BoundNode, name: str, unset: tuple[int, ...]) -> tuple[int, ...]:
    numbers = integers(attribute(node, name)) if node.is_set(name) else unset
    return () if numbers is None else numbers


def _no_axis(pool: _Pool, node: BoundNode, name: str, meets: Callable[[_Axis], bool]) -> Answer:
    tensor = operand(node, name)
    dims = None if tensor is None else tensor.known_dims()
    if tensor is None or dims is None or len(dims) != len(pool.windows) + _OUTER:
        return HOLDS  # other rules report it
    axes = pool.axes(dims)
    seen = COMMA.join([tensor.described(), verbatim(shown(pool.windows))])
    if any(axis is not None and meets(axis) for axis in axes):
        return fails(seen)
    return unknown(seen) if None in axes else HOLDS


@deviation(
    demand="every window of {attribute} that ceil_mode of {op} adds must begin in {tensor} or before it",
    help_=_EXPLICIT,
)
def _windows_begin_inside(rule: deviations.WindowsBeginInside, node: BoundNode) -> Answer:
    return _begin_inside(_pool(node, rule.attribute), node, rule.tensor)


@deviation(
    demand="every window of {attribute}, of at most 255 elements, that ceil_mode of {op} adds must "
    "begin in {tensor} or before it",
    help_=_EXPLICIT,
)
def _small_windows_begin_inside(
    rule: deviations.SmallWindowsBeginInside, node: BoundNode
) -> Answer:
    pool = _pool(node, rule.attribute)
    return HOLDS if pool.is_large else _begin_inside(pool, node, rule.tensor)


def _begin_inside(pool: _Pool, node: BoundNode, name: str) -> Answer:
    """True if no window that ceil_mode adds begins after the tensor."""
    if pool.is_volume or pool.auto_pad in _SAME or node.value("ceil_mode") != 1:
        return HOLDS
    return _no_axis(pool, node, name, lambda axis: axis.begins_after)


@deviation(
    demand="windows {attribute} of {op} with padding SAME must reach the end of {tensor}",
    help_=_EXPLICIT,
)
def _same_windows_reach_end(rule: deviations.SameWindowsReachEnd, node: BoundNode) -> Answer:
    pool = _pool(node, rule.attribute)
    if pool.auto_pad not in _SAME or pool.is_volume or (rule.small and pool.is_large):
        return HOLDS
    return _no_axis(pool, node, rule.tensor, lambda axis: axis.ends_early)


@deviation(
    demand="windows {attribute} of {op} must cover all of {tensor} without padding", help_=_EXPLICIT
)
def _same_padding_none(rule: deviations.SamePaddingNone, node: BoundNode) -> Answer:
    pool = _pool(node, rule.attribute)
    if pool.auto_pad not in _SAME:
        return HOLDS
    return _no_axis(pool, node, rule.tensor, lambda axis: axis.same_padding > 0)


@deviation(
    demand="{op} whose {attribute} has more than 255 elements, or whose strides exceed 63, must have no pads",
    help_=_EXPLICIT,
)
def _large_window_unpadded(rule: deviations.LargeWindowUnpadded, node: BoundNode) -> Answer:
    pool = _pool(node, rule.attribute)
    if not pool.is_large or not any(pool.pads):
        return HOLDS
    return fails(f"{shown(pool.windows)}, pads {shown(pool.pads)}")


@deviation(
    demand="{op} whose {attribute} has more than 255 elements, or whose strides exceed 63, must need "
    "neither padding of auto_pad nor a window of ceil_mode on {tensor}",
    help_=_EXPLICIT,
)
def _large_window_valid(rule: deviations.LargeWindowValid, node: BoundNode) -> Answer:
    pool = _pool(node, rule.attribute)
    if not pool.is_large:
        return HOLDS
    if pool.auto_pad in _SAME:
        return _no_axis(pool, node, rule.tensor, lambda axis: axis.same_padding > 0)
    if node.value("ceil_mode") != 1:
        return HOLDS
    return _no_axis(pool, node, rule.tensor, lambda axis: axis.overhangs)

"""Boxes: elements that are copied between strided places, or filled in.

Every data movement whose places follow from shapes and attributes is a few boxes: element
(i, j, ...) of a box comes from `source_start + i * source[0] + j * source[1] + ...` and goes to
`target_start + i * target[0] + ...`, all counted in elements.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

import msgspec

from atc_py.system.structs import replace
from atc_py.tensor.shapes import Shape


class Box(msgspec.Struct, frozen=True):
    """Elements to copy or to fill in."""

    shape: Shape  # lengths of its axes, the outermost first
    # elements between neighbors along each axis where they come from; 0 repeats, negative ones run
    # backwards
    source: tuple[int, ...]
    target: tuple[int, ...]  # the same where they go; never 0 or negative
    source_start: int = 0  # place of the first element
    target_start: int = 0  # where it goes
    filled: bool = False  # whether a constant takes the place of the source

    @property
    def elements(self) -> int:
        return prod(self.shape)

    def merged(self) -> Box:
        """The same elements along as few axes as possible; the last is dense in the target.

        Axes of one element go; neighbors along which both sides run on become one axis.
        """
        axes: list[tuple[int, int, int]] = []
        for length, source, target in zip(self.shape, self.source, self.target, strict=True):
            if length == 1:
                continue
            if axes and axes[-1][1:] == (source * length, target * length):
                axes[-1] = axes[-1][0] * length, source, target
            else:
                axes.append((length, source, target))
        if not axes or axes[-1][2] != 1:
            axes.append((1, 1, 1))
        shape, sources, targets = zip(*axes, strict=True)
        return replace(self, shape=shape, source=sources, target=targets)


def dense(shape: Shape) -> tuple[int, ...]:
    """Elements between neighbors along each axis of a tensor."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def view(dims: Iterable[int], source: Iterable[int], start: int = 0) -> Box:
    shape = tuple(dims)
    return Box(shape, tuple(source), dense(shape), start)

"""Borders: a constant, the edge repeated, or the inside mirrored."""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from atc_py.kernels.box_tiling import BoxFamily
from atc_py.kernels.boxes import Box, dense
from atc_py.kernels.cpp import repeated_word
from atc_py.kernels.family import KernelFacts, Launch
from atc_py.target.stored_nodes import numbers_of


def _borders(kernel: KernelFacts) -> list[tuple[int, int]]:
    """(before, after) of each axis; negative ones cut."""
    numbers = numbers_of(kernel.attributes["paddings"])
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _pad(launch: Launch) -> Iterable[Box]:
    if launch.kernel.attributes["mode"] == "constant":
        return _pad_constant(launch)
    return _pad_repeated(launch)


def _pad_constant(launch: Launch) -> Iterable[Box]:
    """Yield the inside, and two slabs of constants for every axis that has borders.

    The slabs of an axis run over the inside of the axes before it and the whole of those after it.
    """
    source, target, pairs = launch.inputs[0], launch.outputs[0], _borders(launch.kernel)
    steps, places = dense(source), dense(target)
    inside = tuple(
        max(0, length + min(0, before) + min(0, after))
        for length, (before, after) in zip(source, pairs, strict=True)
    )
    cut = sum(max(0, -before) * step for (before, _), step in zip(pairs, steps, strict=True))
    skipped = [max(0, before) * place for (before, _), place in zip(pairs, places, strict=True)]
    yield Box(inside, steps, places, cut, sum(skipped))
    for axis, (before, after) in enumerate(pairs):
        outside = sum(skipped[:axis])
        for width, first in ((before, 0), (after, target[axis] - after)):
            if width > 0:
                lengths = (*inside[:axis], width, *target[axis + 1 :])
                start = outside + first * places[axis]
                yield Box(lengths, (0,) * len(target), places, 0, start, filled=True)


def _pad_repeated(launch: Launch) -> Iterable[Box]:
    """Yield each combination of border and inside per axis, with edge or mirrored values."""
    source, target = launch.inputs[0], launch.outputs[0]
    edge = launch.kernel.attributes["mode"] == "edge"
    axes = [
        _axis_runs(length, pair, edge=edge)
        for length, pair in zip(source, _borders(launch.kernel), strict=True)
    ]
    steps, places = dense(source), dense(target)
    for combination in product(*axes):
        counts, firsts, by, goes = zip(*combination, strict=True) if combination else [()] * 4
        yield Box(
            counts,
            tuple(way * step for way, step in zip(by, steps, strict=True)),
            places,
            sum(first * step for first, step in zip(firsts, steps, strict=True)),
            sum(to * place for to, place in zip(goes, places, strict=True)),
        )


def _axis_runs(
    length: int, pair: tuple[int, int], *, edge: bool
) -> list[tuple[int, int, int, int]]:
    """(elements, source start, source step, target start) of an axis' stretches."""
    before, after = pair
    front, cut = max(0, before), max(0, -before)
    kept = max(0, length - cut - max(0, -after))
    found = [(kept, cut, 1, front)]
    if before > 0:
        found.append((before, 0, 0, 0) if edge else (before, before, -1, 0))
    if after > 0:
        last = length - 1
        found.append(
            (after, last, 0, front + kept) if edge else (after, last - 1, -1, front + kept)
        )
    return found


class _Padding(BoxFamily):
    """Borders around a tensor."""

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        """True if elements may need reordering, and what borders are filled with.

        A whole tensor between constants keeps its order.
        """
        if kernel.attributes["mode"] != "constant":
            return {"gathers": True, "fill": None}
        borders = [border for pair in _borders(kernel) for border in pair]
        value, dtype = kernel.attributes["constant_values"], kernel.outputs[0].dtype
        fill = repeated_word(value, dtype) if max(borders, default=0) > 0 else None
        return {"gathers": min(borders, default=0) < 0, "fill": fill}


FAMILIES = (_Padding("pad", {"PadV3D": _pad}),)

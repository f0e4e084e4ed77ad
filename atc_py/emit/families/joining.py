"""Tensors joined along an axis, and cut apart there."""

from __future__ import annotations

from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Any

from atc_py.emit.box_family import box_family, number
from atc_py.emit.boxes import Box

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from atc_py.emit.plan import KernelFacts, Launch
    from atc_py.shapes import Shape

__all__ = ["FAMILIES"]


def _joined(whole: Shape, parts: Iterable[Shape], axis: int) -> Iterable[tuple[Shape, int]]:
    """(outer, elements of a part's run), and where each part starts in a run of the whole."""
    axis %= len(whole)
    runs = [prod(part[axis:]) for part in parts]
    starts = accumulate(runs, initial=0)
    return [((prod(whole[:axis]), run), start) for run, start in zip(runs, starts, strict=False)]


def _concat(launch: Launch) -> Iterable[Box]:
    """A box for each tensor that is joined."""
    whole, axis = launch.outputs[0], number(launch.kernel.attributes["concat_dim"])
    by_run = prod(whole[axis % len(whole) :])
    return [
        Box(extents, (extents[1], 1), (by_run, 1), target_start=start)
        for extents, start in _joined(whole, launch.inputs, axis)
    ]


def _split(launch: Launch) -> Iterable[Box]:
    """A box for each part."""
    whole, axis = launch.inputs[0], number(launch.kernel.attributes["split_dim"])
    by_run = prod(whole[axis % len(whole) :])
    return [
        Box(extents, (by_run, 1), (extents[1], 1), source_start=start)
        for extents, start in _joined(whole, launch.outputs, axis)
    ]


def _context(kernel: KernelFacts) -> Mapping[str, Any]:
    """Whole tensors keep their order; a part of one may be single elements of each run."""
    return {"gathers": kernel.op != "ConcatD", "fill": None}


FAMILIES = (
    box_family("join", {"ConcatD": _concat, "SplitD": _split, "SplitVD": _split}, _context),
)

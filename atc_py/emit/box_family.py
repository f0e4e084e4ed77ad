"""Families whose kernels move boxes: what they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from atc_py.emit.box_tiling import box_buffers, box_tiling
from atc_py.emit.boxes import Box
from atc_py.emit.family import Family
from atc_py.emit.plan import KernelFacts, Launch, Plan

if TYPE_CHECKING:
    from atc_py.ir import AttrValue

__all__ = ["MakeBoxes", "box_family", "number", "numbers_of"]

MakeBoxes: TypeAlias = Callable[[Launch], Iterable[Box]]


def numbers_of(value: AttrValue | None) -> tuple[int, ...]:
    """An attribute that is a list of integers."""
    return tuple(int(item) for item in value) if isinstance(value, tuple) else ()


def number(value: AttrValue | None) -> int:
    """An attribute that is an integer."""
    return value if isinstance(value, int) else 0


def _in_order(_kernel: KernelFacts) -> Mapping[str, Any]:
    """The context of kernels that may have to put elements in order, and fill nothing in."""
    return {"gathers": True, "fill": None}


def box_family(
    name: str,
    boxes: Mapping[str, MakeBoxes],
    context: Callable[[KernelFacts], Mapping[str, Any]] = _in_order,
) -> Family:
    """A family whose kernels template `move.cpp.j2` writes.

    Args:
        name: of the family.
        boxes: by operator, what its nodes move; as many boxes for every set of shapes. Where
            there are several inputs or outputs, box n is that of the n-th.
        context: `gathers`, whether elements may have to be put in another order, and `fill`, the
            constant of boxes without a source.
    """
    return Family(name, "move", frozenset(boxes), partial(_plan, boxes=boxes), context=context)


def _plan(launch: Launch, boxes: Mapping[str, MakeBoxes]) -> Plan:
    """Boxes, cut into tiles; what is filled in is not read."""
    itemsize = launch.kernel.outputs[0].dtype.itemsize
    merged = [box.merged() for box in boxes[launch.kernel.op](launch)]
    tiling = box_tiling(merged, itemsize, launch.soc)
    read = sum(box.elements for box in merged if not box.filled) * itemsize
    written = sum(box.elements for box in merged) * itemsize
    return Plan(tiling, tiling.core_num, box_buffers(tiling, itemsize), (read, written))

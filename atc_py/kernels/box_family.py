"""The kind of families whose kernels move boxes."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from atc_py.ir import AttrValue
from atc_py.kernels.box_tiling import box_buffers, box_tiling
from atc_py.kernels.boxes import Box
from atc_py.kernels.family import Family
from atc_py.kernels.plan import KernelFacts, Launch, Plan

MakeBoxes: TypeAlias = Callable[[Launch], Iterable[Box]]


def number(value: AttrValue | None) -> int:
    """An attribute that is an integer."""
    return value if isinstance(value, int) else 0


class BoxFamily(Family):
    """A family whose kernels move boxes; template `move.cpp.j2` writes them.

    The boxes of its nodes are given by operator, equally many for every set of shapes. Where there are
    several inputs or outputs, box n is that of the n-th.
    """

    template = "move"

    def __init__(self, name: str, boxes: Mapping[str, MakeBoxes]) -> None:
        self.name = name
        self.operators = frozenset(boxes)
        self._boxes = boxes

    def plan(self, launch: Launch) -> Plan:
        """Cut boxes into tiles; filled boxes read nothing."""
        itemsize = launch.kernel.outputs[0].dtype.itemsize
        merged = [box.merged() for box in self._boxes[launch.kernel.op](launch)]
        tiling = box_tiling(merged, itemsize, launch.soc)
        read = sum(box.elements for box in merged if not box.filled) * itemsize
        written = sum(box.elements for box in merged) * itemsize
        return Plan(tiling, tiling.core_num, box_buffers(tiling, itemsize), (read, written))

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        """`gathers`, True if elements may need reordering, and `fill`.

        `fill` is the constant of boxes without a source.
        """
        return {"gathers": True, "fill": None}

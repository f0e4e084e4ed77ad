"""Resize by the nearest element or between elements: rows and columns of x, as often as needed."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import msgspec

from atc_py.kernels.boxes import dense
from atc_py.kernels.family import Buffer, Family, KernelFacts, Launch, Plan
from atc_py.kernels.tiling import BLOCK, DEPTH, Tiling, narrow, numbers, vector_cores, wide
from atc_py.system.structs import replace
from atc_py.target import Soc
from atc_py.tensor.dtypes import Format
from atc_py.tensor.resampling import RESIZES_TO_SIZE, resize_modes
from atc_py.tensor.shapes import Shape
from atc_py.tensor.storage import Storage, c0_of

_OFFSET = 4
"""Bytes of an offset of a gather."""

_FLOAT = 4
_COLUMNS = ("left", "right", "leftWeight", "rightWeight", "leftOffset", "rightOffset")
"""Tensors of 32 bits with an element for each column, where columns are computed."""

_MOST_ROWS = 64
"""Rows of a tile: each is a copy of its own, so more of them gain little."""

_CROP = "tf_crop_and_resize"

_IMAGE_AXES = 2
"""Axes before rows and columns, which `size` has no number of."""


class ResizeTiling(Tiling):
    """Rows along the last axis of the result, cut into tiles of rows and columns."""

    core_num: int = narrow("cores that have work; core c takes blocks of rows c, c + core_num ...")
    rows: int = wide("rows of the result")
    width: int = wide("elements of a row of the result")
    source_width: int = wide("elements of a row of x")
    tile_rows: int = narrow("rows of a tile")
    tile_columns: int = narrow("columns of a tile")
    load_pitch: int = narrow("elements from row to row of what is loaded, whole blocks")
    out_pitch: int = narrow("elements from row to row of the result in the buffer, whole blocks")
    outer: int = narrow("axes before the last")
    extents: tuple[int, ...] = numbers("extents of these axes in the result", pad=1)
    lengths: tuple[int, ...] = numbers("extents of these axes in x", pad=1)
    steps: tuple[int, ...] = numbers("elements between neighbors along them in x", pad=0)


class _Tile(msgspec.Struct, frozen=True):
    """Rows and columns of a tile, of a result `width` wide made of rows of `source`."""

    rows: int
    columns: int
    width: int
    source: int
    itemsize: int
    lanes: int = 1

    @property
    def reach(self) -> int:
        """Columns of x that correspond to those of a tile, rounded to either side.

        Neighbors are source / width apart, (source - 1) / (width - 1) where corners are aligned.
        """
        between = (self.source, max(1, self.width)), (self.source - 1, max(1, self.width - 1))
        return max(-(-(self.columns - 1) * far // by) for far, by in between) + 3

    @property
    def load_pitch(self) -> int:
        return self._whole_plan(max(1, min(self.source, self.reach)) * self.lanes)

    @property
    def out_pitch(self) -> int:
        return self._whole_plan(self.columns * self.lanes)

    def buffers(self) -> tuple[Buffer, ...]:
        row = DEPTH * self.itemsize
        return (
            Buffer("xQueue", "ub", self.rows * self.load_pitch * row),
            Buffer("yQueue", "ub", self.rows * self.out_pitch * row),
            Buffer("offsets", "ub", self.rows * self.out_pitch * _OFFSET),
        )

    def smaller(self) -> _Tile:
        rows, columns = -(-self.rows // 2), self.columns
        if self.rows == 1:
            columns = -(-self.columns // 2)
        return replace(self, rows=rows, columns=columns)

    def _whole_plan(self, count: int) -> int:
        per_block = BLOCK // self.itemsize
        return -(-count // per_block) * per_block


class _Line(_Tile, frozen=True):
    """Columns of one row of the result, which is computed from several rows of x."""

    crops: bool = False

    @property
    def load_pitch(self) -> int:
        """Room for one more of these columns, which is to the right of the last one."""
        loaded = max(1, min(self.source, self.reach + 1))
        return 0 if self.crops else self._whole_plan(loaded * self.lanes)

    def buffers(self) -> tuple[Buffer, ...]:
        loaded, result = self.load_pitch, self.out_pitch
        found = [Buffer("yQueue", "ub", DEPTH * self.itemsize * result)]
        found += [Buffer(name, "ub", _FLOAT * result) for name in _COLUMNS]
        if not self.crops:
            found.append(Buffer("xQueue", "ub", DEPTH * self.itemsize * loaded))
            found += [Buffer(name, "ub", _FLOAT * loaded) for name in ("wide", "line")]
        return tuple(found)


def _fitting(tile: _Tile, soc: Soc) -> _Tile:
    while sum(each.nbytes for each in tile.buffers()) > soc.ub_kib * 1024:
        tile = tile.smaller()
    return tile


def _tile(launch: Launch, x: Shape, y: Shape, lanes: int) -> _Tile:
    itemsize, width = launch.kernel.outputs[0].dtype.itemsize, max(1, y[-1])
    if not _takes_elements(launch.kernel):
        line = _Line(1, width, width, x[-1], itemsize, lanes, _crops(launch.kernel))
        return _fitting(line, launch.soc)
    share = max(1, min(_MOST_ROWS, -(-prod(y[:-1]) // vector_cores(launch.soc))))
    return _fitting(_Tile(share, width, width, x[-1], itemsize, lanes), launch.soc)


def _modes(kernel: KernelFacts) -> Mapping[str, Any]:
    return resize_modes(kernel.op, kernel.attributes)


def _crops(kernel: KernelFacts) -> bool:
    """True if a part of x is resized, beyond which results have a value of their own."""
    return bool(_modes(kernel)["coordinate_transformation_mode"] == _CROP)


def _takes_elements(kernel: KernelFacts) -> bool:
    """True if results are elements of x, whose places follow from ratios alone."""
    return _modes(kernel)["mode"] == "nearest" and not _crops(kernel)


def _plan_rows(launch: Launch, x: Shape, y: Shape, lanes: int) -> Plan:
    tile = _tile(launch, x, y, lanes)
    rows = prod(y[:-1])
    tiling = ResizeTiling(
        core_num=max(1, min(vector_cores(launch.soc), -(-rows // tile.rows))),
        rows=rows,
        width=y[-1],
        source_width=x[-1],
        tile_rows=tile.rows,
        tile_columns=tile.columns,
        load_pitch=tile.load_pitch,
        out_pitch=tile.out_pitch,
        outer=len(y) - 1,
        extents=y[:-1] or (1,),
        lengths=x[:-1] or (1,),
        steps=dense(x)[:-1] or (0,),
    )
    return Plan(tiling, tiling.core_num, tile.buffers(), launch.moved)


class _Resizing(Family):
    """Elements of x, or what is between them, from scales or sizes."""

    name = template = "resize"
    operators = frozenset({"Resize", *RESIZES_TO_SIZE})

    def plan(self, launch: Launch) -> Plan:
        """Cut rows; a scalar is a row of one element."""
        return _plan_rows(launch, launch.inputs[0] or (1,), launch.outputs[0] or (1,), 1)

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        given, modes = {port.name: port for port in kernel.inputs}, _modes(kernel)
        sizes = next((name for name in ("size", "sizes") if name in given), None)
        return {
            "taken": _takes_elements(kernel),
            "linear": modes["mode"] == "linear",
            "ratios": given[sizes or "scales"],
            "sizes": sizes is not None,
            "skipped": _IMAGE_AXES if sizes == "size" else 0,
            "roi": given.get("roi"),
            "place": modes["coordinate_transformation_mode"],
            "nearest": modes["nearest_mode"],
            "lanes": 1,
        }

    def covers(self, kernel: KernelFacts) -> bool:
        """True for modes that the simulator has, with the operands that they need."""
        given = {port.name for port in kernel.inputs}
        ratios = not given.isdisjoint({"scales", "sizes", "size"})
        known = _modes(kernel)["mode"] in {"nearest", "linear"}
        return known and ratios and ("roi" in given or not _crops(kernel))

    def exact(self, kernel: KernelFacts) -> bool:
        return bool(_modes(kernel)["mode"] == "nearest")

    def sums(self, kernel: KernelFacts) -> bool:
        """True for what is between elements of either sign."""
        return bool(_modes(kernel)["mode"] != "nearest")


class _ResizingOfBlocks(_Resizing):
    """Blocks of channels of an image in NC1HWC0."""

    in_blocks = True

    def plan(self, launch: Launch) -> Plan:
        """Take a block of channels for an element; axes keep their places."""
        (*x, lanes), (*y, _) = launch.stored_inputs[0], launch.stored_outputs[0]
        return _plan_rows(launch, tuple(x), tuple(y), lanes)

    def covers(self, kernel: KernelFacts) -> bool:
        """True for the whole of images in NC1HWC0 with ratios row by row."""
        x, y = kernel.inputs[0], kernel.outputs[0]
        others = all(port.storage is None for port in kernel.inputs[1:])
        images = {x.storage, y.storage} == {Storage(Format.NC1HWC0)}
        return images and others and not _crops(kernel) and super().covers(kernel)

    def fits(self, launch: Launch) -> bool:
        """True if images and channels stay as many."""
        return launch.inputs[0][:2] == launch.outputs[0][:2]

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        return {**super().context(kernel), "lanes": c0_of(kernel.inputs[0].dtype)}


FAMILIES = (_Resizing(), _ResizingOfBlocks())

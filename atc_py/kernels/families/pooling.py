"""Pools: the largest element or the mean of sliding windows over height and width."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import msgspec

from atc_py.ir import AttrValue
from atc_py.kernels.family import Buffer, Family, KernelFacts, Launch, Plan
from atc_py.kernels.planes import PATTERN
from atc_py.kernels.tiling import DEPTH, Tiling, extended, narrow, rounded_up, vector_cores, wide
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.storage import Storage, c0_of

_HALF, _FLOAT = 2, 4
_PER_BLOCK = 16
"""Elements of half in a block; rows in the buffer are whole blocks, whatever they hold."""

_FARTHEST = 127
"""Columns between windows whose blocks of float32 an instruction still steps over."""

_MOST_RUNS = 4095
"""Runs that one copy takes."""


class _Axis(msgspec.Struct, frozen=True):
    """A window along one axis."""

    length: int  # of the input
    windows: int  # length of the result
    size: int  # elements under the window
    stride: int  # steps between windows
    dilation: int  # steps between elements of a window
    before: int  # padding in front
    after: int  # padding after it

    def span(self, windows: int, taps: int) -> int:
        return (windows - 1) * self.stride + (taps - 1) * self.dilation + 1

    @property
    def stays_inside(self) -> bool:
        """True if no window reaches beyond the input."""
        return not self.before and self.span(self.windows, self.size) <= self.length


class PoolTiling(Tiling):
    """Windows over planes, cut into tiles of rows and columns of the result."""

    core_num: int = narrow("cores that have work; core c takes tiles c, c + core_num ...")
    tile_count: int = wide("tiles of the result")
    row_tiles: int = wide("tiles along the rows of a plane")
    column_tiles: int = wide("tiles along the columns of a plane")
    tile_rows: int = narrow("rows of a tile")
    tile_columns: int = narrow("columns of a tile")
    load_rows: int = narrow("rows of the input that are loaded at once")
    load_pitch: int = narrow("elements from row to row of what is loaded, whole blocks")
    group: int = narrow("columns of a window that are worked on at once")
    lead: int = narrow("elements before the input's first column in a folded row, whole blocks")
    pitch: int = narrow("elements from one folded row to the next, whole blocks")
    out_pitch: int = narrow("elements from row to row of the result in the buffer, whole blocks")
    height: int = wide("rows of the input")
    width: int = wide("columns of the input")
    out_height: int = wide("rows of the result")
    out_width: int = wide("columns of the result")
    size_h: int = wide("rows of a window")
    size_w: int = wide("columns of a window")
    stride_h: int = wide("rows between windows")
    stride_w: int = wide("columns between windows")
    dilation_h: int = wide("rows between elements of a window")
    dilation_w: int = wide("columns between elements of a window")
    top: int = wide("rows of padding above")
    bottom: int = wide("rows of padding below")
    left: int = wide("columns of padding in front")
    right: int = wide("columns of padding behind")
    divisor: int = wide("what every sum is divided by; 0 where windows differ")


class PoolBlocksTiling(PoolTiling):
    """Windows over planes of blocks of channels."""

    blocks: int = wide("blocks of channels of an image")
    tail: int = narrow("channels in the last of them; 0 where it is full")


def _pair(value: AttrValue) -> tuple[int, int]:
    _, _, height, width = value if isinstance(value, tuple) else (1, 1, 1, 1)
    return int(height), int(width)


def _axes(launch: Launch) -> tuple[_Axis, _Axis]:
    attributes = launch.kernel.attributes
    lengths, windows = launch.inputs[0][2:], launch.outputs[0][2:]
    if attributes["global_pooling"]:
        found = [_Axis(n, w, n, 1, 1, 0, 0) for n, w in zip(lengths, windows, strict=True)]
        return found[0], found[1]
    sizes, strides = _pair(attributes["ksize"]), _pair(attributes["strides"])
    dilations = _pair(attributes.get("dilations", (1, 1, 1, 1)))
    pads = _pads(attributes)
    found = [
        _Axis(lengths[at], windows[at], sizes[at], strides[at], dilations[at], *pads[at])
        for at in range(2)
    ]
    if attributes["padding_mode"] == "SAME":
        found = [_same_pads(axis) for axis in found]
    return found[0], found[1]


def _pads(attributes: Mapping[str, AttrValue]) -> tuple[tuple[int, int], tuple[int, int]]:
    pads = attributes["pads"]
    if attributes["padding_mode"] != "CALCULATED" or not isinstance(pads, tuple):
        return (0, 0), (0, 0)
    top, bottom, left, right = (int(number) for number in pads)
    return (top, bottom), (left, right)


def _same_pads(axis: _Axis) -> _Axis:
    """Pads for ceil(dim / stride) windows; the odd element goes after."""
    windows = -(-axis.length // axis.stride)
    missing = max(0, axis.span(windows, axis.size) - axis.length)
    return replace(axis, before=missing // 2, after=missing - missing // 2)


def _divisor(launch: Launch, rows: _Axis, columns: _Axis) -> int:
    """The divisor of every sum; 0 where some windows include padding."""
    override = launch.kernel.attributes.get("divisor_override")
    if isinstance(override, int) and override:
        return override
    inside = rows.stays_inside and columns.stays_inside
    return rows.size * columns.size if inside else 0


class _Tile(msgspec.Struct, frozen=True):
    """A tile of the result, and how much of the input is worked on at once."""

    height: _Axis
    width: _Axis
    mean: bool
    rows: int
    columns: int
    load_rows: int
    group: int
    lanes: int = 1
    size: int = _HALF

    @property
    def load_pitch(self) -> int:
        span = self.width.span(self.columns, self.group)
        return rounded_up(max(1, min(self.width.length, span)) * self.lanes, _PER_BLOCK)

    @property
    def lead(self) -> int:
        return rounded_up(self.width.before * self.lanes, _PER_BLOCK)

    @property
    def pitch(self) -> int:
        return rounded_up(
            self.lead + self.width.span(self.columns, self.group) * self.lanes, _PER_BLOCK
        )

    @property
    def out_pitch(self) -> int:
        return rounded_up(self.columns * self.lanes, _PER_BLOCK)

    def buffers(self) -> tuple[Buffer, ...]:
        count = self.rows * self.out_pitch
        step = _FLOAT if self.mean else self.size
        sizes = {
            "xQueue": DEPTH * self.load_rows * self.load_pitch * self.size,
            "yQueue": DEPTH * count * self.size,
            "folded": self.rows * self.pitch * step,
        }
        if self.lanes > 1:
            sizes["pattern"] = PATTERN
        else:
            sizes |= {"tap": count * step, "offsets": count * _FLOAT}
        if self.mean:
            sizes |= {
                "line": self.load_pitch * _FLOAT,
                "total": count * _FLOAT,
                "divisor": count * _FLOAT,
            }
        return tuple(Buffer(name, "ub", size) for name, size in sizes.items())

    def smaller(self) -> _Tile:
        """A tile that takes less: fewer rows, then columns, then columns of a window."""
        if self.rows > 1:
            rows = -(-self.rows // 2)
            needed = self.height.span(rows, self.height.size)
            return replace(self, rows=rows, load_rows=min(self.load_rows, needed))
        if self.load_rows > 1:
            return replace(self, load_rows=-(-self.load_rows // 2))
        if self.columns > 1:
            return replace(self, columns=-(-self.columns // 2))
        return replace(self, group=-(-self.group // 2))


def _tile(launch: Launch, planes: int, lanes: int) -> _Tile:
    """The tile for a number of planes whose columns have a number of elements.

    A tile has at least one row and one column, even for empty results.
    """
    height, width = _axes(launch)
    rows = max(1, min(height.windows, _MOST_RUNS))
    tile = _Tile(
        height,
        width,
        launch.kernel.op == "AvgPoolV2",
        rows,
        max(1, width.windows),
        max(1, min(height.length, height.span(rows, height.size), _MOST_RUNS)),
        max(1, width.size),
        lanes,
        launch.kernel.inputs[0].dtype.itemsize,
    )
    room, cores = launch.soc.ub_kib * 1024, vector_cores(launch.soc)
    while sum(buffer.nbytes for buffer in tile.buffers()) > room and tile != tile.smaller():
        tile = tile.smaller()
    while tile.rows > 1 and planes * -(-height.windows // tile.rows) < cores:
        tile = tile.smaller()
    return tile


def _tiling(launch: Launch, tile: _Tile, planes: int) -> PoolTiling:
    height, width = tile.height, tile.width
    row_tiles, column_tiles = -(-height.windows // tile.rows), -(-width.windows // tile.columns)
    tiles = planes * row_tiles * column_tiles
    return PoolTiling(
        core_num=max(1, min(vector_cores(launch.soc), tiles)),
        tile_count=tiles,
        row_tiles=row_tiles,
        column_tiles=column_tiles,
        tile_rows=tile.rows,
        tile_columns=tile.columns,
        load_rows=tile.load_rows,
        load_pitch=tile.load_pitch,
        group=tile.group,
        lead=tile.lead,
        pitch=tile.pitch,
        out_pitch=tile.out_pitch,
        height=height.length,
        width=width.length,
        out_height=height.windows,
        out_width=width.windows,
        size_h=height.size,
        size_w=width.size,
        stride_h=height.stride,
        stride_w=width.stride,
        dilation_h=height.dilation,
        dilation_w=width.dilation,
        top=height.before,
        bottom=height.after,
        left=width.before,
        right=width.after,
        divisor=_divisor(launch, height, width),
    )


class _Pools(Family):
    """Pools of maps: the largest elements as they are, means in float32."""

    name = template = "pool"
    operators = frozenset({"AvgPoolV2", "MaxPoolV3"})

    def plan(self, launch: Launch) -> Plan:
        """Cut each plane: all of it, or as many rows, or as much of a row, as fit."""
        planes = prod(launch.inputs[0][:2])
        tile = _tile(launch, planes, 1)
        tiling = _tiling(launch, tile, planes)
        return Plan(tiling, tiling.core_num, tile.buffers(), launch.moved)

    def covers(self, kernel: KernelFacts) -> bool:
        """True for maps of half, of which a mean is made, and of float32."""
        dtype = kernel.inputs[0].dtype
        return dtype is DType.FLOAT16 or (kernel.op == "MaxPoolV3" and dtype is DType.FLOAT32)

    def context(self, kernel: KernelFacts) -> Mapping[str, AttrValue]:
        return {"exclusive": kernel.attributes.get("exclusive", True), "lanes": 1}


class _PoolsOfBlocks(_Pools):
    """Pools of maps in NC1HWC0, where a plane is a block of channels."""

    in_blocks = True

    def plan(self, launch: Launch) -> Plan:
        images, channels = launch.inputs[0][:2]
        lanes = c0_of(launch.kernel.inputs[0].dtype)
        blocks = -(-channels // lanes)
        tile = _tile(launch, images * blocks, lanes)
        base = _tiling(launch, tile, images * blocks)
        tiling = extended(PoolBlocksTiling, base, blocks=blocks, tail=channels % lanes)
        return Plan(tiling, tiling.core_num, tile.buffers(), launch.moved)

    def covers(self, kernel: KernelFacts) -> bool:
        """True if blocks that windows step over are few enough for one instruction."""
        storages = {port.storage for port in (*kernel.operands, *kernel.outputs)}
        width = 1 if kernel.attributes["global_pooling"] else _pair(kernel.attributes["strides"])[1]
        images = storages == {Storage(Format.NC1HWC0)}
        return super().covers(kernel) and images and width <= _FARTHEST

    def context(self, kernel: KernelFacts) -> Mapping[str, AttrValue]:
        lanes = c0_of(kernel.inputs[0].dtype)
        return {**super().context(kernel), "lanes": lanes, "pattern": PATTERN}


FAMILIES = (_Pools(), _PoolsOfBlocks())

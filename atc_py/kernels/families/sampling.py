"""Images sampled between pixels: GridSampler2D, DeformableOffsets, ROIAlign."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.kernels.box_tiling import number
from atc_py.kernels.family import Buffer, Family, InputSample, KernelFacts, Launch, Plan
from atc_py.kernels.tiling import (
    BLOCK,
    DEPTH,
    Tiling,
    narrow,
    numbers,
    rounded_up,
    vector_cores,
    wide,
)

_AROUND = 4
"""Pixels around a position."""

_ALIGNED = 16
"""Positions of a tile are a multiple of it, so that a tile of two bytes each is whole blocks."""

_MOST = 1024
"""Positions of a tile, for all of which the scalar unit looks up pixels before a channel is read."""

_PER_REGION = 4
"""Samples that room is made for where their number follows from the size of a region."""

_FLOAT = 4
"""Bytes of float32, and of an offset of a gather."""


class SampleTiling(Tiling):
    """Positions of every image, or of every group of channels or region of one, cut into tiles."""

    core_num: int = narrow("cores that have work; core c takes units c, c + core_num ...")
    unit_count: int = wide("tiles of all images")
    tile_count: int = wide("tiles of an image")
    tile_length: int = narrow("positions of a tile")
    positions: int = wide("positions of an image")
    channels: int = wide("channels that are sampled at the same positions")
    height: int = wide("rows of x")
    width: int = wide("columns of x")
    pitch: int = narrow("elements of a tile in the buffer, whole blocks")
    capacity: int = narrow("samples that are looked up at once, whole tiles")
    load_length: int = narrow("elements of the buffer of a channel")
    zero_place: int = narrow("where the zero after a channel is")
    whole: int = narrow("1 where a channel fits into the buffer, else pixels are read one by one")
    windows: tuple[int, ...] = numbers("windows below and beside each other", pad=1)


@dataclass(frozen=True, slots=True)
class _Work:
    """Data and positions of a launch that samples."""

    sets: int  # images, or groups of channels or regions of them
    channels: int  # of each, sampled at the same positions
    positions: int  # of each
    samples: int = 1  # of a position
    windows: tuple[int, int] = (1, 1)  # down and across, where positions are points of windows


def _work(launch: Launch) -> _Work:
    kind, attributes = _KINDS[launch.kernel.op], launch.kernel.attributes
    (images, channels, *_), places = launch.inputs[:2]
    positions = prod(launch.outputs[0][2:])
    if kind == "grid":
        return _Work(images, channels, positions)
    if kind == "region":
        given = number(attributes["sample_num"])
        samples = given**2 if given > 0 else _PER_REGION
        return _Work(places[0], channels, positions, samples)
    groups = number(attributes["deformable_groups"])
    return _Work(images * groups, channels // groups, positions, 1, (places[2], places[3]))


@dataclass(frozen=True, slots=True)
class _Tile:
    """A tile's share of the unified buffer."""

    pitch: int
    samples: int
    itemsize: int
    load_length: int
    kind: str

    def buffers(self) -> tuple[Buffer, ...]:
        capacity, short = self.pitch * self.samples, self.itemsize < _FLOAT
        sizes = {
            "xQueue": DEPTH * self.load_length * self.itemsize,
            "yQueue": DEPTH * self.pitch * self.itemsize,
            "offsets": _AROUND * capacity * _FLOAT,
            "weights": _AROUND * capacity * _FLOAT,
            "part": capacity * _FLOAT,
            "raw": capacity * self.itemsize if short else 0,
            "total": self.pitch * _FLOAT if short else 0,
            "sum": capacity * _FLOAT if self.kind == "region" else 0,
            "scale": self.pitch * _FLOAT if self.kind == "window" else 0,
        }
        return tuple(Buffer(name, "ub", size) for name, size in sizes.items() if size)

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in self.buffers())


class _Samples(Family):
    """Weighted sums of the four pixels around positions."""

    name = template = "sample"
    operators = frozenset({"DeformableOffsets", "GridSampler2D", "ROIAlign"})

    def plan(self, launch: Launch) -> Plan:
        """Take as many positions as the unified buffer takes beside a channel, if that fits."""
        work, kernel, cores = _work(launch), launch.kernel, vector_cores(launch.soc)
        height, width = launch.inputs[0][2:]
        itemsize, room = kernel.outputs[0].dtype.itemsize, launch.soc.ub_kib * 1024
        per_block = BLOCK // itemsize
        zero = rounded_up(height * width, per_block)
        whole = DEPTH * (zero + per_block) * itemsize <= room // 2
        load = zero + per_block if whole else per_block
        share = -(-work.positions // max(1, -(-cores // max(1, work.sets))))
        pitch, samples = rounded_up(max(1, min(share, _MOST)), _ALIGNED), work.samples
        kind = _KINDS[kernel.op]
        while (tile := _Tile(pitch, samples, itemsize, load, kind)).nbytes > room:
            if samples > 1:
                samples = -(-samples // 2)
            else:
                pitch = rounded_up(pitch // 2, _ALIGNED)
        tiles = -(-work.positions // pitch)
        tiling = SampleTiling(
            core_num=max(1, min(cores, work.sets * tiles)),
            unit_count=work.sets * tiles,
            tile_count=max(1, tiles),
            tile_length=pitch,
            positions=work.positions,
            channels=work.channels,
            height=height,
            width=width,
            pitch=pitch,
            capacity=pitch * samples,
            load_length=load,
            zero_place=zero,
            whole=int(whole),
            windows=work.windows,
        )
        return Plan(tiling, tiling.core_num, tile.buffers(), launch.moved)

    def covers(self, kernel: KernelFacts) -> bool:
        attributes, kind = kernel.attributes, _KINDS[kernel.op]
        if kind == "grid":
            return attributes["interpolation_mode"] == "bilinear"
        if kind == "region":
            return attributes["roi_end_mode"] in {0, 2} and len(kernel.inputs) == 2  # noqa: PLR2004
        return attributes["data_format"] == "NCHW" and bool(attributes["modulated"])

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        attributes = kernel.attributes
        return {
            "kind": _KINDS[kernel.op],
            "aligned": bool(attributes.get("align_corners")),
            "padding": attributes.get("padding_mode", "zeros"),
            "mode": "max" if attributes.get("pool_mode") == "max" else "avg",
            "half_pixel": attributes.get("roi_end_mode") == 2,  # noqa: PLR2004  (CANN's number)
        }

    def exact(self, kernel: KernelFacts) -> bool:
        return False

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        """Draw positions in and around images; offsets may be normal."""
        shape = sample.shapes[sample.position]
        if sample.position != 1 or shape is None or sample.shapes[0] is None:
            return None
        if sample.op == "GridSampler2D":
            return generator.uniform(-1.5, 1.5, shape).astype(sample.dtype.numpy)
        if sample.op == "ROIAlign":
            images, _, *size = sample.shapes[0]
            reach = max(size) / (float(sample.attributes["spatial_scale"]) or 1.0)
            corners = generator.uniform(-0.2 * reach, 1.2 * reach, (shape[0], 4))
            chosen = generator.integers(0, max(1, images), (shape[0], 1))
            return np.concatenate([chosen, corners], axis=1).astype(sample.dtype.numpy)
        return None


_KINDS = {"DeformableOffsets": "window", "GridSampler2D": "grid", "ROIAlign": "region"}
"""How positions are found, by operator."""

FAMILIES = (_Samples(),)

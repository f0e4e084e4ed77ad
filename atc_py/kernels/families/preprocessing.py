"""Pictures before a network: Aipp. Pixels are loaded one by one, and normalized line by line."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from atc_py.kernels.family import Family, InputSample, KernelFacts, Launch, Plan, queues
from atc_py.kernels.tiling import DEPTH, Tiling, narrow, vector_cores, wide
from atc_py.tensor.dtypes import DType

_ALIGNED = 32
"""Columns of a tile are a multiple of it, so that a tile of bytes is whole blocks, too."""

_MOST = 2048
"""Columns of a tile."""


class PictureTiling(Tiling):
    """The lines of all features, cut into tiles; a tile has all channels."""

    core_num: int = narrow("cores that have work; core c takes tiles c, c + core_num ...")
    unit_count: int = wide("tiles of all lines of all pictures")
    tile_count: int = wide("tiles of a line")
    tile_length: int = narrow("columns of a tile, whole blocks")
    channels: int = narrow("channels of the features")
    height: int = wide("lines of the features")
    width: int = wide("columns of the features")


class PictureLayout(NamedTuple):
    """The bytes of a format, as the template loads them."""

    number: int  # the format's number in a parameter buffer; 0 where it has none
    kind: str  # packed, semi_planar or yuyv
    size: int  # bytes of a pixel where packed; lines that share chroma where semi_planar
    half_bytes: int  # bytes of two pixels
    chroma: bool = False  # True if channels are Y, U, V


_LAYOUTS = {
    "YUV420SP_U8": PictureLayout(1, "semi_planar", 2, 3, chroma=True),
    "XRGB8888_U8": PictureLayout(2, "packed", 4, 8),
    "RGB888_U8": PictureLayout(5, "packed", 3, 6),
    "YUV400_U8": PictureLayout(10, "packed", 1, 2, chroma=True),
    "ARGB8888_U8": PictureLayout(0, "packed", 4, 8),
    "YUYV_U8": PictureLayout(0, "yuyv", 2, 4, chroma=True),
    "YUV422SP_U8": PictureLayout(0, "semi_planar", 1, 4, chroma=True),
    "AYUV444_U8": PictureLayout(0, "packed", 4, 8, chroma=True),
}


class _Pictures(Family):
    """Pictures into features."""

    name = template = "aipp"
    operators = frozenset({"Aipp"})

    def plan(self, launch: Launch) -> Plan:
        """Take whole lines where all channels of one fit into a buffer, else parts."""
        features, y = launch.outputs[0], launch.kernel.outputs[0]
        images, channels, height, width = features
        room = launch.soc.ub_kib * 1024 // (DEPTH * channels * y.dtype.itemsize)
        length = min(_MOST, -(-max(width, 1) // _ALIGNED) * _ALIGNED, room // _ALIGNED * _ALIGNED)
        tiles = -(-width // length)
        tiling = PictureTiling(
            core_num=max(1, min(vector_cores(launch.soc), images * height * tiles)),
            unit_count=images * height * tiles,
            tile_count=max(1, tiles),
            tile_length=length,
            channels=channels,
            height=height,
            width=width,
        )
        return Plan(tiling, tiling.core_num, queues((y,), channels * length), launch.moved)

    def covers(self, kernel: KernelFacts) -> bool:
        """True for the formats that the simulator has, and for dynamic settings."""
        return _is_dynamic(kernel.attributes) or kernel.attributes["input_format"] in _LAYOUTS

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        dynamic = _is_dynamic(kernel.attributes)
        numbered = [layout for layout in _LAYOUTS.values() if layout.number]
        named = _LAYOUTS.get(str(kernel.attributes["input_format"]))
        return {
            "dynamic": dynamic,
            "layouts": [
                layout._asdict() for layout in (numbered if dynamic else [named]) if layout
            ],
            "half": kernel.outputs[0].dtype is DType.FLOAT16,
        }

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        """Draw pictures of all bytes, and settings of a run that make what the model declares."""
        shape = sample.shapes[sample.position]
        if shape is None:
            return None
        if sample.position == 0:
            return generator.integers(0, 256, shape)
        return _drawn_settings(sample, generator)


def _is_dynamic(attributes: Mapping[str, Any]) -> bool:
    return bool(attributes["aipp_mode"] == "dynamic")


def _drawn_settings(sample: InputSample, generator: np.random.Generator) -> NDArray[np.uint8]:
    """A parameter buffer for pictures that fit the images, with a crop and a frame."""
    images, channels, height, width = sample.results[0]
    numbers = [1, 2, 5] if channels > 1 else [10]
    number = int(generator.choice(numbers))
    layout = next(each for each in _LAYOUTS.values() if each.number == number)
    pixels = 2 * prod(sample.shapes[0] or ()) // (max(1, images) * layout.half_bytes)
    across = max(2, min(width, pixels // 2) // 2 * 2)
    down = max(2, min(height, pixels // across) // 2 * 2)
    data = np.zeros(64 + 96 * images, np.uint8)
    data[0], data[4] = number, images
    data[1:4] = [number != 10, *generator.integers(0, 2, 2)]  # noqa: PLR2004  (gray has no colors)
    _put(data, 8, [across, down], "<i4")
    _put(data, 16, generator.integers(-600, 600, 9), "<i2")
    data[40:46] = generator.integers(0, 256, 6)
    for at in range(images):
        start = 64 + 96 * at
        data[start], data[start + 2] = 1, 1
        rows = int(generator.integers(1, min(height, down) + 1))
        columns = int(generator.integers(1, min(width, across) + 1))
        corner = [generator.integers(0, n + 1) for n in (across - columns, down - rows)]
        top, left = (int(generator.integers(0, n + 1)) for n in (height - rows, width - columns))
        _put(data, start + 8, [*corner, columns, rows], "<i4")
        _put(data, start + 40, [top, height - rows - top, left, width - columns - left], "<i4")
        _put(data, start + 56, generator.integers(0, 256, 4), "<i2")
        _put(data, start + 64, generator.random(8) * 2, "<f2")
    return data


def _put(data: NDArray[np.uint8], at: int, values: Any, dtype: str) -> None:
    found = np.asarray(values).astype(dtype).view(np.uint8)
    data[at : at + found.size] = found


FAMILIES = (_Pictures(),)

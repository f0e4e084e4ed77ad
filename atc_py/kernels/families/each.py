"""Results whose parts are where data say, or numbers that only the run knows: one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from atc_py.kernels.family import Buffer, Family, InputSample, KernelFacts, Launch, Plan, queues
from atc_py.kernels.tiling import BLOCK, DEPTH, Tiling, narrow, vector_cores, wide

Draw: TypeAlias = "Callable[[InputSample, np.random.Generator], NDArray[Any] | None]"


class EachTiling(Tiling):
    """The elements of the results, cut into tiles."""

    core_num: int = narrow("cores that have work; core c takes tiles c, c + core_num ...")
    total: int = wide("elements of each result")
    tile_length: int = narrow("elements of a tile, whole blocks")
    tile_count: int = wide("tiles")
    rank: int = narrow("axes of the first input")


def _corners(
    sample: InputSample, generator: np.random.Generator, scales: tuple[float, float]
) -> Any:
    """Draw regions [image, x1, y1, x2, y2] in and around the maps of `scales` down and across."""
    maps = [shape for at, shape in enumerate(sample.shapes) if at != sample.position and shape]
    images, _, height, width = maps[0]
    count = (sample.shapes[sample.position] or (0,))[0]
    size = np.array([width / scales[1], height / scales[0]])
    first = generator.uniform(-0.2, 0.9, (count, 2)) * size
    last = first + generator.uniform(-0.1, 0.8, (count, 2)) * size
    image = generator.integers(0, max(1, images), (count, 1))
    return np.concatenate([image, first, last], axis=1)


def _lengths(sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
    x, shape = sample.shapes[:2]
    if sample.position != 1 or x is None:
        return None
    return generator.integers(0, x[sample.attributes["seq_dim"]] + 1, shape)


def _bags(sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
    """Draw rows of the table, and offsets that rise from 0."""
    table, indices, shape = *sample.shapes[:2], sample.shapes[sample.position]
    if table is None or indices is None or shape is None or sample.position not in {1, 2}:
        return None
    if sample.position == 1:
        return generator.integers(0, max(1, table[0]), shape)
    offsets = np.sort(generator.integers(0, prod(indices) + 1, shape))
    offsets[:1] = 0
    return offsets


def _regions(position: int, *names: str) -> Draw:
    """Generator of regions at `position`, for maps of the scales that attributes name."""

    def draw(sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        if sample.position != position:
            return None
        scales = [sample.attributes[name] for name in names]
        first = [scale[0] if isinstance(scale, (tuple, list)) else scale for scale in scales]
        regions: NDArray[Any] = _corners(sample, generator, (first[0], first[-1]))
        return regions

    return draw


_DRAWN: Mapping[str, Draw] = {
    "EmbeddingBag": _bags,
    "ROIPooling": _regions(1, "spatial_scale_h", "spatial_scale_w"),
    "ReverseSequence": _lengths,
    "RoiExtractor": _regions(0, "spatial_scale"),
}
"""What draws inputs of operators that plain random numbers do not fit."""

_WITH_VALUE = "MovingSumWithSigmoid"
"""The operator whose elements pass one value through the vector unit."""

_SUMS = frozenset({"EmbeddingBag", "MovingSumWithSigmoid", "Range", "ReduceSum", "RoiExtractor"})
"""Operators whose results are rounded sums."""


def each_plan(launch: Launch) -> Plan:
    """Cut the elements of a result so that every core has some, as far as there are any."""
    ports, soc = launch.kernel.outputs, launch.soc
    total = prod(launch.outputs[0])
    per_block = BLOCK // min(port.dtype.itemsize for port in ports)
    room = (soc.ub_kib * 1024 - BLOCK) // (DEPTH * sum(port.dtype.itemsize for port in ports))
    share = -(-total // vector_cores(soc))
    length = max(1, min(room // per_block, -(-share // per_block))) * per_block
    tiling = EachTiling(
        core_num=max(1, min(vector_cores(soc), -(-total // length))),
        total=total,
        tile_length=length,
        tile_count=-(-total // length),
        rank=len(launch.inputs[0]),
    )
    value = (Buffer("value", "ub", BLOCK),) if launch.kernel.op == _WITH_VALUE else ()
    return Plan(tiling, tiling.core_num, (*queues(ports, length), *value), launch.moved)


def each_facts(kernel: KernelFacts, snippet: str) -> Mapping[str, Any]:
    return {
        "snippet": snippet,
        "attributes": kernel.attributes,
        "given": {port.name: port for port in kernel.inputs},
        "alive": kernel.op == "Merge",
        "value": kernel.op == _WITH_VALUE,
    }


class _Each(Family):
    """Elements of results, each worked out by the scalar unit."""

    name = template = "each"
    operators = frozenset({
        "AdaptiveMaxPool2d", "Cumsum", "DynSeqOuter", "EmbeddingBag", "Expand", "Merge",
        "MovingSumWithSigmoid", "PadV3", "ROIPooling", "Range", "ReduceSum",
        "ReverseSequence", "RoiExtractor", "Shape", "Tile", "TopKD",
    })  # fmt: skip

    def plan(self, launch: Launch) -> Plan:
        return each_plan(launch)

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        attributes = kernel.attributes
        return {
            **each_facts(kernel, kernel.op),
            "mode": attributes.get("pool_mode"),
            "samples": attributes.get("sample_num"),
        }

    def exact(self, kernel: KernelFacts) -> bool:
        """True for what is only moved, and for integers."""
        return kernel.op not in _SUMS or not kernel.outputs[0].dtype.is_float

    def sums(self, kernel: KernelFacts) -> bool:
        return not self.exact(kernel)

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        drawn = _DRAWN.get(sample.op)
        return None if drawn is None else drawn(sample, generator)


FAMILIES = (_Each(),)

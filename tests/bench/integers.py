"""Layers of int8 beside the same in float16 on the simulator."""

import statistics
from collections.abc import Iterator
from functools import partial
from typing import Any

from numpy.typing import NDArray

from tests.bench.measuring import BLOCKS, RUNS, median_time, say
from tests.device.models import MemoryModel

Array = NDArray[Any]


CONVOLUTIONS = ((64, 56, 3), (256, 14, 3), (512, 28, 1))
"""Channels in and out, rows and columns, and dim of the filter."""

PRODUCTS = ((128, 768, 3072), (1, 2048, 1000))
"""Rows, terms and columns."""


def integers() -> None:
    """Print a line for each layer: its products alone, and with quantization before and after.

    All three take turns in blocks, since the machine's speed changes from one second to the next.
    """
    say(f"int8 beside float16 on the simulator, {BLOCKS} blocks of {RUNS} runs in turn, medians")
    say(f"  {'layer':28} {'float16 ms':>10} {'int8 / float16':>15} {'whole layer / float16':>22}")
    for name, models in _layers():
        half, products, layer = _times(models)
        say(f"  {name:28} {half * 1000:10.2f} {products / half:15.2f} {layer / half:22.2f}")


def _layers() -> Iterator[tuple[str, tuple[tuple[MemoryModel, Array], ...]]]:
    """Yield every layer: its name, and its three models with what they are fed."""
    for channels, dim, size in CONVOLUTIONS:
        pad = size // 2
        attributes = {"strides": [1] * 4, "pads": [pad] * 4}
        name = f"Conv {channels} of {dim}x{dim}, {size}x{size}"
        data = (1, channels, dim, dim)
        yield name, _models("Conv2D", data, (channels, channels, size, size), data, attributes)
    for rows, terms, columns in PRODUCTS:
        name = f"MatMul {rows}x{terms} by {terms}x{columns}"
        yield name, _models("MatMulV2", (rows, terms), (terms, columns), (rows, columns), {})


def _models(
    op: str,
    data: tuple[int, ...],
    weights: tuple[int, ...],
    result: tuple[int, ...],
    attributes: dict[str, Any],
) -> tuple[tuple[MemoryModel, Array], ...]:
    """Return the layer in float16, in int8, and in int8 between AscendQuant and AscendDequant.

    Floats are the integers' 128th parts: sums beyond float16 would take a slower way there.
    """
    import numpy as np

    from tests.device.models import ModelBuilder

    generator = np.random.default_rng(0)
    numbers, filters = (generator.integers(-127, 128, shape) for shape in (data, weights))
    words = np.array([2.0**-14], np.float32).view(np.uint32).astype(np.uint64)
    made = []
    for dtype, taken, given in (
        ("float16", "float16", "float16"),
        ("int8", "int8", "int32"),
        ("float16", "int8", "int32"),
    ):
        builder = ModelBuilder()
        x = builder.input("x", dtype, data)
        if dtype != taken:
            as_integers = {"scale": 128.0, "offset": 0.0}
            (x,) = builder.node("AscendQuant", [x], [(taken, data)], as_integers)
        held = filters if taken == "int8" else filters / 128
        constant = builder.constant(held.astype(taken))
        (y,) = builder.node(op, [x, constant], [(given, result)], attributes)
        if dtype != taken:
            factors = builder.constant(words)
            wanted = {"dtype": dtype}
            (y,) = builder.node("AscendDequant", [y, factors], [(dtype, result)], wanted)
        builder.output("y", y)
        fed = numbers if dtype == "int8" else numbers / 128
        made.append((builder.build(), fed.astype(dtype)))
    return tuple(made)


def _times(models: tuple[tuple[MemoryModel, Array], ...]) -> tuple[float, ...]:
    """Return seconds of one run of each model."""
    from atc_py.device.sim.backend import SimBackend

    device = SimBackend()
    device.open()
    loaded = [(device.load(model), x) for model, x in models]
    blocks = [
        [median_time(partial(device.run, model, {"x": x})) for model, x in loaded]
        for _ in range(BLOCKS)
    ]
    device.close()
    return tuple(statistics.median(each) for each in zip(*blocks, strict=True))

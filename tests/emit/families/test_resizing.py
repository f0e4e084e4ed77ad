"""Resize by the nearest element on the host: bit for bit what the simulator takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from atc_py.ir import DenseConst, Engine, Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType
from tests.emit.families.blocks import addressed, image
from tests.emit.families.conftest import wrong

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from atc_py.tensor.shapes import Shape
    from tests.emit.families.conftest import Verified

PLACES = (
    "align_corners", "asymmetric", "half_pixel", "pytorch_half_pixel", "tf_half_pixel_for_nn",
)  # fmt: skip
ROUNDS = ("ceil", "floor", "round_prefer_ceil", "round_prefer_floor")

RESIZED: list[tuple[Shape, Shape]] = [
    ((1, 1, 1, 1), (1, 1, 1, 1)),
    ((1, 3, 5, 7), (1, 3, 10, 14)),
    ((2, 3, 5, 31), (2, 3, 13, 11)),
    ((2, 3, 5, 31), (2, 3, 1, 97)),
    ((0, 3, 5, 7), (0, 3, 10, 14)),
    ((1, 1, 2, 70_001), (1, 1, 3, 1_009)),
    ((1, 1, 3, 1_009), (1, 1, 2, 70_001)),
]
"""One element, whole and broken ratios, up and down at once, nothing, beyond all buffers."""


def _add(
    graph: Graph,
    shapes: tuple[Shape, Shape],
    dtype: DType,
    modes: tuple[str, str, str],
    numbers: tuple[int, NDArray[np.generic]],
    kind: Callable[..., TensorType] = lambda dtype, *shape: TensorType(dtype, shape),
) -> None:
    """Add a node whose scales (position 2) or sizes (position 3) are `numbers`."""
    names = ("coordinate_transformation_mode", "nearest_mode", "mode")
    x = graph.add_input("x", kind(dtype, *shapes[0]))
    position, array = numbers
    given = graph.constant("given", DenseConst(array))
    inputs = [x, None, *[given if at == position else None for at in (2, 3)]]
    result = ("y", kind(dtype, *shapes[1]))
    attributes = dict(zip(names, modes, strict=True))
    graph.add_node("Resize", inputs, [result], attributes).engine = Engine.AICORE


@pytest.mark.parametrize("nearest", ROUNDS)
def test_dims_that_are_given_agree(verified: Verified, nearest: str) -> None:
    graph = Graph("sizes", Phase.TYPED)
    for place in PLACES:
        for x, y in RESIZED:
            sizes = np.array(y, np.int64)
            _add(graph, (x, y), DType.FLOAT16, (place, nearest, "nearest"), (3, sizes))
    checked = verified(graph, "Ascend310P3")
    assert len(checked) == len(PLACES) * len(RESIZED)
    assert wrong(checked) == []


def test_blocks_of_channels_are_taken_whole(verified: Verified) -> None:
    graph = Graph("blocks", Phase.TYPED)
    for place in PLACES:
        for x, y in (*RESIZED[:5], ((2, 35, 5, 31), (2, 35, 13, 11)), ((1, 16, 9, 300),) * 2):
            sizes = np.array(y, np.int64)
            modes = (place, "floor", "nearest")
            _add(graph, (x, y), DType.FLOAT16, modes, (3, sizes), image)
            if 0 not in x:
                scales = np.array(y, np.float32) / np.array(x, np.float32)
                _add(graph, (x, y), DType.FLOAT32, modes, (2, scales), image)
    checked = verified(graph)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


def test_scales_that_are_given_agree(verified: Verified) -> None:
    graph = Graph("scales", Phase.TYPED)
    for x, scales in (
        ((2, 3, 5, 7), (1, 1, 2, 2)),
        ((2, 3, 5, 7), (1, 1, 2.3, 0.6)),
        ((7, 31), (0.4, 3.7)),
        ((1_009,), (1.9,)),
    ):
        y = tuple(int(np.float32(n) * np.float32(s)) for n, s in zip(x, scales, strict=True))
        for place in ("asymmetric", "half_pixel"):
            modes = (place, "floor", "nearest")
            _add(graph, (x, y), DType.FLOAT32, modes, (2, np.array(scales, np.float32)))
    assert wrong(verified(graph)) == []


def test_interpolation_is_left_to_write(verified: Verified) -> None:
    graph = Graph("linear", Phase.TYPED)
    shapes = ((1, 1, 3, 3), (1, 1, 6, 6))
    modes = ("half_pixel", "floor", "linear")
    _add(graph, shapes, DType.FLOAT16, modes, (3, np.array(shapes[1], np.int64)))
    assert [each.verdict.value for each in verified(graph)] == ["skeleton"]

"""Resize on the host: elements that are taken bit for bit, those between them closely."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.ir import AttrValue, DenseConst, Engine, Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.kernels.families.blocks import addressed, image
from tests.kernels.families.conftest import Verified, wrong

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
    numbers: Mapping[int, NDArray[np.generic]],
    kind: Callable[..., TensorType] = lambda dtype, *shape: TensorType(dtype, shape),
) -> None:
    """Add a node whose roi (position 1), scales (2) or sizes (3) are `numbers`."""
    names = ("coordinate_transformation_mode", "nearest_mode", "mode")
    x = graph.add_input("x", kind(dtype, *shapes[0]))
    inputs = [
        x,
        *(
            graph.constant("given", DenseConst(numbers[at])) if at in numbers else None
            for at in (1, 2, 3)
        ),
    ]
    result = ("y", kind(dtype, *shapes[1]))
    attributes: dict[str, AttrValue] = {**dict(zip(names, modes, strict=True))}
    if 1 in numbers:
        attributes["extrapolation_value"] = -2.5
    graph.add_node("Resize", inputs, [result], attributes).engine = Engine.AICORE


@pytest.mark.parametrize("nearest", ROUNDS)
def test_dims_that_are_given_agree(verified: Verified, nearest: str) -> None:
    graph = Graph("sizes", Phase.TYPED)
    for place in PLACES:
        for x, y in RESIZED:
            sizes = np.array(y, np.int64)
            _add(graph, (x, y), DType.FLOAT16, (place, nearest, "nearest"), {3: sizes})
    checked = verified(graph, "Ascend310P3")
    assert len(checked) == len(PLACES) * len(RESIZED)
    assert wrong(checked) == []


def test_blocks_of_channels_are_taken_whole(verified: Verified) -> None:
    graph = Graph("blocks", Phase.TYPED)
    for place in PLACES:
        for x, y in (*RESIZED[:5], ((2, 35, 5, 31), (2, 35, 13, 11)), ((1, 16, 9, 300),) * 2):
            sizes = np.array(y, np.int64)
            modes = (place, "floor", "nearest")
            _add(graph, (x, y), DType.FLOAT16, modes, {3: sizes}, image)
            if 0 not in x:
                scales = np.array(y, np.float32) / np.array(x, np.float32)
                _add(graph, (x, y), DType.FLOAT32, modes, {2: scales}, image)
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
            _add(graph, (x, y), DType.FLOAT32, modes, {2: np.array(scales, np.float32)})
    assert wrong(verified(graph)) == []


INTERPOLATED = (
    *RESIZED[:5], ((1, 1, 2, 30_001), (1, 1, 3, 509)), ((1, 1, 2, 509), (1, 1, 3, 30_001)),
    ((2, 3, 2, 5, 3), (2, 3, 4, 3, 7)), ((9,), (31,)), ((3, 4), (7, 2)),
)  # fmt: skip
"""As many kinds, volumes and fewer axes."""


@pytest.mark.parametrize("turn", [0, *(pytest.param(at, marks=pytest.mark.sweep) for at in (1, 2))])
def test_interpolation_agrees(verified: Verified, turn: int) -> None:
    graph = Graph("linear", Phase.TYPED)
    dtypes = (DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16)
    for number, place in enumerate(PLACES):
        dtype, modes = dtypes[(number + turn) % 3], (place, "floor", "linear")
        for x, y in INTERPOLATED:
            scales = np.array(y, np.float32) / np.maximum(x, 1).astype(np.float32)
            sizes = np.array(y, np.int64)
            by_scales = number % 2 == 0 and 0 not in x
            _add(graph, (x, y), dtype, modes, {2: scales} if by_scales else {3: sizes})
    assert wrong(verified(graph)) == []


def test_blocks_of_channels_are_interpolated(verified: Verified) -> None:
    graph = Graph("linear_blocks", Phase.TYPED)
    for dtype, place in ((DType.FLOAT16, "half_pixel"), (DType.FLOAT32, "align_corners")):
        for x, y in (*RESIZED[:4], ((2, 35, 5, 31), (2, 35, 13, 11)), ((1, 16, 9, 300),) * 2):
            sizes = np.array(y, np.int64)
            _add(graph, (x, y), dtype, (place, "floor", "linear"), {3: sizes}, image)
    checked = verified(graph)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


def test_parts_that_are_cropped_agree(verified: Verified) -> None:
    graph = Graph("crop", Phase.TYPED)
    for dtype, mode, nearest in (
        (DType.FLOAT16, "linear", "floor"),
        (DType.FLOAT32, "linear", "floor"),
        (DType.FLOAT16, "nearest", "round_prefer_ceil"),
        (DType.FLOAT16, "nearest", "floor"),
    ):
        for low, high in ((0.0, 1.0), (-0.25, 1.5), (0.7, 0.2)):
            for x, y in (RESIZED[2], ((1, 1, 3, 500), (1, 1, 2, 9_001)), ((9,), (1,))):
                modes = ("tf_crop_and_resize", nearest, mode)
                roi = np.array([low, 0.0, low, low][-len(x) :] + [high] * len(x), np.float32)
                numbers: dict[int, NDArray[np.generic]] = {1: roi, 3: np.array(y, np.int64)}
                _add(graph, (x, y), dtype, modes, numbers)
    assert wrong(verified(graph)) == []

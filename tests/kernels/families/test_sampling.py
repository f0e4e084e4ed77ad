"""Images sampled between pixels on the host, as the simulator samples them."""

from itertools import product

import pytest

from atc_py.ir import AttrValue, Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.kernels.conftest import AddNode
from tests.kernels.families.conftest import Verified, wrong
from tests.sampling import sampled

F16, F32, BF16 = DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16

GRIDS: list[tuple[Shape, Shape]] = [
    ((1, 1, 1, 1), (1, 1, 1, 2)),
    ((2, 3, 5, 7), (2, 4, 9, 2)),
    ((1, 2, 1, 300), (1, 3, 700, 2)),
    ((2, 1, 200, 301), (2, 1, 33, 2)),
    ((0, 3, 5, 7), (0, 4, 9, 2)),
    ((1, 3, 5, 7), (1, 0, 9, 2)),
]
"""One pixel, tails, several tiles, an image beyond the buffer, nothing."""


@pytest.mark.parametrize(
    ("padding", "aligned"),
    sampled(
        [("reflection", False)], list(product(("zeros", "border", "reflection"), (True, False)))
    ),
)
def test_grids_agree(add_node: AddNode, verified: Verified, padding: str, aligned: bool) -> None:
    graph = Graph("grid", Phase.TYPED)
    for x, grid in GRIDS:
        attributes: dict[str, AttrValue] = {"padding_mode": padding, "align_corners": aligned}
        result = TensorType(F32, (*x[:2], *grid[1:3]))
        add_node(
            graph,
            "GridSampler2D",
            [TensorType(F32, x), TensorType(F32, grid)],
            [result],
            {"interpolation_mode": "bilinear", **attributes},
        )
    checked = verified(graph, "Ascend310P3")
    assert len(checked) == len(GRIDS)
    assert wrong(checked) == []


WINDOWS: list[tuple[Shape, Shape, tuple[int, ...], tuple[int, ...], tuple[int, ...], int]] = [
    ((1, 1, 1, 1), (1, 1), (1, 1, 1, 1), (0, 0, 0, 0), (1, 1, 1, 1), 1),
    ((2, 6, 7, 9), (3, 2), (1, 1, 2, 1), (1, 0, 2, 1), (1, 1, 1, 3), 2),
    ((1, 2, 30, 31), (3, 3), (1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 1, 1), 1),
    ((1, 1, 200, 301), (1, 3), (1, 1, 19, 7), (0, 0, 0, 0), (1, 1, 1, 1), 1),
]
"""Image, points, strides, pads, dilations, groups."""


@pytest.mark.parametrize("dtype", sampled([F16], [F32, BF16]))
def test_windows_agree(add_node: AddNode, verified: Verified, dtype: DType) -> None:
    graph = Graph("windows", Phase.TYPED)
    for x, points, strides, pads, dilations, groups in WINDOWS:
        windows = tuple(
            (x[2 + s] + sum(pads[2 * s : 2 * s + 2]) - (points[s] - 1) * dilations[2 + s] - 1)
            // strides[2 + s]
            + 1
            for s in (0, 1)
        )
        offsets = (x[0], 3 * groups * points[0] * points[1], *windows)
        y = (*x[:2], windows[0] * points[0], windows[1] * points[1])
        add_node(
            graph,
            "DeformableOffsets",
            [TensorType(dtype, x), TensorType(dtype, offsets)],
            [TensorType(dtype, y)],
            {
                "strides": strides,
                "pads": pads,
                "ksize": points,
                "dilations": dilations,
                "deformable_groups": groups,
            },
        )
    checked = verified(graph, "Ascend910B3")
    assert len(checked) == len(WINDOWS)
    assert wrong(checked) == []


REGIONS: list[tuple[Shape, int, tuple[int, int], int, float]] = [
    ((1, 1, 1, 1), 1, (1, 1), 1, 1.0),
    ((2, 3, 9, 11), 5, (2, 3), 2, 0.5),
    ((2, 3, 9, 11), 5, (2, 3), 0, 0.5),
    ((1, 2, 200, 301), 2, (7, 7), 2, 0.25),
    ((1, 1, 40, 40), 2, (3, 70), 0, 1.0),
    ((2, 3, 9, 11), 0, (2, 3), 2, 0.5),
]
"""Maps, regions, cells, samples, scale."""


@pytest.mark.parametrize(
    ("dtype", "mode", "end"),
    sampled([(F16, "avg", 2)], [(F32, "max", 0), (F16, "max", 2), (F32, "avg", 0)]),
)
def test_regions_agree(
    add_node: AddNode, verified: Verified, dtype: DType, mode: str, end: int
) -> None:
    graph = Graph("regions", Phase.TYPED)
    for x, count, cells, samples, scale in REGIONS:
        attributes: dict[str, AttrValue] = {
            "spatial_scale": scale,
            "pooled_height": cells[0],
            "pooled_width": cells[1],
            "sample_num": samples,
            "roi_end_mode": end,
            "pool_mode": mode,
        }
        types = [TensorType(dtype, x), TensorType(dtype, (count, 5))]
        result = TensorType(dtype, (count, x[1], *cells))
        add_node(graph, "ROIAlign", types, [result], attributes)
    checked = verified(graph)
    assert len(checked) == len(REGIONS)
    assert wrong(checked) == []

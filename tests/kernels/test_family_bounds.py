"""Bounds of families: the first case beyond what a family writes, and the numbers of its plans."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from atc_py.ir import AttrValue, Graph, TensorType
from atc_py.kernels.collect import Collected, collect
from atc_py.kernels.cube import OFFSET
from atc_py.kernels.families.convolution import _Geometry
from atc_py.kernels.families.matmul import _ProductsOfBlocks
from atc_py.kernels.families.resizing import _Resizing
from atc_py.kernels.family import InputSample, Launch
from atc_py.kernels.planes import Seen, plane_tiling
from atc_py.kernels.ports import KernelPort
from atc_py.kernels.reduction import axes_tiling, folded
from atc_py.kernels.registry import families_of, family_of
from atc_py.kernels.tiling import ElementFootprint
from atc_py.target import find_soc
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Shape
from atc_py.tensor.storage import Storage
from tests.kernels.conftest import AddNode
from tests.kernels.families.test_convolution import Case
from tests.kernels.families.test_convolution_blocks import convolution

F16, F32 = DType.FLOAT16, DType.FLOAT32
SIM = find_soc("sim")


def only_kernel(graph: Graph) -> Collected:
    (kernel,) = collect(graph, SIM)
    return kernel


@pytest.mark.parametrize(("mode", "is_written"), [("bilinear", True), ("nearest", False)])
def test_grids_are_sampled_between_four_pixels_alone(
    add_node: AddNode, graph: Graph, mode: str, is_written: bool
) -> None:
    attributes: dict[str, AttrValue] = {"interpolation_mode": mode, "padding_mode": "zeros"}
    types = [TensorType(F32, (2, 3, 5, 7)), TensorType(F32, (2, 4, 9, 2))]
    add_node(graph, "GridSampler2D", types, [TensorType(F32, (2, 3, 4, 9))], attributes)
    assert (family_of(only_kernel(graph).facts).template != "skeleton") is is_written


@pytest.mark.parametrize(
    ("op", "dtype", "is_written"),
    [
        ("MaxPoolV3", F16, True),
        ("MaxPoolV3", F32, True),
        ("AvgPoolV2", F16, True),
        ("AvgPoolV2", F32, False),
        ("MaxPoolV3", DType.INT8, False),
    ],
)
def test_means_of_maps_are_made_of_half_alone(
    add_node: AddNode, graph: Graph, op: str, dtype: DType, is_written: bool
) -> None:
    attributes: dict[str, AttrValue] = {"ksize": (1, 1, 2, 2), "strides": (1, 1, 2, 2)}
    types = TensorType(dtype, (1, 3, 8, 8)), TensorType(dtype, (1, 3, 4, 4))
    add_node(graph, op, [types[0]], [types[1]], attributes)
    (family,) = (each for each in families_of(op) if not each.in_blocks)
    assert family.covers(only_kernel(graph).facts) is is_written


def test_regions_are_drawn_as_an_image_and_four_corners() -> None:
    (family,) = families_of("ROIAlign")
    shapes: tuple[Shape, ...] = ((3, 2, 9, 11), (50, 5))
    sample = InputSample("ROIAlign", {"spatial_scale": 0.5}, shapes, 1, F32)
    drawn = family.draw(sample, np.random.default_rng(1))
    assert drawn is not None
    assert drawn.shape == shapes[1]
    assert set(drawn[:, 0]) == {0, 1, 2}
    assert -0.2 * 22 <= drawn[:, 1:].min() < 0
    assert 11 < drawn[:, 1:].max() <= 1.2 * 22


def test_lanes_are_cut_into_chunks_of_any_length() -> None:
    # 3 kept rows for 8 cores: each row's 15 lanes are cut in 3, and 5 is as good a chunk as 6.
    tiling = axes_tiling(folded((3, 4, 15), [1]), 1000, SIM)
    assert (tiling.chunk_length, tiling.chunk_count, tiling.groups) == (5, 3, 9)


def test_three_eighths_of_the_unified_buffer_take_a_tile_of_a_convolution(
    add_node: AddNode, graph: Graph
) -> None:
    # 3/8 of 256 KiB hold 16384 sums and results of 6 bytes; an eighth would hold 5461.
    case = Case((1, 64, 56, 56), 64, (3, 3), pads=(1, 1, 1, 1))
    node = convolution(add_node, graph, case, "float16")
    kernel = only_kernel(graph)
    tiling: Any = family_of(kernel.facts).plan(Launch(kernel.facts, node, SIM)).tiling
    assert 256 * 1024 // 8 // 6 < tiling.tile_m * tiling.tile_n <= 256 * 1024 * 3 // 8 // 6


IMAGE = Storage(Format.NC1HWC0)
RESULT = (2, 64, 4, 6)


@pytest.mark.parametrize(
    ("storage", "shape", "fits"),
    [
        (IMAGE, RESULT, True),
        (IMAGE, (1, 64, 1, 6), True),
        (IMAGE, (2, 16, 4, 6), False),
        (IMAGE, (2, 1, 4, 6), False),
        (IMAGE, (2, 64, 2, 6), False),
        (Storage(Format.FRACTAL_NZ), RESULT, False),
    ],
)
def test_blocks_of_an_operand_are_those_of_the_result_or_repeat_whole(
    storage: Storage, shape: Shape, fits: bool
) -> None:
    ports = [
        KernelPort(name, 0, F16, "NCHW", "half", "half", kept)
        for name, kept in (("x", storage), ("y", IMAGE))
    ]
    operand, result = Seen(ports[0], shape), Seen(ports[1], RESULT)
    footprint = ElementFootprint.of([F16, F16])
    tiling = plane_tiling(result, [operand, result], 16, footprint, SIM)
    assert (tiling is not None) is fits


def test_numbers_of_channels_are_read_in_blocks(add_node: AddNode, graph: Graph) -> None:
    image = TensorType(F16, RESULT, Format.NCHW, IMAGE)
    add_node(graph, "PRelu", [image, TensorType(F16, RESULT[1:2])], [image])
    assert not only_kernel(graph).facts.key.by_rows


@pytest.mark.parametrize(
    ("room", "rectangle"),
    [(32, (2, 16)), (31, (1, 16)), (16, (1, 16)), (15, (1, 8))],
)
def test_positions_of_a_map_see_what_there_is_room_for(
    room: int, rectangle: tuple[int, int]
) -> None:
    """Two rows of 16 elements fill 32 places, one row 16."""
    image, strides = (1, 8, 16, 16), (1, 1)
    geometry = _Geometry(image, image, (1, 1), strides, groups=1, transposed=False)
    assert geometry.rectangle(32, 8, room) == rectangle


@pytest.mark.parametrize(
    ("storage", "operands", "vector_cores", "fits"),
    [
        (None, (), 2, True),
        ("blocks", (), 2, False),
        ("blocks", (), 1, True),
        (None, (OFFSET,), 2, False),
        (None, (OFFSET,), 1, True),
    ],
)
def test_blocks_and_offsets_need_a_unified_buffer_beside_the_cube(
    storage: str | None, operands: tuple[int, ...], vector_cores: int, fits: bool
) -> None:
    inputs = [SimpleNamespace(position=at) for at in (0, 1, *operands)]
    kernel = SimpleNamespace(outputs=[SimpleNamespace(storage=storage)], inputs=inputs)
    soc = SimpleNamespace(aicores=1, vector_cores=vector_cores)
    launch: Any = SimpleNamespace(kernel=kernel, soc=soc)
    assert _ProductsOfBlocks().fits(launch) is fits


@pytest.mark.parametrize(
    ("crops", "operands", "is_covered"),
    [
        (True, "x roi sizes", True),
        (True, "x sizes", False),
        (False, "x roi sizes", True),
        (False, "x sizes", True),
        (False, "x roi", False),
    ],
)
def test_crops_need_their_region_and_all_a_size(
    crops: bool, operands: str, is_covered: bool
) -> None:
    mode = "tf_crop_and_resize" if crops else "half_pixel"
    attributes = {"mode": "linear", "coordinate_transformation_mode": mode}
    inputs = [SimpleNamespace(name=name) for name in operands.split()]
    kernel: Any = SimpleNamespace(op="Resize", attributes=attributes, inputs=inputs)
    assert _Resizing().covers(kernel) is is_covered

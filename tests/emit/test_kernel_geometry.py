"""From operands to tiling numbers: which extents a kernel counts, for each family."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from atc_py.dtypes import DType
from atc_py.emit.geometry import tile_node
from atc_py.emit.keys import kernel_key
from atc_py.emit.tiling import CubeTiling, RowTiling, ShardTiling, VectorTiling
from atc_py.formats import Format
from atc_py.ir import Engine, Graph, TensorType
from atc_py.target import find_operator, find_soc

if TYPE_CHECKING:
    from atc_py.emit.tiling import Tiling
    from atc_py.ir import AttrValue, Node
    from atc_py.shapes import Shape
    from tests.emit.conftest import AddNode

F16, F32 = DType.FLOAT16, DType.FLOAT32
MAP = (2, 32, 10, 12)


def _tiling(node: Node) -> Tiling:
    row = find_operator(node.op)
    assert row is not None
    assert node.engine is not None
    return tile_node(node, row, kernel_key(node, row, node.engine), find_soc("sim"))


def _product(node: Node) -> tuple[int, int, int, int]:
    tiling = _tiling(node)
    assert isinstance(tiling, CubeTiling)
    return tiling.batch, tiling.m, tiling.n, tiling.k


def _fold(node: Node) -> tuple[int, int, int]:
    tiling = _tiling(node)
    assert isinstance(tiling, RowTiling)
    return tiling.outer, tiling.axis, tiling.inner


@pytest.mark.parametrize(
    ("left", "right", "flags"),
    [
        ((48, 80), (80, 100), {}),
        ((80, 48), (80, 100), {"transpose_x1": True}),
        ((48, 80), (100, 80), {"transpose_x2": True}),
    ],
)
def test_matmul_reads_its_extents_through_transposes(
    graph: Graph, add_node: AddNode, left: Shape, right: Shape, flags: dict[str, AttrValue]
) -> None:
    node = add_node(graph, "MatMulV2", [left, right], [(48, 100)], flags)
    assert _product(node) == (1, 48, 100, 80)


def test_matmul_puts_fractal_tiles_together(graph: Graph, add_node: AddNode) -> None:
    def tiles(*shape: int) -> TensorType:
        return TensorType(F16, shape, Format.FRACTAL_NZ)

    node = add_node(
        graph, "MatMulV2", [tiles(5, 3, 16, 16), tiles(7, 5, 16, 16)], [tiles(7, 3, 16, 16)]
    )
    assert _product(node) == (1, 48, 112, 80)


@pytest.mark.parametrize(
    ("op", "x", "weights", "y", "attributes", "expected"),
    [
        ("Conv2D", MAP, (48, 32, 3, 3), (2, 48, 8, 10), {}, (2, 80, 48, 288)),
        ("Conv2D", MAP, (48, 8, 3, 3), (2, 48, 8, 10), {"groups": 4}, (8, 80, 12, 72)),
        ("DepthwiseConv2D", MAP, (64, 1, 3, 3), (2, 64, 8, 10), {}, (64, 80, 2, 9)),
        ("Conv2DTransposeD", MAP, (32, 48, 2, 2), (2, 48, 20, 24), {}, (2, 480, 48, 128)),
    ],
)
def test_conv_is_a_product_per_image_and_group(  # noqa: PLR0913
    graph: Graph,
    add_node: AddNode,
    op: str,
    x: Shape,
    weights: Shape,
    y: Shape,
    attributes: dict[str, AttrValue],
    expected: tuple[int, int, int, int],
) -> None:
    assert _product(add_node(graph, op, [x, weights], [y], attributes)) == expected


def test_conv_reads_storage_formats(graph: Graph, add_node: AddNode) -> None:
    x = TensorType(F16, (1, 2, 10, 12, 16), Format.NC1HWC0)
    weights = TensorType(F16, (18, 3, 16, 16), Format.FRACTAL_Z)
    y = TensorType(F16, (1, 3, 8, 10, 16), Format.NC1HWC0)
    assert _product(add_node(graph, "Conv2D", [x, weights], [y])) == (1, 80, 48, 288)


@pytest.mark.parametrize(
    ("op", "x", "y", "attributes", "expected"),
    [
        ("SoftmaxV2", MAP, MAP, {"axes": (-1,)}, (640, 12, 1)),
        ("SoftmaxV2", MAP, MAP, {"axes": (1,)}, (2, 32, 120)),
        ("ReduceMeanD", MAP, (2, 32), {"axes": (2, 3)}, (64, 120, 1)),
        ("ReduceMeanD", MAP, (32, 12), {"axes": (0, 2)}, (32, 20, 12)),
        ("ReduceMeanD", MAP, (), {"axes": ()}, (1, 7680, 1)),
        ("ReduceMeanD", (), (), {"axes": ()}, (1, 1, 1)),
        ("SquareSumV1", MAP, (2, 12), {"axis": (1, 2)}, (2, 320, 12)),
        ("ArgMaxD", MAP, (2, 10, 12), {"dimension": 1}, (2, 32, 120)),
        ("CumsumD", MAP, MAP, {"axis": -2}, (64, 10, 12)),
        ("MVNV2", MAP, MAP, {}, (32, 240, 1)),
        ("LRN", MAP, MAP, {}, (2, 32, 120)),
        ("MaxPoolV3", MAP, (2, 32, 5, 6), {}, (320, 6, 1)),
        ("AvgPoolV2", MAP, (2, 32, 1, 1), {"global_pooling": True}, (64, 120, 1)),
    ],
)
def test_rows_follow_the_axes(  # noqa: PLR0913
    graph: Graph,
    add_node: AddNode,
    op: str,
    x: Shape,
    y: Shape,
    attributes: dict[str, AttrValue],
    expected: tuple[int, int, int],
) -> None:
    assert _fold(add_node(graph, op, [x], [y], attributes)) == expected


@pytest.mark.parametrize(("shape", "expected"), [(MAP, (64, 120, 1)), ((4, 32), (128, 1, 1))])
def test_batch_norm_rows_are_planes(
    graph: Graph, add_node: AddNode, shape: Shape, expected: tuple[int, int, int]
) -> None:
    node = add_node(graph, "BNInfer", [shape, *[(32,)] * 4], [shape])
    assert _fold(node) == expected


def test_moves_count_the_elements_of_all_results(graph: Graph, add_node: AddNode) -> None:
    tiling = _tiling(add_node(graph, "SplitVD", [(4, 9)], [(4, 4), (4, 5)]))
    assert isinstance(tiling, VectorTiling)
    assert tiling.total_length == 36


def test_flat_kernels_share_the_buffer_among_their_queues(graph: Graph, add_node: AddNode) -> None:
    shape = (8, 10**6)
    add = _tiling(add_node(graph, "Add", [shape, shape], [shape]))
    relu = _tiling(add_node(graph, "Relu", [shape], [shape]))
    move = _tiling(add_node(graph, "TransposeD", [shape], [shape], {"perm": (1, 0)}))
    assert isinstance(add, VectorTiling)
    assert isinstance(relu, VectorTiling)
    assert isinstance(move, VectorTiling)
    # 262144 B over 12, 8 and 4 bytes an element.
    assert (add.tile_length, relu.tile_length, move.tile_length) == (21840, 32768, 65536)


def test_aicpu_nodes_are_shared_out_over_its_cores(graph: Graph, add_node: AddNode) -> None:
    node = add_node(graph, "Relu", [(100,)], [(100,)], engine=Engine.AICPU)
    assert _tiling(node) == ShardTiling(100, 8, 13)


def test_quantisation_counts_the_elements_of_one_result_and_queues_all(
    graph: Graph, add_node: AddNode
) -> None:
    inputs: list[Shape | TensorType | None] = [MAP, (32,), MAP]
    both = add_node(graph, "AscendRequantS16", inputs, [MAP] * 2, {"dual_output": True})
    tiling = _tiling(both)
    assert isinstance(tiling, VectorTiling)
    assert tiling.total_length == 2 * 32 * 10 * 12
    # large tensors are cut into tiles: queues of two int16, an int8 and maybe one more int16
    large = (2**24,)
    one = _tiling(add_node(graph, "AscendRequantS16", [large, (1,), large], [large]))
    two = _tiling(
        add_node(
            graph, "AscendRequantS16", [large, (1,), large], [large] * 2, {"dual_output": True}
        )
    )
    assert isinstance(one, VectorTiling)
    assert isinstance(two, VectorTiling)
    ub = find_soc("sim").ub_kib * 1024
    assert one.tile_length == ub // (2 * (2 + 2 + 1)) // 32 * 32
    assert two.tile_length == ub // (2 * (2 + 2 + 1 + 2)) // 32 * 32

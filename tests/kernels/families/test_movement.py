"""Data movement on the host: bit for bit what the simulator moves, on awkward shapes."""

import pytest

from atc_py.ir import AttrValue, Graph, Phase, TensorType
from atc_py.kernels.registry import FAMILIES
from atc_py.target import find_operator
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.kernels.conftest import AddNode
from tests.kernels.families.conftest import Verified, wrong
from tests.sampling import sampled

F16, F32, I8, I64 = DType.FLOAT16, DType.FLOAT32, DType.INT8, DType.INT64
BOOL = DType.BOOL
PERMUTATIONS: list[tuple[Shape, tuple[int, ...]]] = [
    ((1,), (0,)),
    ((31, 1), (1, 0)),
    ((7, 31), (1, 0)),
    ((3, 5, 7), (0, 2, 1)),
    ((3, 5, 7), (2, 1, 0)),
    ((3, 5, 7), (1, 0, 2)),
    ((2, 3, 5, 33), (0, 2, 1, 3)),
    ((2, 3, 5, 31), (0, 2, 3, 1)),
    ((2, 5, 31, 3), (0, 3, 1, 2)),
    ((2, 3, 1, 5, 4, 7), (0, 1, 3, 2, 5, 4)),
    ((0, 5, 3), (2, 0, 1)),
]
"""One element, primes, tails of 1 and 31 bytes, every axis moved, nothing."""

HEADS: list[tuple[Shape, tuple[int, ...], Shape, bool]] = [
    ((2, 5, 24), (0, 2, 1, 3), (2, 5, 3, 8), False),
    ((2, 3, 5, 8), (0, 2, 1, 3), (2, 5, 24), True),
    ((1, 31, 64), (0, 2, 3, 1), (1, 31, 4, 16), False),
    ((1, 1, 1, 1), (0, 2, 1, 3), (1, 1), True),
    ((0, 3, 5, 8), (0, 2, 1, 3), (0, 5, 24), True),
]
"""Data, axes, the shape between or after, and whether the axes are moved first."""

LARGE: list[tuple[Shape, tuple[int, ...]]] = [
    ((523, 1_009), (1, 0)),
    ((2, 70_001), (1, 0)),
    ((70_001, 3), (1, 0)),
    ((2, 3, 40_009), (1, 0, 2)),
]
"""Beyond all buffers of a core: both sides, one side, and runs."""


def _node(
    graph: Graph,
    add_node: AddNode,
    op: str,
    dtype: DType,
    shapes: tuple[list[Shape], list[Shape]],
    **attributes: AttrValue,
) -> None:
    """Add a node whose operands are all of one dtype."""
    types = [[TensorType(dtype, shape) for shape in side] for side in shapes]
    add_node(graph, op, types[0], types[1], attributes)


def _taken(shape: Shape, order: tuple[int, ...]) -> Shape:
    return tuple(shape[axis] for axis in order)


def test_no_operator_of_the_family_is_untested() -> None:
    # TransData, which moves blocks, is in test_trans_data.py.
    listed = {
        op for each in FAMILIES.all().values() if each.template == "move" for op in each.operators
    }
    assert listed - {"TransData"} == {
        "ConcatD", "ConfusionTransposeD", "DepthToSpace", "ExpandD", "PadV3D", "SpaceToDepth", "SplitD", "SplitVD",
        "StridedSliceD", "TileD", "TransposeD",
    }  # fmt: skip


@pytest.mark.parametrize("dtype", sampled([F16], [F32, I8, I64, BOOL]))
def test_transpositions_agree(add_node: AddNode, verified: Verified, dtype: DType) -> None:
    graph = Graph("transpose", Phase.TYPED)
    for shape, perm in PERMUTATIONS:
        _node(graph, add_node, "TransposeD", dtype, ([shape], [_taken(shape, perm)]), perm=perm)
    checked = verified(graph)
    assert len(checked) == len(PERMUTATIONS)
    assert wrong(checked) == []


@pytest.mark.parametrize("dtype", sampled([F16], [F32]))
def test_heads_are_split_and_joined(add_node: AddNode, verified: Verified, dtype: DType) -> None:
    graph = Graph("heads", Phase.TYPED)
    for data, perm, shape, first in HEADS:
        result = shape if first else _taken(shape, perm)
        attributes: dict[str, AttrValue] = {
            "perm": perm, "shape": shape, "transpose_first": first,
        }  # fmt: skip
        _node(graph, add_node, "ConfusionTransposeD", dtype, ([data], [result]), **attributes)
    checked = verified(graph)
    assert len(checked) == len(HEADS)
    assert wrong(checked) == []


@pytest.mark.parametrize(
    ("op", "result", "attributes"),
    sampled(
        [("TransposeD", (31, 7), {"perm": (1, 0)})],
        [
            ("TileD", (14, 93), {"multiples": (2, 3)}),
            ("SpaceToDepth", (1, 1, 7, 31), {"block_size": 1}),
            ("SplitVD", (7, 31), {"split_dim": 0, "num_split": 1, "size_splits": (7,)}),
        ],
    ),
)
def test_every_dtype_is_moved(
    add_node: AddNode,
    verified: Verified,
    op: str,
    result: Shape,
    attributes: dict[str, AttrValue],
) -> None:
    """Check the row's columns in one shape: in another order, repeated, cut out."""
    graph = Graph("dtypes", Phase.TYPED)
    row = find_operator(op)
    assert row is not None
    before: Shape = (1, 1, 7, 31) if op == "SpaceToDepth" else (7, 31)
    for column in row.columns:
        _node(graph, add_node, op, column.inputs[0], ([before], [result]), **attributes)
    checked = verified(graph, "Ascend910B1", sanitize=False)
    assert len(checked) == len(row.columns) >= 10
    assert wrong(checked) == []


@pytest.mark.parametrize("soc", sampled(["Ascend310P3"], ["Ascend910B1"]))
def test_transpositions_beyond_all_buffers_agree(
    add_node: AddNode, verified: Verified, soc: str
) -> None:
    graph = Graph("large", Phase.TYPED)
    for shape, perm in LARGE:
        for dtype in (F16, I8):
            _node(graph, add_node, "TransposeD", dtype, ([shape], [_taken(shape, perm)]), perm=perm)
    assert wrong(verified(graph, soc)) == []


SLICES: list[tuple[Shape, tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = [
    ((1,), (0,), (1,), (1,)),
    ((97,), (3,), (96,), (1,)),
    ((97,), (96,), (-1,), (-1,)),
    ((97,), (90,), (2,), (-7,)),
    ((5_003,), (1,), (5_003,), (100,)),
    ((5_003,), (5_002,), (0,), (-100,)),
    ((3, 5, 31), (0, 1, 0), (3, 4, 31), (1, 1, 1)),
    ((3, 5, 31), (2, 4, 30), (-1, -1, -1), (-1, -1, -1)),
    ((3, 5, 31), (0, 0, 1), (3, 5, 31), (2, 2, 2)),
    ((3, 5, 31), (0, 0, 7), (3, 5, 8), (1, 1, 1)),
    ((3, 5, 31), (1, 0, 0), (1, 5, 31), (1, 1, 1)),
    ((40_009, 5), (0, 3), (40_009, 4), (3, 1)),
    ((3, 300_007), (2, 300_006), (-1, -1), (-2, -3)),
]
"""Forwards and backwards on every axis, steps from 1 to beyond a block, nothing left, large."""


@pytest.mark.parametrize("dtype", sampled([F16], [BOOL]))
def test_slices_agree(add_node: AddNode, verified: Verified, dtype: DType) -> None:
    graph = Graph("slice", Phase.TYPED)
    for shape, begin, end, strides in SLICES:
        ends = [None if step < 0 and to < 0 else to for to, step in zip(end, strides, strict=True)]
        bounds = zip(shape, begin, ends, strides, strict=True)
        result = tuple(len(range(*slice(*rest).indices(dim))) for dim, *rest in bounds)
        sides: tuple[list[Shape], list[Shape]] = ([shape], [result])
        _node(
            graph, add_node, "StridedSliceD", dtype, sides,
            begin=begin, end=end, strides=strides,
        )  # fmt: skip
    checked = verified(graph)
    assert len(checked) == len(SLICES)
    assert wrong(checked) == []


def test_slices_with_masked_bounds_agree(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("masked", Phase.TYPED)
    _node(
        graph, add_node, "StridedSliceD", F16, ([(5, 7)], [(3, 4)]),
        begin=(4, 3), end=(3, 5), strides=(1, 1), begin_mask=1, end_mask=2,
    )  # fmt: skip
    assert wrong(verified(graph)) == []


TILES: list[tuple[Shape, tuple[int, ...]]] = [
    ((1,), (31,)),
    ((7,), (1,)),
    ((5, 1), (1, 13)),
    ((5, 7), (3, 2)),
    ((1, 5, 1, 7), (3, 1, 2, 1)),
    ((2, 3), (0, 2)),
    ((3, 1), (1, 200_003)),
    ((1, 90_001), (5, 1)),
]
EXPANDS: list[tuple[Shape, Shape]] = [
    ((), (3, 5)),
    ((1,), (31,)),
    ((5, 1), (3, 5, 7)),
    ((3, 1, 7), (3, 5, 7)),
    ((1, 0), (3, 0)),
    ((1, 3, 1, 1), (2, 3, 33, 31)),
]


@pytest.mark.parametrize("dtype", sampled([I8], [F32]))
def test_repetitions_agree(add_node: AddNode, verified: Verified, dtype: DType) -> None:
    graph = Graph("tile", Phase.TYPED)
    for shape, multiples in TILES:
        result = tuple(dim * count for dim, count in zip(shape, multiples, strict=True))
        _node(graph, add_node, "TileD", dtype, ([shape], [result]), multiples=multiples)
    for shape, result in EXPANDS:
        _node(graph, add_node, "ExpandD", dtype, ([shape], [result]), shape=result)
    checked = verified(graph)
    assert len(checked) == len(TILES) + len(EXPANDS)
    assert wrong(checked) == []


@pytest.mark.parametrize("dtype", sampled([F16], [I8]))
def test_blocks_of_channels_agree(add_node: AddNode, verified: Verified, dtype: DType) -> None:
    graph = Graph("blocks", Phase.TYPED)
    for deep, wide, block in (
        ((1, 4, 1, 1), (1, 1, 2, 2), 2),
        ((2, 27, 5, 7), (2, 3, 15, 21), 3),
        ((2, 12, 5, 131), (2, 3, 10, 262), 2),
        ((0, 4, 3, 5), (0, 1, 6, 10), 2),
        ((3, 5, 3, 5), (3, 5, 3, 5), 1),
    ):
        for mode in ("DCR", "CRD"):
            sides: tuple[list[Shape], list[Shape]] = ([deep], [wide])
            _node(graph, add_node, "DepthToSpace", dtype, sides, block_size=block, mode=mode)
        _node(graph, add_node, "SpaceToDepth", dtype, ([wide], [deep]), block_size=block)
    assert wrong(verified(graph)) == []


JOINS: list[tuple[list[Shape], int]] = [
    ([(1,)], 0),
    ([(1,), (31,), (2,)], 0),
    ([(3, 5, 7), (3, 1, 7), (3, 2, 7)], 1),
    ([(3, 5, 1), (3, 5, 31)], -1),
    ([(2, 5), (0, 5), (3, 5)], 0),
    ([(0, 5), (0, 3)], 1),
    ([(2, 100_003), (2, 1), (2, 40_009)], 1),
    ([(5_003, 1), (5_003, 1)], 1),
]
"""One tensor, tails, every axis, empty ones among others, beyond all buffers, runs of one."""


@pytest.mark.parametrize("dtype", sampled([I64], [F16, I8]))
def test_joined_and_split_tensors_agree(
    add_node: AddNode, verified: Verified, dtype: DType
) -> None:
    graph = Graph("join", Phase.TYPED)
    for parts, axis in JOINS:
        dims = [part[axis] for part in parts]
        whole = tuple(
            sum(dims) if at == axis % len(parts[0]) else dim for at, dim in enumerate(parts[0])
        )
        many = len(parts)
        _node(graph, add_node, "ConcatD", dtype, (parts, [whole]), concat_dim=axis, N=many)
        _node(
            graph, add_node, "SplitVD", dtype, ([whole], parts),
            split_dim=axis, num_split=many, size_splits=tuple(dims),
        )  # fmt: skip
    _node(
        graph, add_node, "SplitD", dtype, ([(3, 6, 5)], [(3, 2, 5)] * 3), split_dim=1, num_split=3
    )
    checked = verified(graph)
    assert len(checked) == 2 * len(JOINS) + 1
    assert wrong(checked) == []


BORDERS: list[tuple[Shape, tuple[int, ...]]] = [
    ((1,), (0, 0)),
    ((7,), (3, 2)),
    ((5, 31), (0, 0, 1, 2)),
    ((5, 31), (4, 3, 0, 0)),
    ((2, 3, 5, 7), (0, 0, 0, 0, 3, 1, 2, 4)),
    ((2, 3, 5, 7), (1, 1, 2, 0, 0, 1, 1, 1)),
    ((5, 31), (-1, 2, 3, -4)),
    ((5, 7), (1, 0, -3, -3)),
    ((3, 90_001), (1, 1, 2, 1)),
]
"""On every axis, on one side, negative ones, and tensors beyond all buffers."""


@pytest.mark.parametrize(
    ("dtype", "mode"),
    sampled(
        [(I8, "constant"), (F16, "reflect")],
        [(F16, "constant"), (F16, "edge"), (I8, "edge"), (I8, "reflect")],
    ),
)
def test_borders_agree(add_node: AddNode, verified: Verified, dtype: DType, mode: str) -> None:
    graph = Graph("pad", Phase.TYPED)
    for shape, paddings in BORDERS:
        pairs = list(zip(paddings[::2], paddings[1::2], strict=True))
        if mode == "reflect" and any(max(pair) >= n for pair, n in zip(pairs, shape, strict=True)):
            continue
        result = tuple(dim + sum(pair) for dim, pair in zip(shape, pairs, strict=True))
        sides: tuple[list[Shape], list[Shape]] = ([shape], [result])
        _node(
            graph, add_node, "PadV3D", dtype, sides,
            paddings=paddings, mode=mode, constant_values=-3.0,
        )  # fmt: skip
    checked = verified(graph)
    assert len(checked) >= len(BORDERS) - 1
    assert wrong(checked) == []


def test_borders_of_an_empty_tensor_are_all_constant(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("empty", Phase.TYPED)
    for value in (0.0, float("-inf"), 0.1):
        sides: tuple[list[Shape], list[Shape]] = ([(0, 3)], [(2, 5)])
        _node(
            graph, add_node, "PadV3D", F32, sides,
            paddings=(1, 1, 1, 1), mode="constant", constant_values=value,
        )  # fmt: skip
    assert wrong(verified(graph)) == []

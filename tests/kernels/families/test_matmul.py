"""Matrix products on the host: what the simulator computes, on awkward shapes."""

from dataclasses import dataclass

import numpy as np
import pytest

from atc_py.ir import Graph, Phase, TensorType
from atc_py.kernels.cube import square_of
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.kernels.conftest import AddNode
from tests.kernels.families.conftest import Verified, wrong
from tests.sampling import sampled

F16, F32, BF16 = DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16
I8, I32 = DType.INT8, DType.INT32
COLUMNS = {
    "float16": (F16, F16, F16),
    "float32": (F32, F32, F32),
    "int8": (I8, I32, I32),
    "float32-sums": (F16, F32, F32),
}
"""Dtypes of operands, bias and result."""

AWKWARD = [
    (1, 1, 1), (1, 7, 1), (17, 1, 5), (31, 33, 29), (5, 257, 3), (2, 3, 67), (64, 16, 32),
    (0, 5, 3), (3, 5, 0), (3, 0, 5),
]  # fmt: skip
"""m, k and n: one element, primes, tails of a fractal, nothing along each of them."""


@dataclass(frozen=True)
class Case:
    """[m, k] by [k, n], either matrix transposed in memory; offsets of int8 by their number."""

    sizes: tuple[int, int, int]
    turned: tuple[bool, bool] = (False, False)
    bias: bool = True
    offsets: int = 0


def _add(add_node: AddNode, graph: Graph, case: Case, column: tuple[DType, DType, DType]) -> None:
    """Add a MatMulV2."""
    m, k, n = case.sizes
    x1: Shape = (k, m) if case.turned[0] else (m, k)
    x2: Shape = (n, k) if case.turned[1] else (k, n)
    inputs: list[Shape | TensorType | None] = [
        TensorType(column[0], x1),
        TensorType(column[0], x2),
        TensorType(column[1], (n,)) if case.bias else None,
        TensorType(I8, (case.offsets,)) if case.offsets else None,
    ]
    attributes = {"transpose_x1": case.turned[0], "transpose_x2": case.turned[1]}
    add_node(graph, "MatMulV2", inputs, [TensorType(column[2], (m, n))], attributes)


@pytest.mark.parametrize("name", sampled(["float16", "int8"], ["float32", "float32-sums"]))
def test_products_of_awkward_sizes_agree_however_they_are_turned(
    add_node: AddNode, verified: Verified, name: str
) -> None:
    graph = Graph("turned", Phase.TYPED)
    for turned in ((False, False), (False, True), (True, False), (True, True)):
        for sizes in AWKWARD:
            _add(add_node, graph, Case(sizes, turned, bias=turned[0]), COLUMNS[name])
    checked = verified(graph)
    assert len(checked) == 4 * len(AWKWARD)
    assert wrong(checked) == []


@pytest.mark.parametrize("turned", sampled([((True, True),)], [((False, False),)]))
def test_offsets_of_weights_agree(
    add_node: AddNode, verified: Verified, turned: tuple[bool, bool]
) -> None:
    graph = Graph("offsets", Phase.TYPED)
    for sizes in ((5, 37, 3), (33, 70, 35), (1, 1, 1)):
        for width in {1, sizes[2]}:
            for bias in (False, True):
                _add(add_node, graph, Case(sizes, turned, bias, width), COLUMNS["int8"])
    assert wrong(verified(graph)) == []


STACKS: list[tuple[Shape, Shape]] = [
    ((2, 3), (2, 3)), ((2, 3), (3,)), ((1, 3), (2, 1)), ((), (4,)), ((2, 1, 3), (5, 1)),
    ((0, 2), (1, 2)),
]  # fmt: skip


@pytest.mark.parametrize("flags", sampled([((False, False),)], [((True, True),)]))
def test_stacks_are_broadcast(
    add_node: AddNode, verified: Verified, flags: tuple[bool, bool]
) -> None:
    graph = Graph("stacks", Phase.TYPED)
    m, k, n = 5, 18, 7
    for left, right in STACKS:
        for one, other in ((left, right), (right, left)):
            x1 = (*one, k, m) if flags[0] else (*one, m, k)
            x2 = (*other, n, k) if flags[1] else (*other, k, n)
            y = (*np.broadcast_shapes(one, other), m, n)
            types = [TensorType(F16, x1), TensorType(F16, x2), TensorType(F16, (n,))]
            attributes = {"adj_x1": flags[0], "adj_x2": flags[1]}
            add_node(graph, "BatchMatMulV2", types, [TensorType(F16, y)], attributes)
    checked = verified(graph)
    assert len(checked) >= len(STACKS) + 2
    assert wrong(checked) == []


def test_stacks_of_the_custom_operator_agree(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("custom", Phase.TYPED)
    for dtype in (F16, F32):
        types = [TensorType(dtype, (2, 3, 18, 5)), TensorType(dtype, (2, 3, 7, 18))]
        attributes = {"adj_x1": True, "adj_x2": True}
        add_node(graph, "BatchMatMul", types, [TensorType(dtype, (2, 3, 5, 7))], attributes)
    assert wrong(verified(graph)) == []


def test_bfloat16_agrees_where_the_cube_has_it(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("bfloat16", Phase.TYPED)
    for turned in ((False, False), (True, True)):
        _add(add_node, graph, Case((33, 257, 31), turned), (BF16, BF16, BF16))
    assert wrong(verified(graph, "Ascend310B1")) == []


@pytest.mark.parametrize(
    ("name", "turned"),
    sampled(
        [("float32", (False, False)), ("int8", (True, True))],
        [
            ("float32", (True, True)), ("int8", (False, False)),
            ("float16", (False, False)), ("float16", (True, True)),
        ],
    ),
)  # fmt: skip
def test_products_larger_than_all_buffers_are_cut_along_every_dim(
    add_node: AddNode, verified: Verified, name: str, turned: tuple[bool, bool]
) -> None:
    """Check rows, columns and the sum over two tiles of L1, on a SoC with few cores.

    Its buffers are the smallest, but its cube has no float32.
    """
    graph = Graph("large", Phase.TYPED)
    _add(add_node, graph, Case((300, 2801, 290), turned), COLUMNS[name])
    soc = "sim" if name == "float32" else "Hi3796CV300CS"
    (checked,) = verified(graph, soc, sanitize=False)
    tiling = checked.kernel["rows"][0]["tiling"]
    assert min(tiling["m_count"], tiling["n_count"], tiling["l1_count"]) > 1
    assert tiling["l1_k"] > tiling["tile_k"]
    assert min(tiling["tile_m"], tiling["tile_n"]) > square_of(1)
    assert wrong([checked]) == []


@pytest.mark.parametrize(
    "name", sampled(["float32-sums", "int8"], ["float16", "float32", "bfloat16"])
)
def test_results_leave_split_cores_row_by_row(
    add_node: AddNode, verified: Verified, name: str
) -> None:
    """Check Fixpipe, with the bias from the table."""
    graph = Graph("split", Phase.TYPED)
    column = COLUMNS.get(name, (BF16, BF16, BF16))
    for turned in ((False, False), (True, True)):
        for sizes in (*AWKWARD, (35, 19, 700)):
            _add(add_node, graph, Case(sizes, turned, bias=turned[0]), column)
    checked = verified(graph, "Ascend910B1")
    assert len(checked) == 2 * len(AWKWARD) + 2
    assert wrong(checked) == []


def test_offsets_agree_on_split_cores(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("split-offsets", Phase.TYPED)
    for turned in ((False, False), (True, True)):
        for bias, offsets in ((False, 3), (True, 1)):
            _add(add_node, graph, Case((5, 37, 3), turned, bias, offsets), COLUMNS["int8"])
    assert {each.verdict.value for each in verified(graph, "Ascend910B1")} == {"equal"}


def test_rows_too_long_for_one_copy_of_fractals_agree(
    add_node: AddNode, verified: Verified
) -> None:
    graph = Graph("long", Phase.TYPED)
    _add(add_node, graph, Case((3, 17, 65_551)), COLUMNS["float16"])
    _add(add_node, graph, Case((3, 65_551, 17), (False, True)), COLUMNS["float16"])
    assert wrong(verified(graph, sanitize=False)) == []


@pytest.mark.parametrize("soc", ["sim", "Ascend910B3"])
def test_products_of_hf32_round_their_operands(
    add_node: AddNode, verified: Verified, soc: str
) -> None:
    """Results near 0 are off by far more than passes where operands are multiplied as they are."""
    graph = Graph("hf32", Phase.TYPED)
    types = [TensorType(F32, (37, 257)), TensorType(F32, (257, 50)), TensorType(F32, (50,))]
    attributes = {"impl_mode": "enable_hi_float_32_execution"}
    add_node(graph, "MatMulV2", types, [TensorType(F32, (37, 50))], attributes)
    checked = verified(graph, soc)
    assert len(checked) == 1
    assert wrong(checked) == []

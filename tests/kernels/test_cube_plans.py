"""Plans of products on the cube: tiles cover the result, and buffers fit every SoC."""

from math import prod
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from atc_py.ir import AttrValue, Engine, Graph, Phase, TensorType
from atc_py.kernels.collect import collect
from atc_py.kernels.cube import CubeProduct, TileBounds, sides_of, square_of
from atc_py.kernels.family import Launch, Plan
from atc_py.kernels.registry import family_of
from atc_py.target import Soc, find_soc, socs
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Shape
from tests.sampling import examples

SOCS = st.sampled_from(socs())
COLUMNS = st.sampled_from(
    [
        (DType.FLOAT16, DType.FLOAT16, DType.FLOAT16),
        (DType.FLOAT32, DType.FLOAT32, DType.FLOAT32),
        (DType.INT8, DType.INT32, DType.INT32),
        (DType.FLOAT16, DType.FLOAT32, DType.FLOAT32),
    ]
)
"""Dtypes of operands, bias and result."""

DIMS = st.one_of(st.integers(0, 40), st.integers(1, 600), st.integers(1, 2**20))
SMALL = st.integers(1, 9)


def _plan(
    op: str,
    shapes: tuple[Shape, Shape, int, Shape],
    column: tuple[DType, DType, DType],
    attributes: dict[str, AttrValue],
    soc: Soc,
) -> Plan:
    """Return the plan of one node with a bias and, of int8, offsets."""
    graph = Graph("plan", Phase.TYPED)
    x, w, channels, y = shapes
    fmt = Format.NCHW if len(x) == len("NCHW") else Format.ND
    types = [TensorType(column[0], x, fmt), TensorType(column[0], w, fmt)]
    types.append(TensorType(column[1], (channels,)))
    if column[0] is DType.INT8:
        types.append(TensorType(DType.INT8, (channels,)))
    inputs = [graph.add_input("in", each) for each in types]
    node = graph.add_node(op, inputs, [("y", TensorType(column[2], y, fmt))], attributes)
    node.engine = Engine.AICORE
    (kernel,) = collect(graph, find_soc("sim"))
    return family_of(kernel.facts).plan(Launch(kernel.facts, node, soc))


def _check(plan: Plan, itemsize: int, soc: Soc) -> None:
    """Check that buffers fit, and tiles are whole squares and cover rows, columns and sums."""
    sizes = {
        "ub": soc.ub_kib, "l1": soc.l1_kib, "l0a": soc.l0a_kib, "l0b": soc.l0a_kib,
        "l0c": soc.l0c_kib,
    }  # fmt: skip
    for storage, kib in sizes.items():
        assert plan.used(storage) <= kib * 1024, storage
    tiling: Any = plan.tiling
    square = square_of(itemsize)
    assert not any(
        side % square for side in (tiling.tile_m, tiling.tile_n, tiling.tile_k, tiling.l1_k)
    )
    assert tiling.l1_k % tiling.tile_k == 0
    assert (tiling.m_count - 1) * tiling.tile_m < tiling.m <= tiling.m_count * tiling.tile_m
    assert (tiling.l1_count - 1) * tiling.l1_k < tiling.k <= tiling.l1_count * tiling.l1_k
    assert tiling.tile_count == tiling.batch * tiling.m_count * tiling.n_count
    assert 1 <= plan.cores == tiling.core_num <= soc.aicores


@examples(200)
@given(DIMS, DIMS, DIMS, COLUMNS, SOCS)
def test_products_fit_every_soc(
    m: int, k: int, n: int, column: tuple[DType, DType, DType], soc: Soc
) -> None:
    plan = _plan("MatMulV2", ((m, k), (k, n), n, (m, n)), column, {}, soc)
    tiling: Any = plan.tiling
    if column[0] is DType.INT8 and soc.vector_cores > soc.aicores:
        assert (tiling.total, plan.used("ub") <= soc.ub_kib * 1024) == (m * n, True)
        return
    _check(plan, column[0].itemsize, soc)
    assert (tiling.n_count - 1) * tiling.tile_n < n <= tiling.n_count * tiling.tile_n


def test_plan_of_a_convolution_is_worked_out_by_hand() -> None:
    """Check 4 x 196 x 36 squares of 16 on a SoC of eight cores, float16.

    3/8 of 256 KiB hold 16384 sums and results of 6 bytes, 64 squares: 4 x 16, so 256 positions.
    Of these 4 rows of 56 are whole, 14 squares. L0 takes 64 KiB / 2 / 224 / 2 B = 73 of k, 4
    squares; L1 takes 1 MiB / 2 / (64 + 224) / 2 B = 910, so all nine steps of 64.
    """
    shapes = ((1, 64, 56, 56), (64, 64, 3, 3), 64, (1, 64, 56, 56))
    attributes: dict[str, AttrValue] = {"strides": (1, 1, 1, 1), "pads": (1, 1, 1, 1)}
    tiling: Any = _plan("Conv2D", shapes, (DType.FLOAT16,) * 3, attributes, find_soc("sim")).tiling
    assert (tiling.batch, tiling.m, tiling.n, tiling.k) == (1, 64, 3136, 576)
    assert (tiling.tile_rows, tiling.tile_columns) == (4, 56)
    assert (tiling.tile_m, tiling.tile_n, tiling.tile_k, tiling.l1_k) == (64, 224, 64, 576)
    assert (tiling.m_count, tiling.n_count, tiling.l1_count, tiling.core_num) == (1, 14, 1, 8)
    assert tiling.patch_length == 16 + 4 * 64


WINDOWS = st.fixed_dictionaries(
    {
        "map": st.tuples(st.integers(1, 4000), st.integers(1, 4000)),
        "channels": st.tuples(st.integers(1, 2000), st.integers(1, 2000)),
        "window": st.tuples(st.integers(1, 64), st.integers(1, 64)),
        "strides": st.tuples(st.integers(1, 63), st.integers(1, 63)),
        "groups": SMALL,
    }
)


@examples(200)
@given(st.booleans(), WINDOWS, COLUMNS, SOCS)
def test_convolutions_fit_every_soc(
    transposed: bool,
    case: dict[str, Any],
    column: tuple[DType, DType, DType],
    soc: Soc,
) -> None:
    groups = case["groups"]
    channels, filters = (count * groups for count in case["channels"])
    y = tuple(
        dim * stride if transposed else -(-dim // stride)
        for dim, stride in zip(case["map"], case["strides"], strict=True)
    )
    split = (channels, filters // groups) if transposed else (filters, channels // groups)
    shapes = ((1, channels, *case["map"]), (*split, *case["window"]), filters, (1, filters, *y))
    attributes: dict[str, AttrValue] = {
        "strides": (1, 1, *case["strides"]), "pads": (0, 0, 0, 0), "groups": groups,
    }  # fmt: skip
    if transposed:
        attributes["input_size"] = shapes[3]
    op = "Conv2DTransposeD" if transposed else "Conv2D"
    plan = _plan(op, shapes, column, attributes, soc)
    tiling: Any = plan.tiling
    if soc.vector_cores > soc.aicores:
        assert (tiling.total, plan.used("ub") <= soc.ub_kib * 1024) == (filters * prod(y), True)
        return
    _check(plan, column[0].itemsize, soc)
    assert tiling.tile_rows * tiling.tile_columns <= tiling.tile_n
    assert tiling.tile_rows == 1 or tiling.tile_columns == y[1]
    assert tiling.n_count * tiling.tile_rows * tiling.tile_columns >= prod(y)


def test_operands_in_fractals_are_left_to_write() -> None:
    graph = Graph("fractals", Phase.TYPED)
    nz = TensorType(DType.FLOAT16, (5, 3, 16, 16), Format.FRACTAL_NZ)
    x2 = TensorType(DType.FLOAT16, (80, 100))
    y = TensorType(DType.FLOAT16, (48, 100))
    inputs = [graph.add_input("in", each) for each in (nz, x2)]
    graph.add_node("MatMulV2", inputs, [("y", y)]).engine = Engine.AICORE
    (kernel,) = collect(graph, find_soc("sim"))
    assert family_of(kernel.facts).template == "skeleton"


def test_tiles_are_as_square_as_the_buffers_allow() -> None:
    product = CubeProduct(batch=1, m=4096, n=4096, k=64, itemsize=2)
    sides = sides_of(product, TileBounds(2**20, 2**20, 2**20), find_soc("Ascend310P3"))
    assert (sides.m, sides.n) == (256, 256)  # 256 KiB of float32 results

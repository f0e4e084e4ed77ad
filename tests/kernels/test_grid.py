"""Grids of elementwise kernels: merged axes, and tiles that cover the result within the buffer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.kernels.planes import REPEAT, Grid, grid_of, grid_tiling
from atc_py.kernels.tiling import ElementFootprint
from atc_py.target import Soc, find_soc, socs
from atc_py.tensor.shapes import Shape
from tests.sampling import examples

DIMS = st.one_of(st.integers(0, 3), st.integers(1, 70), st.integers(1, 300_000))


@pytest.mark.parametrize(
    ("result", "operands", "dims", "moves"),
    [
        ((2, 3, 5), [(2, 3, 5), (2, 3, 5)], (30,), ((True,), (True,))),
        ((2, 3, 5), [(2, 3, 5), (1, 1, 5)], (6, 5), ((True, True), (False, True))),
        ((2, 3, 5), [(2, 3, 5), (2, 1, 1)], (2, 15), ((True, True), (True, False))),
        ((2, 1, 5), [(2, 1, 1), (1, 1, 5)], (2, 5), ((True, False), (False, True))),
        ((), [(), ()], (1,), ((True,), (True,))),
        ((1, 1), [(1, 1)], (1,), ((True,),)),
        ((0, 5), [(0, 5), (1, 5)], (0, 5), ((True, True), (False, True))),
    ],
)
def test_axes_that_do_the_same_are_merged(
    result: Shape,
    operands: list[Shape],
    dims: tuple[int, ...],
    moves: tuple[tuple[bool, ...], ...],
) -> None:
    assert grid_of(result, operands) == Grid(dims, moves)


@given(
    st.lists(st.tuples(DIMS, st.booleans(), st.booleans()), min_size=1, max_size=4),
    st.sampled_from([1, 2, 4, 8]),
    st.integers(1, 40),
    st.sampled_from(socs()),
)
@examples(200)
def test_tiles_cover_the_result_once_within_the_buffer(
    axes: list[tuple[int, bool, bool]], itemsize: int, nbytes: int, soc: Soc
) -> None:
    grid = Grid(
        tuple(dim for dim, _, _ in axes),
        (tuple(one for _, one, _ in axes), tuple(two for _, _, two in axes)),
    )
    row = grid_tiling(grid, ElementFootprint(32 // itemsize, nbytes), soc)
    row_tiles = -(-row.rows // row.tile_rows)
    assert row.tile_count == row_tiles * row.chunk_count
    assert (
        (row.chunk_count - 1) * row.chunk_length < row.inner <= row.chunk_count * row.chunk_length
    )
    assert row.tile_rows == 1 or row.chunk_count <= 1
    assert row.tile_rows * row.pitch <= row.buffer_length
    assert row.buffer_length % REPEAT == 0
    assert row.buffer_length * nbytes <= max(soc.ub_kib * 1024, REPEAT * nbytes)
    assert row.pitch * itemsize % 32 == 0
    assert row.chunk_length * itemsize % 32 == 0
    assert 1 <= row.core_num <= max(soc.aicores, soc.vector_cores)


def test_a_long_row_is_shared_out_over_the_cores() -> None:
    row = grid_tiling(Grid((10**6,), ((True,),)), ElementFootprint(16, 8), find_soc("sim"))
    assert (row.rows, row.core_num, row.chunk_count) == (1, 8, 31)


def test_strides_stand_still_where_an_operand_repeats() -> None:
    grid = grid_of((2, 3, 5, 7), [(2, 3, 5, 7), (1, 3, 1, 7)])
    row = grid_tiling(grid, ElementFootprint(16, 8), find_soc("sim"))
    assert row.extents == (2, 3, 5)
    assert row.strides == ((105, 35, 7), (0, 7, 0))
    assert row.moves == (1, 1)


@pytest.mark.parametrize(("inner", "chunk"), [(1600, 208), (1601, 208), (1665, 224)])
def test_row_is_cut_into_a_part_for_each_core(inner: int, chunk: int) -> None:
    footprint = ElementFootprint(align=16, nbytes=4)
    tiling = grid_tiling(grid_of((inner,), [(inner,)]), footprint, find_soc("Ascend310P3"))
    assert tiling.chunk_length == chunk  # ceil(inner / 8 cores), rounded up to 16

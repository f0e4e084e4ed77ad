"""Tiling: tiles cover the work exactly, fit in the buffers and keep their alignment."""

from hypothesis import given
from hypothesis import strategies as st

from atc_py.kernels.tiling import (
    BLOCK,
    ElementFootprint,
    Tiling,
    VectorTiling,
    shard_tiling,
    vector_tiling,
)
from atc_py.target import Soc, find_soc, socs
from atc_py.tensor.dtypes import DType
from tests.sampling import examples

SOCS = st.sampled_from(socs())
DTYPES = st.lists(st.sampled_from(list(DType)), min_size=1, max_size=4)
COUNTS = st.one_of(st.integers(0, 200), st.integers(0, 10**7), st.integers(0, 2**40))
SIM = find_soc("sim")
HALF = ElementFootprint.of([DType.FLOAT16] * 2)


def numbers_of(tiling: Tiling) -> tuple[int, ...]:
    """Return the numbers of a tiling in the order of its fields."""
    return tuple(vars(tiling).values())


@given(COUNTS, DTYPES, st.integers(0, 8), SOCS)
@examples(200)
def test_vector_tiles_cover_the_range_within_the_buffer(
    total: int, dtypes: list[DType], scratch: int, soc: Soc
) -> None:
    footprint = ElementFootprint.of(dtypes, scratch)
    row = vector_tiling(total, footprint, soc)
    assert 1 <= row.core_num <= max(soc.aicores, soc.vector_cores)
    assert _covered(row) == total
    assert row.tile_length * footprint.nbytes <= soc.ub_kib * 1024
    for size in (dtype.itemsize for dtype in dtypes):
        assert row.tile_length * size % BLOCK == 0
        assert row.core_length * size % BLOCK == 0
    for tail in (row.tail_length, row.last_tail_length):
        assert (0 < tail <= row.tile_length) == (total > 0)


def _covered(row: VectorTiling) -> int:
    """Return elements that the cores' loops visit."""
    full = (row.tile_count - 1) * row.tile_length + row.tail_length if row.tile_count else 0
    last = (row.last_tile_count - 1) * row.tile_length + row.last_tail_length
    if row.core_num > 1:
        assert full == row.core_length
    return (row.core_num - 1) * full + (last if row.last_tile_count else 0)


@given(COUNTS, SOCS)
@examples(200)
def test_shards_cover_the_range(total: int, soc: Soc) -> None:
    row = shard_tiling(total, soc)
    last = total - (row.shard_count - 1) * row.shard_length
    assert 0 <= last <= row.shard_length
    assert row.shard_count >= 1


def test_vector_tiling_of_a_feature_map_is_worked_out_by_hand() -> None:
    # 200704 / 8 cores = 25088; 262144 B / (2 x (2 + 2 + 2) B) = 21845, whole blocks: 21840.
    footprint = ElementFootprint.of([DType.FLOAT16] * 3)
    found = numbers_of(vector_tiling(64 * 56 * 56, footprint, SIM))
    assert found == (200704, 8, 25088, 21840, 2, 3248, 2, 3248)


def test_vector_tiling_leaves_cores_without_a_block_idle() -> None:
    # 40 halves are three blocks of 16, the last one half full.
    assert numbers_of(vector_tiling(40, HALF, SIM)) == (40, 3, 16, 16, 1, 16, 1, 8)


def test_vector_tiling_of_nothing_has_no_tile() -> None:
    assert numbers_of(vector_tiling(0, HALF, SIM)) == (0, 1, 0, 16, 0, 0, 0, 0)


def test_vector_tiling_uses_the_vector_cores_of_split_chips() -> None:
    assert vector_tiling(10**6, HALF, find_soc("Ascend910B1")).core_num == 48


def test_shards_are_one_where_the_number_of_cores_is_unknown() -> None:
    assert numbers_of(shard_tiling(100, find_soc("Hi3796CV300CS"))) == (100, 1, 100)

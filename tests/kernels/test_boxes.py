"""Boxes of elements to move: their axes merged, and cut into tiles that fit a core's buffers."""

from itertools import product
from math import prod

import pytest

from atc_py.kernels.box_tiling import Way, box_buffers, box_tile, box_tiling, offset_bytes, way_of
from atc_py.kernels.boxes import Box, dense, view
from atc_py.kernels.cpp import repeated_word
from atc_py.kernels.tiling import vector_cores
from atc_py.target import find_soc, socs
from atc_py.tensor.dtypes import DType

BOXES = [
    view((7, 31), (31, 1)),
    view((31, 7), (1, 31)),
    view((2, 5, 7, 3), (105, 7, 1, 35)),
    view((523, 1_009), (1, 523)),
    view((300_007,), (-2,), 600_012),
    view((300_007,), (100,)),
    view((5, 40_009), (0, 0)),
    view((40_009, 5), (1, 0)),
    Box((3, 70_001), (70_001, 1), (70_003, 1), 0, 1),
    Box((3, 2), (0, 0), (70_003, 1), 0, 70_001, filled=True),
    view((0, 5), (5, 1)),
]


def _moves(box: Box) -> dict[int, int]:
    """Return the source of each element of the target."""
    places = {}
    for at in product(*map(range, box.shape)):
        source = box.source_start + sum(i * by for i, by in zip(at, box.source, strict=True))
        target = box.target_start + sum(i * by for i, by in zip(at, box.target, strict=True))
        places[target] = source
    return places


@pytest.mark.parametrize(
    "box",
    [
        view((3, 5, 7), (35, 7, 1)),
        view((3, 1, 5, 1, 7), (70, 9, 14, 9, 1)),
        view((5, 3, 7), (7, 35, 1)),
        view((3, 5), (0, 0)),
        view((3, 5), (-5, -1), 14),
        Box((3, 1), (1, 1), (4, 1), 0, 2),
        view((), ()),
    ],
)
def test_merged_axes_move_the_same_elements(box: Box) -> None:
    merged = box.merged()
    assert _moves(merged) == _moves(box)
    assert merged.target[-1] == 1
    assert len(merged.shape) <= max(1, len(box.shape))


def test_axes_that_run_on_become_one() -> None:
    assert view((3, 5, 7), (35, 7, 1)).merged().shape == (105,)
    assert view((2, 3, 5, 7), (105, 35, 1, 5)).merged().shape == (6, 5, 7)


def test_ways_follow_from_the_last_axis() -> None:
    ways = [way_of(box.merged()) for box in (BOXES[0], BOXES[1], BOXES[9])]
    assert ways == [Way.STRAIGHT, Way.ORDERED, Way.FILLED]


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
@pytest.mark.parametrize("box", BOXES)
def test_tiles_fit_every_core_and_reach_every_element(box: Box, itemsize: int) -> None:
    for soc in socs():
        tiling = box_tiling([box.merged()], itemsize, soc)
        buffers = box_buffers(tiling, itemsize)
        assert sum(buffer.nbytes for buffer in buffers) <= soc.ub_kib * 1024
        assert 1 <= tiling.core_num <= max(1, tiling.tiles[0])
        lengths, counts, last = tiling.lengths[0], tiling.counts[0], tiling.last[0]
        for dim, length, count, start in zip(
            box.merged().shape, lengths, counts, last, strict=True
        ):
            assert count * length >= dim
            assert start == max(0, dim - length)
        assert tiling.tiles == (prod(counts),)
        assert tiling.rows[0] * tiling.columns[0] == prod(lengths)
        assert max(tiling.runs[0], tiling.rows[0]) <= 4095


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
def test_buffers_are_the_bytes_that_tiles_are_cut_for(itemsize: int) -> None:
    soc = find_soc("Ascend310P3")
    for box in (box.merged() for box in (BOXES[0], BOXES[3], BOXES[9])):
        tile = box_tile(box, itemsize, soc.ub_kib * 1024, vector_cores(soc))
        buffers = box_buffers(box_tiling([box], itemsize, soc), itemsize)
        assert sum(buffer.nbytes for buffer in buffers) == tile.nbytes


def test_boxes_of_two_ways_share_the_buffer() -> None:
    soc = find_soc("Ascend310P3")
    boxes = [BOXES[8].merged(), BOXES[9].merged(), BOXES[3].merged()]
    buffers = box_buffers(box_tiling(boxes, 2, soc), 2)
    assert sum(buffer.nbytes for buffer in buffers) <= soc.ub_kib * 1024
    assert {buffer.name for buffer in buffers} == {
        "through", "loaded", "ordered", "offsets", "constants",
    }  # fmt: skip


def test_work_is_found_for_every_core() -> None:
    soc = find_soc("Ascend310P3")
    assert box_tiling([BOXES[3].merged()], 2, soc).core_num == 8


def test_dense_is_row_major() -> None:
    assert dense((2, 3, 5)) == (15, 5, 1)
    assert dense(()) == ()


@pytest.mark.parametrize(
    ("value", "dtype", "word", "bits"),
    [
        (-3.0, DType.INT8, "uint16_t", "0xfdfdu"),
        (1.0, DType.FLOAT16, "uint16_t", "0x3c00u"),
        (float("-inf"), DType.FLOAT16, "uint16_t", "0xfc00u"),
        (0.5, DType.FLOAT32, "uint32_t", "0x3f000000u"),
        (-1.0, DType.INT32, "uint32_t", "0xffffffffu"),
    ],
)
def test_constants_are_words_of_their_dtype(
    value: float, dtype: DType, word: str, bits: str
) -> None:
    found = repeated_word(value, dtype)
    assert (found.word, found.bits) == (word, bits)
    assert dtype.value in found.text


@pytest.mark.parametrize(("itemsize", "nbytes"), [(1, 4), (2, 4), (4, 4), (8, 8)])
def test_element_of_8_bytes_is_gathered_by_two_offsets(itemsize: int, nbytes: int) -> None:
    assert offset_bytes(itemsize) == nbytes

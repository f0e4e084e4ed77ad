"""Memory from large pieces."""

import numpy as np

from atc_py.device.sim.kernel import Pool


def test_allocations_are_aligned_and_apart() -> None:
    pool = Pool([100, 5])
    taken = [pool.take(size) for size in (100, 5, 0, 300_000, 1, 9_000_000)]
    for number, each in enumerate(taken):
        each[...] = number
    for number, each in enumerate(taken):
        assert not each.size or each.ctypes.data % 64 == 0
        assert (each == number).all()
    assert [each.size for each in taken] == [100, 5, 0, 300_000, 1, 9_000_000]


def test_what_was_expected_is_one_piece() -> None:
    sizes = [1000, 70_000, 64, 500_000]
    pool = Pool(sizes)
    taken = [pool.take(size) for size in sizes]
    pieces = {id(each.base) for each in taken}
    assert len(pieces) == 1
    assert np.may_share_memory(taken[0].base, taken[3])


def test_little_memory_is_not_rounded_up() -> None:
    for pool in (Pool([1000]), Pool()):
        piece = pool.take(1000).base
        assert piece is not None
        assert piece.size < 2000

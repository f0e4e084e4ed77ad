"""Workers: every item once, whatever the number of threads, and errors come out."""

import threading

import numpy as np
import pytest
import threadpoolctl
from hypothesis import given
from hypothesis import strategies as st

from atc_py.device.sim.execution.parallel import Workers
from tests.sampling import examples


@given(st.integers(0, 200), st.integers(1, 4), st.integers(0, 50))
@examples(200)
def test_ranges_cover_everything_once(total: int, size: int, least: int) -> None:
    workers = Workers(size)
    seen = np.zeros(total, int)

    def part(start: int, stop: int) -> None:
        seen[start:stop] += 1

    workers.split(total, part, least)
    workers.close()
    assert (seen == 1).all()


def test_small_work_is_done_in_one_piece() -> None:
    pieces: list[tuple[int, int]] = []
    Workers(4).split(100, lambda start, stop: pieces.append((start, stop)), least=60)
    assert pieces == [(0, 100)]


@pytest.mark.parametrize("size", [1, 2])
def test_error_of_a_part_comes_out_after_all_are_done(size: int) -> None:
    workers = Workers(size)
    done: list[int] = []

    def part(start: int, _stop: int) -> None:
        done.append(start)
        if start == 0:
            raise ValueError("part 0")

    with pytest.raises(ValueError, match="part 0"):
        workers.split(8, part)
    count = len(done)
    workers.close()
    assert len(done) == count


def test_blas_is_held_to_one_thread_and_given_back() -> None:
    def threads() -> list[int]:
        pools = threadpoolctl.threadpool_info()
        return [pool["num_threads"] for pool in pools if pool["user_api"] == "blas"]

    before = threads()
    with Workers(2).running():
        assert set(threads()) == {1}
    assert threads() == before


def test_overflow_warns_on_no_thread() -> None:
    big = np.full(64, np.finfo(np.float32).max, np.float32)
    workers = Workers(2)
    ready = threading.Barrier(2)

    def part(start: int, stop: int) -> None:
        ready.wait(timeout=10)  # so that both threads take a part
        np.add(big[start:stop], big[start:stop])

    workers.split(64, part, least=16)
    workers.close()

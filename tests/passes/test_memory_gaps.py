"""The free pieces of an arena, against a plain list of units."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.passes.memory import arena_packing
from atc_py.passes.memory.arena_packing import Gaps, Span, pack
from tests.sampling import examples


def free_runs(units: list[bool]) -> list[tuple[int, int]]:
    """Return (start, length) of every run of free units."""
    runs: list[tuple[int, int]] = []
    for at, taken in enumerate([*units, True]):
        if not taken and runs and sum(runs[-1]) == at:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        elif not taken:
            runs.append((at, 1))
    return runs


def expected(units: list[bool], size: int, *, best: bool) -> int:
    """Return the place found by a plain search; beyond the last unit the arena is free."""
    fitting = [run for run in free_runs(units) if run[1] >= size]
    if fitting:
        return min(fitting, key=lambda run: (run[1], run[0]) if best else run)[0]
    runs = free_runs(units)
    return runs[-1][0] if runs and sum(runs[-1]) == len(units) else len(units)


@given(st.randoms(use_true_random=False), st.booleans(), st.integers(0, 120))
@examples(200)
def test_room_is_found_where_a_plain_search_finds_it(dice: Random, best: bool, holes: int) -> None:
    gaps = Gaps()
    take = gaps.take_best if best else gaps.take_first
    held = [(take(size), size) for size in [1, 2, 3] * holes]
    units = [True] * sum(size for _, size in held)
    for start, size in held[::2]:
        gaps.give(start, size)
        units[start : start + size] = [False] * size
    held = held[1::2]
    for _ in range(dice.randint(0, 30)):
        if held and dice.random() < 0.5:
            start, size = held.pop(dice.randrange(len(held)))
            gaps.give(start, size)
            units[start : start + size] = [False] * size
            continue
        size = dice.randint(1, 6)
        start = take(size)
        assert start == expected(units, size, best=best)
        units.extend([False] * (start + size - len(units)))
        units[start : start + size] = [True] * size
        held.append((start, size))
    assert gaps.top == len(units)


@pytest.mark.parametrize(("blocks", "repairs"), [(8, 64), (600, 11)])
def test_repairs_of_an_order_are_bounded_in_number_and_in_pairs(
    blocks: int, repairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = Random(4)  # noqa: S311  (places of blocks)
    firsts = [dice.randrange(blocks) for _ in range(blocks)]
    spans = [Span(dice.randint(1, 9), first, first + dice.randint(0, 25)) for first in firsts]
    pairs: list[int] = []
    place = arena_packing.place

    def counted(
        sizes: Sequence[int], order: Sequence[int], conflicts: arena_packing.Conflicts
    ) -> Sequence[int]:
        pairs.append(conflicts.count + len(sizes))
        return place(sizes, order, conflicts)

    monkeypatch.setattr(arena_packing, "place", counted)
    pack(spans, bound=0)  # no packing is good enough
    orders = 3
    assert len(pairs) == orders * (1 + repairs)
    assert repairs * pairs[0] <= 100_000

"""The cut that storage is chosen by: cheapest, smallest side, and bounded work."""

from collections.abc import Iterator
from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.passes.layout import cut
from atc_py.passes.layout.cut import SINK, SOURCE, Edge, cheapest_side, cut_cost
from tests.sampling import examples

MOST = 6


def sides(count: int) -> Iterator[frozenset[int]]:
    """Yield every side that the points can form."""
    sizes = (combinations(range(count), size) for size in range(count + 1))
    return map(frozenset, chain.from_iterable(sizes))


@st.composite
def problems(draw: st.DrawFn) -> tuple[int, list[Edge]]:
    """Return a few points and edges of one to four of them."""
    count = draw(st.integers(1, MOST))
    point = st.integers(SINK, count - 1)
    edge = st.tuples(st.integers(0, 9), st.frozensets(point, min_size=1, max_size=4))
    return count, draw(st.lists(edge, max_size=12))


@given(problems())
@examples(200)
def test_cut_is_the_cheapest_with_the_fewest_points(problem: tuple[int, list[Edge]]) -> None:
    count, edges = problem
    found = cheapest_side(count, edges)
    least = min(cut_cost(edges, side) for side in sides(count))
    assert cut_cost(edges, found) == least
    best = [side for side in sides(count) if cut_cost(edges, side) == least]
    assert found == frozenset.intersection(*best)


def test_edge_of_many_points_is_paid_once() -> None:
    edges = [(5, frozenset({SOURCE, 0, 1, 2})), *((2, frozenset({at, SINK})) for at in range(3))]
    assert cheapest_side(3, edges) == set()
    assert cheapest_side(3, [(7, edges[0][1]), *edges[1:]]) == {0, 1, 2}


def test_long_chain_is_cut_at_its_weakest_place_in_linear_work() -> None:
    count = 20_000
    edges: list[Edge] = [
        (9 if at != count // 3 else 1, frozenset({at, at + 1})) for at in range(count - 1)
    ]
    edges += [(50, frozenset({SOURCE, 0})), (50, frozenset({SINK, count - 1}))]
    assert cheapest_side(count, edges) == set(range(count // 3 + 1))


def test_work_is_bounded_and_the_better_of_both_ends_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cut, "_STEPS_PER_ARC", 0)
    edges: list[Edge] = [
        (5, frozenset({SOURCE, 0})),
        (1, frozenset({0, 1})),
        (3, frozenset({1, SINK})),
    ]
    assert cheapest_side(2, edges) == {0, 1}
    assert cheapest_side(2, [(1, edges[0][1]), *edges[1:]]) == set()

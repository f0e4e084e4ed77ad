"""Moves from one assignment to others that the models expect to be quicker and exact enough."""

from collections.abc import Mapping, Sequence
from itertools import combinations

from atc_py.quantizing.plan.assignment import NARROW, Assignment
from atc_py.quantizing.plan.time_model import TimeModel

DOUBT = 2.0
"""Factor by which the error model may be wrong: moves that would miss by less are tried."""

_MOST = 400
"""Most moves; the verified ones are far fewer."""


def moves_of(
    start: Assignment,
    labels: Mapping[str, Sequence[str]],
    shares: Mapping[str, Mapping[str, float]],
    times: TimeModel,
    room: float,
) -> list[Assignment]:
    """Assignments that differ from `start` in one line, two, or a connected group; most time saved first.

    `shares` has the error of each line and dtype alone as a share of the allowed one, `room` what `start`
    leaves of it.
    """
    near = _neighbors(times)
    single = [
        {line: label} for line, own in labels.items() for label in own if label != start.dtype(line)
    ]
    moves = [*single, *_groups(start, labels, near)]
    pairs = [a | b for a, b in combinations(single, 2) if _belong(a, b, start, near)]
    ranked: list[tuple[float, int, dict[str, str]]] = []
    for move in (*moves, *pairs):
        saved = -_seconds_added(move, start, times, near)
        added = sum(
            shares[line][label] - shares[line][start.dtype(line)] for line, label in move.items()
        )
        if saved > 0 and added <= DOUBT * max(room, 0.0) + 1e-12:
            ranked.append((-saved, len(ranked), move))
    ranked.sort(key=lambda row: row[:2])
    moved: dict[Assignment, None] = {}
    for _, _, move in ranked[:_MOST]:
        assignment = start
        for line, label in move.items():
            assignment = assignment.with_dtype((line,), label)
        moved[assignment] = None
    return [*moved]


def _belong(
    a: Mapping[str, str],
    b: Mapping[str, str],
    start: Assignment,
    near: Mapping[str, Mapping[str, float]],
) -> bool:
    """True for two lines that are neighbors, or an exchange of a wide one for another."""
    (first, to_first), (second, to_second) = *a.items(), *b.items()
    if first == second:
        return False
    narrowed = (to_first == NARROW) != (to_second == NARROW)
    apart = start.dtype(first) != start.dtype(second)
    return second in near.get(first, {}) or (narrowed and apart)


def _groups(
    start: Assignment,
    labels: Mapping[str, Sequence[str]],
    near: Mapping[str, Mapping[str, float]],
) -> list[dict[str, str]]:
    """Moves of connected lines of one wide dtype to each dtype that all of them can have."""
    results = []
    seen: set[str] = set()
    for line in labels:
        dtype = start.dtype(line)
        if dtype == NARROW or line in seen:
            continue
        group, waiting = {line}, [line]
        while waiting:
            for other in near.get(waiting.pop(), {}):
                if other in labels and other not in group and start.dtype(other) == dtype:
                    group.add(other)
                    waiting.append(other)
        seen |= group
        common = set.intersection(*({*labels[each]} for each in group)) - {dtype}
        if len(group) > 1:
            results += [dict.fromkeys(sorted(group), label) for label in sorted(common)]
    return results


def _seconds_added(
    move: Mapping[str, str],
    start: Assignment,
    times: TimeModel,
    near: Mapping[str, Mapping[str, float]],
) -> float:
    added = 0.0
    for line, label in move.items():
        own = start.dtype(line)
        added -= times.saved(line, label, own)
        for other, price in near.get(line, {}).items():
            share = 0.5 if other in move else 1.0  # a pair within the move is met twice
            before = own != start.dtype(other)
            after = label != move.get(other, start.dtype(other))
            added += share * price * (after - before)
    return added


def _neighbors(times: TimeModel) -> dict[str, dict[str, float]]:
    """For each line the lines beside it, with the seconds of casts between them."""
    results: dict[str, dict[str, float]] = {}
    for (a, b), price in times.casts.items():
        for one, other in ((a, b), (b, a)):
            row = results.setdefault(one, {})
            row[other] = row.get(other, 0.0) + price
    return results

"""How much of a long sweep `make test` tries; `make test-all` tries the whole.

A sweep over parameters marks those that are left out with `pytest.mark.sweep`; `pytest -m ""`
takes them all. A property is tried on fewer examples, the same ones in every run.
"""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import settings

WHOLE = "ATC_PY_WHOLE_SWEEPS"
"""A variable of the environment that is set where sweeps are tried whole."""

SHARE = 10
"""One example in so many is tried in a sample."""

DEFAULT = 40

LEAST_PRODUCT = 6
"""Cases of a test, of which fewer are all tried."""


def examples(whole: int) -> settings:
    """Return settings of a property: how many examples the whole sweep has."""
    return settings(max_examples=whole if WHOLE in os.environ else max(whole // SHARE, 4))


def load_profile() -> None:
    """Load settings for properties without their own: the same examples in every run."""
    settings.register_profile("tests", examples(DEFAULT), deadline=None, derandomize=True)
    settings.load_profile("tests")


def rounds(few: int, whole: int) -> range:
    """Return the numbers of the rounds of a random test: few in samples, more in the whole sweep."""
    return range(whole if WHOLE in os.environ else few)


def some(cases: Iterable[Any], share: int, first: int = 0) -> list[Any]:
    """Every case in the whole sweep, from `first` on one in `share` of them in a sample."""
    return list(cases) if WHOLE in os.environ else list(cases)[first::share]


def is_drawn(name: str, share: int) -> bool:
    """Tell whether a case is one of one in `share`, drawn by its name; in the whole sweep all are."""
    return WHOLE in os.environ or crc32(name.encode()) % share == 0


def sampled(always: Iterable[Any], others: Iterable[Any]) -> list[Any]:
    """Return parameters of which the first are tried always, the others in the whole sweep.

    A tuple has a value for each parameter.
    """
    kept = [pytest.param(*_values(case)) for case in always]
    if WHOLE not in os.environ:  # thousands that are never run take seconds to collect
        return kept
    return kept + [pytest.param(*_values(case), marks=pytest.mark.sweep) for case in others]


def below(items: Iterable[pytest.Item], folder: Path) -> list[pytest.Item]:
    """The tests of files below a folder."""
    start = f"{folder}{os.sep}"
    return [item for item in items if str(item.path).startswith(start)]


def with_parameters(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the cases of tests that have parameters."""
    return [item for item in items if getattr(item, "callspec", None) is not None]


def mark_others(items: Iterable[pytest.Item], folder: Path, share: int) -> None:
    """Leave one case in `share` of each test below a folder to every run, and the others to the sweep.

    A test without parameters counts with those of its file.
    """
    seen: Counter[tuple[Path, str]] = Counter()
    for item in below(items, folder):
        name = getattr(item, "originalname", None) or item.name
        test = (item.path, name if name != item.name else "")
        if seen[test] % share:
            item.add_marker(pytest.mark.sweep)
        seen[test] += 1


def thin_products(items: Iterable[pytest.Item]) -> None:
    """Leave to the sweep cases of products that add no value of a parameter to those that are kept.

    The order in which cases are looked at is drawn from their names, so that values meet as chance
    has it, and in every run alike. Few cases and those of one list of parameters are all kept.
    """
    tests: dict[str, list[pytest.Item]] = {}
    for item in with_parameters(items):
        if item.get_closest_marker("sweep") is None:
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in tests.values():
        if len(cases) < LEAST_PRODUCT:
            continue
        seen: set[tuple[str, int]] = set()
        for item in sorted(cases, key=lambda each: crc32(each.nodeid.encode())):
            values = _axes(item)
            if len(values) > 1 and values <= seen:
                item.add_marker(pytest.mark.sweep)
            seen |= values


def _axes(item: pytest.Item) -> set[tuple[str, int]]:
    """The values of a case by the names of their parameters; names of one list are one parameter."""
    params: dict[str, Any] = item.callspec.params  # type: ignore[attr-defined]
    lists: dict[str, str] = {}
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0] if mark.args else mark.kwargs["argnames"]
        each = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
        lists |= dict.fromkeys(each, ",".join(each))
    values: dict[str, tuple[int, ...]] = {}
    for name, value in params.items():
        axis = lists.get(name, name)
        values[axis] = (*values.get(axis, ()), id(value))
    return {(axis, hash(found)) for axis, found in values.items()}


def mark_other_tests(items: Iterable[pytest.Item], folder: Path, share: int) -> None:
    """Leave one test in `share` of a file below a folder to every run, with its cases."""
    tests: dict[Path, list[str]] = {}
    for item in below(items, folder):
        names = tests.setdefault(item.path, [])
        name = getattr(item, "originalname", None) or item.name
        if name not in names:
            names.append(name)
        if names.index(name) % share:
            item.add_marker(pytest.mark.sweep)


def alternating(
    cases: Sequence[Any], ways: Sequence[Any], share: int = 1, first: int = 0
) -> list[Any]:
    """Return each case in each way; the first in the first way, the second in the next.

    A sample has, from `first` on, one case in `share`.
    """
    pairs = list(product(cases, ways))
    chosen = list(cases)[first::share]
    kept = [(case, ways[at % len(ways)]) for at, case in enumerate(chosen)]
    return sampled(kept, (pair for pair in pairs if pair not in kept))


def _values(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)

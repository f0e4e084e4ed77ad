"""The search of a plan for layers on int8, beside the best dtypes of floats."""

from collections.abc import Callable, Iterable

from atc_py.compare.paired_run import Feeds
from atc_py.planning.assignment import Assignment
from atc_py.planning.int8_models import Int8Models
from atc_py.planning.trial_runs import TrialRuns

_ALL = 1
"""Trials with all layers on int8 before the search."""


def try_int8(
    runs: TrialRuns,
    models: Int8Models,
    floats: Assignment,
    feeds: Iterable[Feeds],
    limit: int,
    tell: Callable[[str], None],
) -> None:
    """Try layers on int8 beside the best dtypes of floats; what was tried is in the runs.

    Args:
        runs: the trials, which write models with `models`.
        models: the calibrated model.
        floats: the best assignment of floats.
        feeds: samples of single-layer trials.
        limit: most compilations.
        tell: called with the progress.

    Raises:
        AtcError: what compiling and running raise.
    """
    broad = models.lines(runs.compilation, floats.broad)
    every = runs.run(Assignment(broad, int8=frozenset(models.layers)))
    if every is None:
        return
    order = models.cheapest_first(feeds, runs.found[floats].model, every.model, tell)
    end = runs.count + limit - _ALL
    low, high, best = 1, len(order) - 1, every if every.reached else None
    while best is not every and low <= high and runs.count < end:
        middle = (low + high) // 2
        tell(f"plan: {middle} of {len(order)} layers on int8")
        tried = runs.run(Assignment(broad, int8=frozenset(order[:middle])))
        if tried is not None and tried.reached:
            best, low = tried, middle + 1
        else:
            high = middle - 1
    chosen = frozenset() if best is None else best.assignment.int8
    for name in order:
        if name in chosen or runs.count >= end:
            continue
        seconds = runs.found[floats].seconds if best is None else best.seconds
        tell(f"plan: {len(chosen) + 1} of {len(order)} layers on int8")
        tried = runs.run(Assignment(broad, int8=chosen | {name}), seconds)
        if tried is not None and tried.reached:
            best, chosen = tried, chosen | {name}

"""The record of a search: what was chosen, verified on all samples, and what it is compared with."""

from collections.abc import Iterable

from atc_py.planning.assignment import ALL_NARROW, BROAD, NARROW
from atc_py.planning.choices import Choices
from atc_py.planning.search import PlanSearch
from atc_py.planning.trial_runs import TrialRuns, TriedAssignment, rank
from atc_py.results.plan import DtypePlan, PlannedNode, PlanPoint

_VERIFIED = 12
"""Most assignments that are measured on all samples, the quickest first."""


def verify(runs: TrialRuns, every: TrialRuns, choices: Choices) -> None:
    """Measure on all samples what some of them judged, until one reaches the target there, too.

    Args:
        runs: the trials that some samples judged.
        every: takes those that all samples judge.
        choices: the dtypes of lines.

    Raises:
        AtcError: what compiling and running raise.
    """
    every.custom = runs.custom
    every.run(choices.tried.get(BROAD, choices.tried[NARROW]).assignment)
    reached = [each for each in runs.found.values() if each.reached]
    for tried in sorted(reached, key=rank)[:_VERIFIED]:
        found = every.run(tried.assignment)
        if found is not None and found.reached:
            return


def plan_record(
    every: TrialRuns,
    runs: TrialRuns,
    choices: Choices,
    searching: PlanSearch,
    counts: tuple[int, int],
) -> DtypePlan:
    """Return the plan.

    Args:
        every: the trials that all samples judged.
        runs: those of the search.
        choices: the dtypes of lines.
        searching: the search.
        counts: samples, and most compilations.
    """
    tried = every.found.values()
    reached = sorted((each for each in tried if each.reached), key=rank)
    chosen = reached[0] if reached else min(tried, key=lambda each: (each.share, rank(each)))
    first = every.found[ALL_NARROW]
    broad = choices.tried.get(BROAD)
    wide = None if broad is None else every.found.get(broad.assignment)
    suggested = None if searching.suggested is None else every.found.get(searching.suggested)
    _, custom = runs.option_lines(chosen.assignment)
    return DtypePlan(
        model=first.done.model,
        soc=first.done.soc,
        target=dict(every.targets),
        samples=counts[0],
        judged=runs.samples,
        chosen=chosen.point(),
        float16=first.point(),
        float32=None if wide is None else wide.point(),
        suggested=None if suggested is None else suggested.point(),
        curve=_curve(tried),
        nodes=_nodes(chosen, choices, searching),
        own=runs.own,
        custom=tuple(custom),
        candidates=len(choices.candidates),
        trials=runs.count + (0 if runs is every else every.count),
        runs=runs.runs + (0 if runs is every else every.runs),
        limit=counts[1],
        exhaustive=searching.exhaustive,
        excluded=tuple(choices.excluded),
    )


def _curve(tried: Iterable[TriedAssignment]) -> tuple[PlanPoint, ...]:
    """Return the points that no other one beats in both time and error, the quickest first."""
    found: list[TriedAssignment] = []
    for each in sorted(tried, key=lambda each: (each.seconds, each.share, rank(each))):
        if not found or each.share < found[-1].share:
            found.append(each)
    return tuple(each.point() for each in found)


def _nodes(
    chosen: TriedAssignment, choices: Choices, searching: PlanSearch
) -> tuple[PlannedNode, ...]:
    """Return the lines with their dtypes, in order of execution, those of float16 last."""
    found = []
    for line, each in choices.candidates.items():
        times, share = searching.times, searching.shares.get(line, {}).get(NARROW)
        saved = None
        if times is not None and BROAD in times.seconds:
            saved = times.saved(line, NARROW, BROAD)
        dtype = chosen.assignment.dtype(line)
        found.append(PlannedNode(line, each.op, each.nodes, dtype, share, saved))
    return tuple(sorted(found, key=lambda each: each.dtype == NARROW))

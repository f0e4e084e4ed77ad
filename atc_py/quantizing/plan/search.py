"""Search for the cheapest assignment that reaches the target.

Where every assignment can be tried within the limit, all are. Else single-node trials and the cost
model give a price for each node and dtype, and for each pair of nodes in different dtypes; for
growing prices of error the cheapest labels are a curve from quick to exact, and the quickest of its
points that reaches the target in a real run is the start. The search of `compare --suggest` starts
from the fewest nodes. What is best so far is then improved by moves that are expected to save
time, each verified. Where all assignments can be listed, what the models expect to be quicker still
is tried in the end. Every assignment is judged by its compiled model: by the estimate of its time,
and by a run over the samples.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import product

from atc_py.compare.suggest import LEAST_TRIALS, search
from atc_py.compare.trials import Trial, Trials
from atc_py.quantizing.plan.assignment import ALL_NARROW, BROAD, NARROW, PORTS, Assignment
from atc_py.quantizing.plan.choices import Choices
from atc_py.quantizing.plan.error_model import ErrorModel
from atc_py.quantizing.plan.labeling import cheapest_labels
from atc_py.quantizing.plan.moves import DOUBT, moves_of
from atc_py.quantizing.plan.time_model import TimeModel
from atc_py.quantizing.plan.trial_runs import TrialRuns, TriedAssignment, rank
from atc_py.tensor.dtypes import DType
from atc_py.text import Text


class KeptTrials:
    """Trials by lines to keep; what only the outputs judge is taken from the plan's own.

    Attributes:
        own: lines of the user's own --keep-dtype file.
        samples: how many samples judge a trial.
    """

    def __init__(self, runs: TrialRuns, layers: Trials) -> None:
        """Share `runs`; comparisons of all layers are made by `layers`."""
        self._runs, self._layers = runs, layers
        self.own, self.samples = layers.own, layers.samples
        self.count = 0  # compilations so far

    def run(self, kept: Iterable[str], *, outputs_only: bool) -> Trial:
        """Compile with the lines `kept` beside the user's own, and compare.

        Raises:
            AtcError: what `convert` raises, NO_KERNEL for a node without float32 among them.
        """
        lines = frozenset(kept)
        self.count += 1
        if outputs_only:
            tried = self._runs.run(Assignment(broad=lines))
            if tried is not None:
                return Trial(lines, tried.model, tried.done, tried.done)
        result = self._layers.run(lines, outputs_only=outputs_only)
        self._runs.take(Assignment(broad=lines), result)
        return result

    def make_ahead(self, sets: Iterable[Collection[str]]) -> None:
        """Make the first of some trials at the same time, for `run`, if there are processes for it."""
        self._runs.make_ahead(Assignment(broad=frozenset(group)) for group in sets)


_PRICES = 48
"""Prices of error for which the cheapest labels are computed."""

_SPAN = (1e-6, 1e6)
"""Bounds of these prices, in times of the quickest model for all of the allowed error."""

_LISTED = 4096
"""Most assignments that are listed."""

_MOST_SHARE = 1e6
"""Share of the allowed error that stands for an infinite one."""


class PlanSearch:
    """One search."""

    def __init__(  # noqa: PLR0913  (the parts of a search)
        self,
        runs: TrialRuns,
        layers: Trials,
        first: Trial,
        choices: Choices,
        targets: Mapping[str, float],
        limit: int,
        on_stage: Callable[[str], None] | None,
    ) -> None:
        self._runs, self._layers, self._first = runs, layers, first
        self._choices, self._targets, self._limit = choices, targets, limit
        self._on_stage = on_stage
        self.exhaustive = False  # True if every assignment was tried
        # the result of the search for the fewest nodes in float32; None of none
        self.suggested: Assignment | None = None
        # error of each line alone in float16, as a share of the allowed one
        self.shares: dict[str, dict[str, float]] = {}
        self.times: TimeModel | None = None  # the time model; None where nothing had to be modeled

    def run(self, errors: Callable[[], ErrorModel]) -> None:
        """Search with the error model that `errors` makes; small searches need none."""
        labels = self._choices.labels
        if not labels:
            return
        if math.prod(map(len, labels.values())) <= self._left:
            self._try_all()
            return
        self._make_models(errors())
        self._try_curve()
        self._suggest()
        self._improve()
        self._try_quicker()

    @property
    def best(self) -> TriedAssignment | None:
        """The quickest assignment so far that reaches the target."""
        reached = [trial for trial in self._runs.found.values() if trial.reached]
        return min(reached, key=rank, default=None)

    @property
    def _left(self) -> int:
        return self._limit - self._runs.count

    def _try(
        self, assignment: Assignment, faster_than: float | None = None
    ) -> TriedAssignment | None:
        if self._on_stage is not None and assignment not in self._runs.found:
            best = self.best
            progress = Text("none reaches the target yet")
            if best is not None:
                progress = Text("best so far {time} µs", time=f"{best.seconds * 1e6:.1f}")
            self._on_stage(
                Text(
                    "plan: trial {n} of at most {limit}, {changed} of {all} changed; {progress}",
                    n=self._runs.count + 1,
                    limit=self._limit,
                    changed=len(assignment.dtypes),
                    all=len(self._choices.labels),
                    progress=progress,
                )
            )
        return self._runs.run(assignment, faster_than)

    def _try_all(self) -> None:
        """Try every assignment; those that are slower than the best do not run."""
        every = [*self._every()]
        for at, assignment in enumerate(every):
            best = self.best
            least = None if best is None else best.seconds
            self._runs.make_ahead(every[at:], least)
            self._try(assignment, least)
        self.exhaustive = True

    def _make_models(self, errors: ErrorModel) -> None:
        """Take the times of lines from compiled models, and their errors from single trials."""
        self.times = TimeModel(self._choices.models, NARROW)
        values = self._choices.values
        for count, (line, labels) in enumerate(self._choices.labels.items(), 1):
            if self._on_stage is not None:
                self._on_stage(
                    Text(
                        "plan: single trial {count} of {count_2}",
                        count=count,
                        count_2=len(self._choices.labels),
                    )
                )
            self.shares[line] = {
                label: min(errors.share(values.get(line, ()), DType(label)), _MOST_SHARE)
                if errors.tells_nodes_apart
                else 1 / len(self._choices.labels)
                for label in labels
            }

    def _try_curve(self) -> None:
        """Try the points of the modeled curve by halves: the quickest that reaches the target."""
        points = self._curve()
        low, high = 0, len(points) - 1
        while low <= high and self._left:
            middle = (low + high) // 2
            tried = self._try(points[middle])
            if tried is not None and tried.reached:
                high = middle - 1
            else:
                low = middle + 1

    def _curve(self) -> list[Assignment]:
        """Assignments from quick to exact: for growing prices, and for forced lines.

        Prices give the convex hull of the curve. Points between come from lines of a large error
        that are kept out of float16, few or many, with the cheapest dtypes for all others.
        """
        whole = self._runs.found[ALL_NARROW].seconds
        prices = (
            whole * _SPAN[0] * (_SPAN[1] / _SPAN[0]) ** (step / (_PRICES - 1))
            for step in range(_PRICES)
        )
        result = {self._cheapest(price, frozenset()) for price in prices}
        order = sorted(self.shares, key=lambda line: -self.shares[line][NARROW])
        count = 1
        while count < len(order):
            result.add(self._cheapest(0.0, frozenset(order[:count])))
            count += max(count // 2, 1)
        return self._unbeaten(result)

    def _cheapest(self, price: float, forced: Collection[str]) -> Assignment:
        """The cheapest assignment at a price of error, with `forced` lines not in float16."""
        assert self.times is not None  # noqa: S101  (made before)
        seconds = self.times.seconds
        pairs = {
            pair: cost
            for pair, cost in self.times.casts.items()
            if all(line in self._choices.labels or line == PORTS for line in pair)
        }
        prices = {
            line: {
                label: seconds[label].get(line, 0.0) + price * self.shares[line][label]
                for label in labels
                if label != NARROW or line not in forced
            }
            for line, labels in self._choices.labels.items()
        }
        labels = cheapest_labels(prices | {PORTS: {BROAD: 0.0}}, pairs, self._choices.dtypes)
        del labels[PORTS]
        return _assignment_of(labels)

    def _unbeaten(self, assignments: Iterable[Assignment]) -> list[Assignment]:
        """The assignments that no other one is expected to beat, the quickest first."""
        ordered = sorted(
            assignments,
            key=lambda assignment: (len(assignment.dtypes), sorted(assignment.dtypes.items())),
        )
        expected = sorted(
            (*self._expected(candidate), at, candidate) for at, candidate in enumerate(ordered)
        )
        best: list[tuple[float, float, int, Assignment]] = []
        for candidate in expected:
            if not best or candidate[1] < best[-1][1]:
                best.append(candidate)
        return [candidate for *_, candidate in best]

    def _expected(self, assignment: Assignment) -> tuple[float, float]:
        assert self.times is not None  # noqa: S101  (made before)
        times, lines = self.times, self._choices.labels
        seconds = sum(times.seconds[assignment.dtype(line)].get(line, 0.0) for line in lines)
        apart = (
            cost
            for (a, b), cost in times.casts.items()
            if assignment.dtype(a) != assignment.dtype(b)
        )
        share = sum(self.shares[line][assignment.dtype(line)] for line in lines)
        return seconds + sum(apart), share

    def _suggest(self) -> None:
        if self._left < LEAST_TRIALS or self._runs.found[ALL_NARROW].reached:
            return
        trials = KeptTrials(self._runs, self._layers)
        limit = min(self._left, max(self._limit // 2, LEAST_TRIALS))
        suggestion = search(trials, self._first, self._targets, limit, self._on_stage)
        if suggestion.reached and suggestion.kept:
            self.suggested = Assignment(
                broad=frozenset(candidate.line for candidate in suggestion.kept)
            )

    def _improve(self) -> None:
        """Try moves from the best assignment that are expected to save time, the largest first."""
        gained = True
        while gained and self._left:
            best, gained = self.best, False
            if best is None or self.times is None:
                return
            moves = moves_of(
                best.assignment, self._choices.labels, self.shares, self.times, 1 - best.share
            )
            for at, assignment in enumerate(moves):
                if not self._left:
                    return
                self._runs.make_ahead(moves[at : at + self._left], best.seconds)
                self._try(assignment, best.seconds)
                # One that was tried before may have saved less than the model of times expects.
                if self.best is not best:
                    gained = True
                    break

    def _try_quicker(self) -> None:
        """Try what the models expect to be quicker than the best, where all assignments can be listed.

        Moves change a line, two, or a connected group to one dtype; the optimum may be further away.
        """
        best = self.best
        if best is None or math.prod(map(len, self._choices.labels.values())) > _LISTED:
            return
        least, _ = self._expected(best.assignment)
        listed = (
            (*self._expected(candidate), at, candidate)
            for at, candidate in enumerate(self._every())
        )
        wanted = sorted(
            candidate for candidate in listed if candidate[0] < least and candidate[1] <= DOUBT
        )
        untried = [candidate for *_, candidate in wanted if candidate not in self._runs.found]
        for at, assignment in enumerate(untried):
            best = self.best
            if not self._left or best is None:
                return
            self._runs.make_ahead(untried[at : at + self._left], best.seconds)
            self._try(assignment, best.seconds)

    def _every(self) -> Iterator[Assignment]:
        lines = [*self._choices.labels]
        for chosen in product(*self._choices.labels.values()):
            yield _assignment_of(dict(zip(lines, chosen, strict=True)))


def _assignment_of(labels: Mapping[str, str]) -> Assignment:
    result = ALL_NARROW
    for dtype in {*labels.values()} - {NARROW}:
        result = result.with_dtype((line for line in labels if labels[line] == dtype), dtype)
    return result

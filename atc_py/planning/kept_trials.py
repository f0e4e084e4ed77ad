"""Trials of nodes in float32 as the search of `compare --suggest` makes them, shared with the plan."""

from collections.abc import Collection, Iterable

from atc_py.compare.trials import Trial, Trials
from atc_py.planning.assignment import Assignment
from atc_py.planning.trial_runs import TrialRuns


class KeptTrials:
    """Trials by lines to keep; what only the outputs judge is taken from the plan's own.

    Attributes:
        count: compilations so far.
        own: lines of the user's own --keep-dtype file.
        samples: how many samples judge a trial.
    """

    def __init__(self, runs: TrialRuns, layers: Trials) -> None:
        """Share `runs`; comparisons of all layers are made by `layers`."""
        self._runs, self._layers = runs, layers
        self.own, self.samples = layers.own, layers.samples
        self.count = 0

    def run(self, kept: Iterable[str], *, outputs_only: bool = True) -> Trial:
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
        found = self._layers.run(lines, outputs_only=outputs_only)
        self._runs.take(Assignment(broad=lines), found)
        return found

    def make_ahead(self, sets: Iterable[Collection[str]]) -> None:
        """Make the first of some trials at the same time, for `run`, if there are processes for it."""
        self._runs.make_ahead(Assignment(broad=frozenset(each)) for each in sets)

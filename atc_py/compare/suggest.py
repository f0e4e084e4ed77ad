"""Search for the smallest set of nodes to keep in float32 with which a model reaches its target.

First all candidates are kept: what misses the target then is missed by every set, and the search
ends there, with the figures of that set as the best there is. Nodes are then added round by round,
each time those that add the most error to the outputs that miss, judged on a comparison of all
layers with what was kept before; one a round at first, then more and more. What is not needed is left out
again, in halves, quarters, and one by one. In the end all smaller sets are tried, if the limit of
compilations allows that. Every set is judged by a run on the simulator.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import combinations, islice
from math import comb
from typing import Protocol

from atc_py.compare.candidates import (
    ITS_OWN_DTYPES,
    find_candidates,
    has_float32_kernel,
    line_of,
    ranked_lines,
    stay_narrow,
)
from atc_py.compare.targets import reaches, targets_text
from atc_py.compare.trials import Trial
from atc_py.diag import NO_KERNEL, AtcError
from atc_py.package.schema import OmModel
from atc_py.results.layer_comparison import Excluded, KeptNode, Suggestion
from atc_py.system.structs import replace
from atc_py.text import Text

LEAST_TRIALS = 4
"""Least compilations of a search; with fewer it has no result."""

NO_FLOAT32 = "no float32 kernel on this SoC"
"""Reason for which a node is not a candidate."""

_REFUSALS = frozenset({NO_KERNEL})
"""Codes of nodes that cannot be in float32."""

_SINGLE_ROUNDS = 4
"""Rounds that add one node; each one after them adds twice as many as the one before."""


class TrialRunner(Protocol):
    """Makes the trials of a search.

    Attributes:
        count: compilations so far.
        own: lines of the user's own --keep-dtype file.
        samples: how many samples judge a trial.
    """

    count: int
    own: tuple[str, ...]
    samples: int

    def run(self, kept: Iterable[str], *, outputs_only: bool) -> Trial:
        """Compile with the lines `kept` beside the user's own, and compare."""
        ...

    def make_ahead(self, sets: Iterable[Collection[str]]) -> None:
        """Make the first of some trials at the same time, for `run`, if there are processes for it."""
        ...


def search(
    trials: TrialRunner,
    first: Trial,
    targets: Mapping[str, float],
    limit: int,
    on_stage: Callable[[str], None] | None = None,
) -> Suggestion:
    """Search for the smallest set for the model of `first`, its comparison without any.

    Without `targets` no output may fail. At most `limit` compilations are made; for each `on_stage`
    gets a line: how many there were, of how many at most, and the smallest set so far.
    """
    return _Search(trials, first, targets, limit, on_stage).suggestion()


class _Search:
    """One search: its remaining candidates, the sets tried so far, and the best of them."""

    def __init__(
        self,
        trials: TrialRunner,
        first: Trial,
        targets: Mapping[str, float],
        limit: int,
        on_stage: Callable[[str], None] | None,
    ) -> None:
        self._trials = trials
        self._first = first
        self._targets = targets
        self._limit = limit
        self._on_stage = on_stage
        self._candidates = find_candidates(first.model)
        self._excluded: list[Excluded] = []
        self._known: dict[frozenset[str], Trial | None] = {}
        self._fewest: int | None = None
        self._smallest = self._minimal = False

    def suggestion(self) -> Suggestion:
        if reaches(self._first.judged, self._targets):
            return self._record(self._first)
        best = self._all_kept()
        if best is None:
            return replace(self._record(self._first), out_of_reach=not self._candidates)
        if not self._reaches_target(best):
            return replace(self._record(self._first), out_of_reach=True, after=best.judged)
        best = self._grown_set(best)
        best = self._thinned_set(best)
        return self._record(self._try_smaller_sets(best))

    def _all_kept(self) -> Trial | None:
        """Try all candidates in float32; drop those without a kernel there, or narrow in the model.

        Nodes that were fused with others may stand alone where those are kept; they are added.
        """
        while self._candidates and self._compilations_left:
            trial = self._try(self._candidates)
            if trial is None:
                continue
            found = find_candidates(trial.model)
            known = self._candidates.keys() | {each.line for each in self._excluded}
            fresh = {line: each for line, each in found.items() if line not in known}
            if fresh and self._compilations_left:
                self._candidates |= fresh
                continue
            narrow = stay_narrow(trial.model, self._candidates.keys())
            soc = trial.model.soc
            own = {each for each in narrow if has_float32_kernel(self._candidates[each].op, soc)}
            self._exclude(own, ITS_OWN_DTYPES)
            self._exclude(narrow - own, NO_FLOAT32)
            if not narrow or not self._compilations_left:
                return trial
        return None

    def _grown_set(self, most: Trial) -> Trial:
        """A sufficient set, found by adding nodes; `most` where no smaller one turns up."""
        kept: list[str] = []
        trial, rounds = self._first, 0
        while self._compilations_left > 1:
            rest = [line for line in self._candidates if line not in trial.kept]
            ranked = ranked_lines(trial.model, trial.done, self._missed_tensors(trial), rest)
            if not ranked:
                break
            kept += ranked[: 1 << max(rounds - _SINGLE_ROUNDS + 1, 0)]
            rounds += 1
            found = self._try(kept, outputs_only=False)
            if found is None:
                break
            trial = found
            if self._reaches_target(trial):
                return trial
        return most

    def _thinned_set(self, best: Trial) -> Trial:
        """`best` without what it does not need: halves first, then single nodes."""
        size = max(len(best.kept) // 2, 1)
        while self._compilations_left:
            thinner = self._drop_unneeded(best, size)
            if size == 1 and thinner is best:
                self._minimal = self._compilations_left > 0
                break
            best, size = thinner, max(size // 2, 1)
        return best

    def _drop_unneeded(self, best: Trial, size: int) -> Trial:
        """`best` without each `size` lines in a row that it does not need."""
        lines = [line for line in self._candidates if line in best.kept]
        start = 0
        while start < len(lines) and self._compilations_left:
            rest = [*lines[:start], *lines[start + size :]]
            self._make_ahead(
                [*lines[:at], *lines[at + size :]] for at in range(start, len(lines), size)
            )
            trial = self._try(rest) if rest else None
            if trial is not None and self._reaches_target(trial):
                best, lines = trial, rest
            else:
                start += size
        return best

    def _try_smaller_sets(self, best: Trial) -> Trial:
        """The first set of the fewest nodes, as far as all sets of a size can be tried."""
        for size in range(1, len(best.kept)):
            # A size counts only if all its sets fit into the limit: then the result is the smallest.
            sets = [frozenset(each) for each in self._sets_of_size(size)]
            if len(sets) > self._compilations_left:
                return best
            for at, kept in enumerate(sets):
                self._make_ahead(sets[at:])
                trial = self._try(kept)
                if trial is not None and self._reaches_target(trial):
                    self._smallest = True
                    return trial
        self._smallest = True
        return best

    def _sets_of_size(self, size: int) -> Iterable[tuple[str, ...]]:
        """Yield all sets of `size` candidates that were not tried; one too many where they are."""
        # At most all known sets have this size, so the difference bounds what is left to try.
        if comb(len(self._candidates), size) > self._compilations_left + len(self._known):
            return [()] * (self._compilations_left + 1)
        sets = combinations(self._candidates, size)
        return [each for each in sets if frozenset(each) not in self._known]

    @property
    def _compilations_left(self) -> int:
        return self._limit - self._trials.count

    def _try(self, lines: Collection[str], *, outputs_only: bool = True) -> Trial | None:
        """Compile with `lines` kept; None if one has no kernel, which is then excluded."""
        kept = frozenset(lines)
        if outputs_only and kept in self._known:
            return self._known[kept]
        if self._on_stage is not None:
            self._on_stage(self._progress(len(kept)))
        try:
            trial = self._trials.run(kept, outputs_only=outputs_only)
        except AtcError as error:
            self._known[kept] = None
            self._exclude_refused(error)
            return None
        self._known[kept] = trial
        if self._reaches_target(trial):
            self._fewest = min(len(kept), self._fewest or len(kept))
        return trial

    def _make_ahead(self, sets: Iterable[Collection[str]]) -> None:
        """Make trials of sets that were not tried ahead, as far as the limit allows."""
        fresh = (each for each in sets if each and frozenset(each) not in self._known)
        self._trials.make_ahead(islice(fresh, max(self._compilations_left, 0)))

    def _progress(self, kept: int) -> str:
        best = Text("no set reaches the target yet")
        if self._fewest is not None:
            best = Text("best so far {fewest} kept", fewest=self._fewest)
        return Text(
            "suggest: trial {count} of at most {limit}, {kept} of {count_2} kept; {best}",
            count=self._trials.count + 1,
            limit=self._limit,
            kept=kept,
            count_2=len(self._candidates),
            best=best,
        )

    def _exclude_refused(self, error: AtcError) -> None:
        """Exclude the candidates without a kernel according to `error`; else raise it."""
        places = [each.place for each in error.diagnostics if each.code in _REFUSALS]
        indices = {place.node for place in places if place is not None}
        nodes = (each for each in self._first.model.nodes if each.origins)
        lines = {line_of(each) for each in nodes if each.origins[0].index in indices}
        refused = self._candidates.keys() & lines
        if not refused:
            raise error
        self._exclude(refused, NO_FLOAT32)

    def _exclude(self, lines: Collection[str], reason: str) -> None:
        for line in [line for line in self._candidates if line in lines]:
            self._excluded.append(Excluded(line, self._candidates.pop(line).op, reason))

    def _missed_tensors(self, trial: Trial) -> set[int]:
        """Tensors of the outputs that miss; none if the device stopped before them."""
        done, judged = trial.done, trial.judged
        missing = set()
        for name, at in done.outputs.items():
            if name in judged.outputs:
                own = {key: why for key, why in judged.uncompared.items() if key == name}
                alone = replace(judged, outputs={name: judged.outputs[name]}, uncompared=own)
                if reaches(alone, self._targets):
                    continue
            missing.add(done.layers[at].tensor)
        return set() if done.stopped else missing

    def _reaches_target(self, trial: Trial) -> bool:
        return reaches(trial.judged, self._targets)

    def _record(self, best: Trial) -> Suggestion:
        order = [line for line in self._candidates if line in best.kept]
        engines = _engines(best.model)
        nodes = (self._candidates[line] for line in order)
        return Suggestion(
            target=targets_text(self._targets),
            needed=not reaches(self._first.judged, self._targets),
            reached=reaches(best.judged, self._targets),
            kept=tuple(KeptNode(n.line, n.op, n.nodes, engines.get(n.line, "")) for n in nodes),
            own=self._trials.own,
            smallest=self._smallest,
            minimal=self._minimal,
            candidates=len(self._candidates),
            excluded=tuple(self._excluded),
            trials=self._trials.count,
            limit=self._limit,
            before=self._first.judged,
            after=best.judged,
            samples=self._trials.samples,
        )


def _engines(model: OmModel) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in model.nodes:
        line = line_of(node)
        if line is not None:
            found.setdefault(line, node.engine)
    return found

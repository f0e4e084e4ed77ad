"""Trial compilations: the model with some nodes kept in float32, against the recorded original.

A search asks for one trial after the other, and what it asks for next depends on the answer. It
says which trials it will ask for if none of the next ones succeeds; these are made ahead, in
processes of an executor, and those that it then does not ask for are dropped. So it finds the same
whatever ran them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from atc_py.compare.compilation import Compilation, Lines
from atc_py.compare.observed import DEVICES
from atc_py.compare.original import open_original
from atc_py.compare.output_recording import StoredSamples, TrialSamples
from atc_py.compare.paired_run import Feeds, Original, Pair
from atc_py.compare.reference import ReferenceModel
from atc_py.cost.network import network_time
from atc_py.device.backend import LoadedModel
from atc_py.diag import AtcError, Diagnostic
from atc_py.package.reader import open_model
from atc_py.package.schema import OmModel
from atc_py.results.layer_comparison import LayerComparison
from atc_py.system.temp_folders import work_folder

if TYPE_CHECKING:
    from atc_py.system.jobs.task_executor import TaskExecutor


@dataclass(frozen=True)
class TrialTask:
    """A model to compile and to compare."""

    compilation: Compilation
    lines: Lines  # of the option files
    samples: StoredSamples
    device: str
    # seconds; a model that takes as long, by the estimate, does not run. None for all
    faster_than: float | None


@dataclass(frozen=True)
class TrialAnswer:
    """The answer to a trial."""

    model: OmModel | None  # the compiled model; None where it does not compile
    seconds: float  # its estimated time
    done: LayerComparison | None  # the comparison of its outputs; None where it did not run
    diagnostics: tuple[Diagnostic, ...] = ()  # why it does not compile


class _Search:
    """Parts that the trials of one search share in a process, the last one that it took part in."""

    def __init__(self, task: TrialTask) -> None:
        self.compilation, self.samples = task.compilation, task.samples
        self._reference: ReferenceModel | None = None

    def has(self, task: TrialTask) -> bool:
        """True if a trial belongs to the search; the files of its samples are no other's."""
        return self.samples == task.samples and self.compilation == task.compilation

    def reference(self, folder: Path) -> ReferenceModel:
        """The original; one that has another form is opened for each trial, in its folder."""
        if self._reference is not None:
            return self._reference
        own = self.compilation
        opened = open_original(own.file, folder, own.options.precision.quant_bias, own.reference)
        opened.bound = own.bound
        if not opened.form:
            self._reference = opened
        return opened


_searches: list[_Search] = []


def _pair(
    compilation: Compilation, reference: ReferenceModel, package: LoadedModel, device: str
) -> Pair:
    pair = Pair(reference, package, device=device)
    pair.kept = compilation.results
    return pair


def run_trial(task: TrialTask) -> TrialAnswer:
    """Compile, time and compare; the samples are read from files."""
    if not (_searches and _searches[0].has(task)):
        _searches[:] = [_Search(task)]
    search = _searches[0]
    own = search.compilation
    with work_folder() as folder:
        om = folder / "trial.om"
        try:
            own.write_with(om, task.lines, folder)
        except AtcError as error:
            return TrialAnswer(None, 0.0, None, error.diagnostics)
        with open_model(om) as package:
            seconds = network_time(package.description).expected
            if task.faster_than is not None and seconds >= task.faster_than:
                return TrialAnswer(package.description, seconds, None)
            reference = search.reference(folder)
            pair = _pair(own, reference, package, task.device)
            done = pair.compared(task.samples.opened(reference), outputs_only=True)
        return TrialAnswer(package.description, seconds, done)


class TrialsAhead:
    """Answers that were made ahead, by the lines of their option files."""

    def __init__(
        self,
        executor: TaskExecutor,
        compilation: Compilation,
        samples: StoredSamples,
        device: str = DEVICES[0],
    ) -> None:
        self._executor, self._compilation = executor, compilation
        self._samples, self._device = samples, device
        self._answers: dict[Lines, TrialAnswer] = {}

    @property
    def jobs(self) -> int:
        return self._executor.jobs

    def make(self, wanted: Iterable[Lines], faster_than: float | None = None) -> None:
        """Make trials that are not there yet, as many as run at once.

        A trial that fails is left to the search, which meets the failure itself.
        """
        fresh = [lines for lines in dict.fromkeys(wanted) if lines not in self._answers]
        if len(fresh) < 2:  # noqa: PLR2004  (one alone gains nothing)
            return
        tasks = [
            TrialTask(self._compilation, lines, self._samples, self._device, faster_than)
            for lines in fresh[: self.jobs]
        ]
        for outcome in self._executor.map_unordered(run_trial, tasks):
            if outcome.value is not None:
                self._answers[outcome.task.lines] = outcome.value

    def take(self, lines: Lines) -> TrialAnswer | None:
        """An answer that was made ahead, once; None where there is none."""
        return self._answers.pop(lines, None)


@dataclass(frozen=True, slots=True)
class Trial:
    """Result of one compilation."""

    kept: frozenset[str]  # lines beyond the user's own
    model: OmModel
    done: LayerComparison
    judged: LayerComparison  # the comparison of its outputs on all samples that judge it


class Trials:
    """Compiles and compares; the original was run before.

    Attributes:
        count: compilations so far.
        samples: how many samples judge a trial.
        own: lines of the user's own --keep-dtype file.
        ahead: makes trials ahead in other processes; None where there are none.
    """

    def __init__(
        self,
        compilation: Compilation,
        reference: ReferenceModel,
        samples: Sequence[tuple[Feeds, Original]],
        folder: Path,
        device: str = DEVICES[0],
        judged: TrialSamples | None = None,
    ) -> None:
        """Prepare trials.

        `samples` come with all values of the original; those of `judged`, if given, judge a trial.
        """
        self._device = device
        self._judged = judged
        self.ahead: TrialsAhead | None = None
        self.samples = len(samples) if judged is None else judged.count
        self.count = 0
        self.own = compilation.kept_lines()
        self._compilation = compilation
        self._reference = reference
        self._samples = samples
        self._folder = folder

    def make_ahead(self, sets: Iterable[Collection[str]]) -> None:
        if self.ahead is not None:
            some = islice(sets, self.ahead.jobs)
            self.ahead.make([self._options(sorted(each)) for each in some])

    def _options(self, lines: Sequence[str]) -> Lines:
        """The lines of the option files with `lines` kept beside the user's own."""
        return (*self.own, *lines), self._compilation.custom_lines()

    def judged_by(self, judged: TrialSamples) -> Trials:
        """Trials of the same model that other samples judge."""
        parts = self._compilation, self._reference, self._samples, self._folder
        return Trials(*parts, self._device, judged)

    def run(self, kept: Iterable[str], *, outputs_only: bool = True) -> Trial:
        """Compile with the lines `kept` beside the user's own, and compare.

        Raises:
            AtcError: what `convert` raises, NO_KERNEL for a node without float32 among them.
        """
        self.count += 1
        lines, om = sorted(kept), self._folder / "trial.om"
        ready = None
        if outputs_only and self.ahead is not None:
            ready = self.ahead.take(self._options(lines))
        if ready is not None and ready.model is None:
            raise AtcError(*ready.diagnostics)
        if ready is not None and ready.model is not None and ready.done is not None:
            return Trial(frozenset(lines), ready.model, ready.done, ready.done)
        self._compilation.write_with(om, self._options(lines), self._folder)
        with open_model(om) as package:
            sides = self._compilation, self._reference, package, self._device
            judged = done = None
            if self._judged is not None:
                judged = done = _pair(*sides).compared(self._judged, outputs_only=True)
            if done is None or not outputs_only:
                done = _pair(*sides).compared(self._samples, outputs_only=outputs_only)
            return Trial(frozenset(lines), package.description, done, judged or done)

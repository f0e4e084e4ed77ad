"""Trial compilations: the model with some nodes kept in float32, against the recorded original."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from atc_py.compare.compilation import Compilation, Lines
from atc_py.compare.observed import DEVICES
from atc_py.compare.output_recording import TrialSamples
from atc_py.compare.paired_run import Feeds, Original, Pair
from atc_py.compare.reference import ReferenceModel
from atc_py.compare.trials_ahead import TrialsAhead
from atc_py.device.backend import LoadedModel
from atc_py.diag import AtcError
from atc_py.package.reader import open_model
from atc_py.package.schema import OmModel
from atc_py.results.layer_comparison import LayerComparison


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
            judged = done = None
            if self._judged is not None:
                judged = done = self._pair(package).compared(self._judged, outputs_only=True)
            if done is None or not outputs_only:
                done = self._pair(package).compared(self._samples, outputs_only=outputs_only)
            return Trial(frozenset(lines), package.description, done, judged or done)

    def _pair(self, package: LoadedModel) -> Pair:
        pair = Pair(self._reference, package, device=self._device)
        pair.kept = self._compilation.results
        return pair

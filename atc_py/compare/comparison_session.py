"""A compiled model, its original and the samples that both are fed: comparisons and trials of it."""

import itertools
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import numpy.typing as npt

from atc_py.compare.compilation import Compilation
from atc_py.compare.fitting_samples import FittingSamples
from atc_py.compare.input_roles import input_roles
from atc_py.compare.observed import DEVICES
from atc_py.compare.original import open_original
from atc_py.compare.output_recording import (
    HELD_BYTES,
    RecordedOutputs,
    Recording,
    TrialSamples,
    WatchedRun,
    recorded_outputs,
)
from atc_py.compare.own_errors import (
    ExactValues,
    Suspect,
    find_suspects,
    own_errors_of,
    with_own_errors,
)
from atc_py.compare.paired_run import Beside, Feeds, Original, Pair
from atc_py.compare.reference import ReferenceModel
from atc_py.compare.reference_run import ReferenceRun
from atc_py.compare.sample_source import DrawnSamples, SampleInputs, given_source
from atc_py.compare.suggest import search
from atc_py.compare.targets import reaches
from atc_py.compare.trials import Trial, Trials, TrialsAhead
from atc_py.diag import Sink
from atc_py.package.reader import OfflineModel
from atc_py.package.schema import AIPP
from atc_py.pipeline.running.feeds import odd_feeds, read_feeds
from atc_py.pipeline.running.model import ports_of
from atc_py.pipeline.running.samples import Samples, evenly
from atc_py.results.cann_nodes import CannSemantics, read_newer, read_semantics
from atc_py.results.layer import OwnError
from atc_py.results.layer_comparison import LayerComparison, Suggestion
from atc_py.system.structs import replace
from atc_py.text import Text

Array = npt.NDArray[np.generic]
PathText = str | os.PathLike[str]
GivenSamples = (
    int | None | PathText | Sequence[PathText] | Sequence[Mapping[str, Array]] | FittingSamples
)


_ROUNDS = 3
"""Rounds in which errors of the original's own are searched; one may hide another."""

_RECORDED = 8
"""Samples of which all values are kept for trials, and on which the original's own errors show."""


_FEW = 16
"""Samples up to which constants are fed to the original in each run."""


class ComparisonSession:
    """A compiled model, its original, and what both are fed.

    Attributes:
        histograms: True if samples of all layers' values are taken.
        device: name of the device that runs the compiled model.
        warnings: what is odd about data from files.
        semantics: nodes that compute what CANN makes of them; None for those that the model records.
        targets: least values by figure.
        on_stage: called with the number of layers compared.
        beside: a third side of the comparison.
    """

    on_stage: Callable[[str], None] | None = None
    beside: Beside | None = None
    histograms = False
    device = DEVICES[0]
    targets: Mapping[str, float] = {}

    def __init__(
        self,
        compilation: Compilation,
        package: OfflineModel,
        folder: Path,
        data: tuple[Mapping[str, Array] | Iterable[str], Path | None],
        draws: tuple[GivenSamples, int],
    ) -> None:
        """Prepare a comparison; files go to `folder`.

        `data` is what the user feeds, and a file with settings of dynamic AIPP; `draws` are the
        samples, or their number, and the seed of random data.
        """
        (inputs, settings), (samples, seed) = data, draws
        self._compilation = compilation
        self._package = package
        self._folder = folder
        self._reference = open_original(
            compilation.file,
            folder,
            compilation.options.precision.quant_bias,
            compilation.reference,
        )
        self._reference.bound = compilation.bound
        self._ports = ports_of(package.description, package.description.inputs)
        self._pictures = None
        if any(node.op == AIPP for node in package.description.nodes):
            from atc_py.compare.pictures import ComparedPictures

            layout = compilation.options.input_format.value
            self._pictures = ComparedPictures(package.description, layout)
        sink = Sink()
        if isinstance(inputs, Mapping):
            given = dict(inputs)
        else:
            given = self._read(tuple(inputs), settings, sink)
            sink.extend(odd_feeds(given))
        self.warnings = (*compilation.notes, *sink.diagnostics)
        self.semantics: CannSemantics | None = None
        self._given, self._seed = given, seed
        self._source = self._opened(samples)
        if self.count <= _FEW:
            self._reference.feed_constants()
        self._names: dict[int, str] = {}
        self._recorded: list[tuple[Feeds, Original]] | None = None
        self._outputs: dict[int, RecordedOutputs] = {}
        self._judged: Collection[int] | None = None  # samples of trials; None where none follow
        self._round: Path | None = None  # files of the present original's values

    def suggested(
        self,
        targets: Mapping[str, float] | None,
        limit: int,
        judging: tuple[int | None, int],
        on_stage: Callable[[str], None] | None,
    ) -> LayerComparison:
        """Compare, and search for nodes to keep in float32 unless `targets` is None."""
        if targets is None:
            return self.compared()
        done = self.compared_for_trials(judging[0])
        trials = self.trials(judging[0])
        first = Trial(frozenset(), self._package.description, done, done)
        with self.ahead(*judging) as trials.ahead:
            found = search(trials, first, targets, limit, on_stage)
        if found.needed and found.reached and found.samples < self._source.count:
            found = self._on_all(trials, found, targets)
        return replace(done, suggestion=found)

    def compared_for_trials(self, judging: int | None = None) -> LayerComparison:
        """Compare; keep the original's outputs in samples that judge trials, and all values of few.

        At most `judging` samples judge; None for all.
        """
        self._judged = self._judging(judging)
        if self._source.count <= _RECORDED:
            self._record()
        return self.compared()

    @property
    def reference(self) -> ReferenceModel:
        """The original, without its own errors once these were searched."""
        return self._reference

    @property
    def source(self) -> Samples:
        return self._source

    @property
    def count(self) -> int:
        return self._source.count

    def few_feeds(self, most: int) -> Iterator[Feeds]:
        """Yield what the original is fed in at most so many samples, at even distances."""
        yield from map(self._originals, self._feeds(evenly(self.count, most)))

    def few_runs(self, most: int) -> Iterator[tuple[Feeds, Original]]:
        """Yield the same with runs of the original; what was recorded does not run."""
        yield from ((feeds, run) for _, feeds, run in self._runs_at(evenly(self.count, most)))

    def judged(self, judging: int | None = None) -> TrialSamples:
        """At most `judging` samples with the original's outputs, which may run; None for all.

        Raises:
            AtcError: REFERENCE_FAILED; CANNOT_WRITE where the folder takes no more.
        """
        folder = Path(mkdtemp(dir=self._folder))
        positions = self._judging(judging)
        for at, _, run in self._runs_at([at for at in positions if at not in self._outputs]):
            outputs = self._reference.outputs
            self._outputs[at] = recorded_outputs(run, outputs, folder / f"outputs{at}")
        runs = [self._outputs[at] for at in positions]
        feeds = partial(self._feeds, positions)
        return TrialSamples(self._reference, feeds, self._originals, runs, folder)

    def _judging(self, most: int | None) -> Sequence[int]:
        """The positions of at most so many samples at even distances; None for all."""
        return evenly(self.count, self.count if most is None else most)

    def _runs_at(self, positions: Collection[int]) -> Iterator[tuple[int, Feeds, Original]]:
        """Yield some samples, each with a run of the original; what was recorded does not run."""
        recorded = dict(zip(evenly(self.count, _RECORDED), self._recorded or (), strict=False))
        for at in filter(recorded.get, positions):
            feeds, run = recorded[at]
            yield at, self._originals(feeds), run
        missing = [at for at in positions if at not in recorded]
        for at, feeds in zip(missing, self._feeds(missing) if missing else (), strict=True):
            fed = self._originals(feeds)
            yield at, fed, ReferenceRun(self._reference, fed)

    def trials(self, judging: int | None = None) -> Trials:
        """Trials that are judged by at most `judging` samples; None for all."""
        outputs = None
        if self.count > _RECORDED or len(self._judging(judging)) < self.count:
            outputs = self.judged(judging)
        if self._recorded is None:
            self._record()
        recorded = self._recorded or []
        return Trials(
            self._compilation, self._reference, recorded, self._folder, self.device, outputs
        )

    @contextmanager
    def ahead(self, judging: int | None, jobs: int) -> Iterator[TrialsAhead | None]:
        """Give what makes trials ahead in processes; None for one, and where pictures are fed."""
        if jobs == 1 or self._pictures is not None:
            yield None
            return
        from atc_py.system.jobs.executor import open_executor

        samples = self.judged(judging).stored()
        with open_executor(jobs) as executor:
            yield TrialsAhead(executor, self._compilation, samples, self.device)

    def _on_all(
        self, trials: Trials, found: Suggestion, targets: Mapping[str, float]
    ) -> Suggestion:
        """The suggestion with its result on all samples; the original runs again on the others."""
        if self.count <= _RECORDED:
            every = self.judged()
        else:
            unrecorded = RecordedOutputs({}, 0.0)
            runs = [self._outputs.get(at, unrecorded) for at in range(self.count)]
            feeds = partial(self._feeds, range(self.count))
            every = TrialSamples(self._reference, feeds, self._originals, runs, self._folder)
        after = trials.judged_by(every).run(each.line for each in found.kept).judged
        return replace(found, after=after, reached=reaches(after, targets))

    def compared(self) -> LayerComparison:
        """Compare, and take out the original's own errors where they are seen."""
        done = self._paired_run()
        if self._compilation.reference is not None:
            return done  # an error of quantization is none of the original's own
        plain = self._reference
        taken_out: dict[str, tuple[Suspect, OwnError]] = {}
        looked_at: set[str] = set()
        for _ in range(_ROUNDS):
            model = self._package.description
            suspects = find_suspects(done, model, self._reference, looked_at)
            looked_at |= {suspect.value for suspect in suspects}
            few = (run for _, run in self._runs(_RECORDED))
            found = own_errors_of(suspects, few) if suspects else []
            if not found:
                break
            taken_out |= {suspect.value: (suspect, error) for suspect, error in found}
            exact = ExactValues(suspect.nodes for suspect, _ in taken_out.values())
            self._begin_round(plain.with_amendment(exact))
            done = self._paired_run()
        return with_own_errors(done, [error for _, error in taken_out.values()])

    def _begin_round(self, reference: ReferenceModel) -> None:
        """Take another original; what the former one computed goes."""
        self._reference = reference
        self._outputs.clear()
        again, self._recorded = self._recorded is not None, None
        if self._round is not None:
            shutil.rmtree(self._round, ignore_errors=True)
            self._round = None
        if again:
            self._record()

    def _paired_run(self) -> LayerComparison:
        """Run the model beside its original, in step unless that was recorded."""
        report, path = self._package.report, str(self._package.path)
        semantics = self.semantics or read_semantics(report, path)
        newer = read_newer(report, path)
        pair = Pair(
            self._reference,
            self._package,
            self.targets,
            device=self.device,
            histograms=self.histograms,
            semantics=semantics,
        )
        if self._judged is not None:
            pair.kept = self._compilation.results
        pair.on_layer, pair.beside = self._counted_layers(), self.beside
        if self.beside is not None:
            self.beside.begin()
        if self._source.count > 1:
            pair.name_of = lambda at: self._names[at]
        done = pair.compared(self._runs())
        return replace(done, warnings=(*self.warnings, *done.warnings), newer=newer)

    def _counted_layers(self) -> Callable[[int], None] | None:
        """Callback that announces each layer of all samples as it is done; None for nobody."""
        on_stage, count, samples = self.on_stage, itertools.count(1), self._source.count
        if on_stage is None:
            return None
        return lambda layers: on_stage(
            Text("compare: {next} of {layers} layers", next=next(count), layers=layers * samples)
        )

    def _runs(self, most: int | None = None) -> Iterator[tuple[Feeds, Original]]:
        """Yield the data of each sample, or of `most` at even distances, with a run of the original."""
        if self._recorded is not None and self.count == len(self._recorded):
            yield from self._recorded
            return
        reference, positions = self._reference, self._judging(most)
        for at, feeds in zip(positions, self._feeds(positions), strict=True):
            fed = self._originals(feeds)
            if at not in (self._judged or ()) or at in self._outputs:
                yield feeds, ReferenceRun(reference, fed)
                continue
            run = WatchedRun(reference, fed, self._round_folder() / f"outputs{at}")
            yield feeds, run
            if run.recorded is not None:
                self._outputs[at] = run.recorded

    def _feeds(self, positions: Collection[int]) -> Iterator[Feeds]:
        """Yield the data of samples, the same each time; take their names."""
        pictures = self._pictures
        for at, (name, feeds) in enumerate(self._source):
            if at not in positions:
                continue
            self._names[at] = name
            drawn = pictures is not None and isinstance(self._source, DrawnSamples)
            if pictures is None or not drawn:
                yield feeds
            else:
                yield pictures.drawn(feeds, self._given, self._seed + at)

    def _opened(self, samples: GivenSamples) -> Samples:
        if samples is None or isinstance(samples, int):
            roles = input_roles(self._reference, self._ports)
            return DrawnSamples(
                self._ports, roles, self._given, (1 if samples is None else samples, self._seed)
            )
        inputs = SampleInputs.of(self._package.description, self._ports, self._given)
        if isinstance(samples, FittingSamples):
            return samples.opened(inputs)
        return given_source(samples, inputs)

    def _read(self, texts: Sequence[str], settings: Path | None, sink: Sink) -> dict[str, Array]:
        """The data of files; pictures and settings of AIPP as their inputs take them."""
        if self._pictures is None and settings is None:
            return read_feeds(texts, self._ports, sink)
        from atc_py.pipeline.running.picture_files import picture_feeds

        return picture_feeds(self._package.description, texts, self._ports, settings, sink)

    def _originals(self, feeds: Feeds) -> Feeds:
        return feeds if self._pictures is None else self._pictures.original(feeds)

    def _round_folder(self) -> Path:
        if self._round is None:
            self._round = Path(mkdtemp(dir=self._folder))
        return self._round

    def _record(self) -> None:
        """Run the original on every sample, or a few of many, and keep its values."""
        folder = self._round_folder()
        positions = evenly(self._source.count, _RECORDED)
        held = HELD_BYTES // len(positions)
        self._recorded = [
            (
                feeds,
                Recording(self._reference, self._originals(feeds), folder / f"sample{count}", held),
            )
            for count, feeds in enumerate(self._feeds(positions))
        ]

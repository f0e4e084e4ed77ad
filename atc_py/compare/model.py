"""`compare_model`: compile a model and compare every layer with the original."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, cast

from atc_py.compare.observed import DEVICES
from atc_py.compare.original import open_original
from atc_py.compare.own_errors import ExactValues, find_suspects, own_errors_of, with_own_errors
from atc_py.compare.paired_run import Pair, sample_feeds
from atc_py.compare.recording import Recording
from atc_py.compare.reference import ReferenceRun
from atc_py.compare.suggest import LEAST_TRIALS, search
from atc_py.compare.targets import check_targets
from atc_py.compare.trials import Compilation, Trial, Trials
from atc_py.diag import Sink
from atc_py.diag.codes import BAD_OPTION
from atc_py.options.choices import (
    CompareChoice,
    ConvertChoice,
    optional_path,
    reject_unknown,
    shapes_and_ranges,
)
from atc_py.options.compile_options import AUTO
from atc_py.options.ranges import refuse_ranges
from atc_py.package.reader import open_model
from atc_py.results.cann_nodes import read_semantics
from atc_py.results.compiled_model import compiled_model
from atc_py.results.picture_inputs import AIPP
from atc_py.running.feeds import odd_feeds, read_feeds
from atc_py.running.model import ports_of
from atc_py.system.memory_limit import require_own_memory
from atc_py.system.temp_folders import work_folder

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Unpack

    from atc_py.compare.own_errors import Suspect
    from atc_py.compare.paired_run import Feeds, Original
    from atc_py.package.reader import OfflineModel
    from atc_py.results.compiled_model import CompiledModel
    from atc_py.results.layer import OwnError
    from atc_py.results.layer_comparison import LayerComparison

    Array = npt.NDArray[np.generic]

__all__ = ["TRIALS", "compare_model"]

_RUNTIME = 1 << 30
"""Bytes of addresses that onnxruntime takes; with less it may end the process."""

_ROUNDS = 3
"""Rounds in which errors of the original's own are searched; one may hide another."""

TRIALS = 60
"""Most compilations of a search for nodes to keep, unless another number is given."""


def compare_model(  # noqa: PLR0913  (the options of a command)
    model: str | os.PathLike[str],
    *,
    inputs: Mapping[str, Array] | Iterable[str] = (),
    samples: int = 1,
    seed: int = 0,
    soc: str = "sim",
    precision_mode: str | None = None,
    input_shape: str | Mapping[str, Sequence[int]] = "",
    op_specs: str | os.PathLike[str] | None = None,
    targets: Mapping[str, float] | None = None,
    suggest: Mapping[str, float] | None = None,
    suggest_trials: int = TRIALS,
    histograms: bool = False,
    device: str = DEVICES[0],
    aipp_settings: str | os.PathLike[str] | None = None,
    reference: str | os.PathLike[str] | None = None,
    compiled: list[CompiledModel] | None = None,
    on_stage: Callable[[str], None] | None = None,
    **precision: Unpack[CompareChoice],
) -> LayerComparison:
    """Compile an ONNX model and compare every layer with the original, run as its file says.

    Args:
        model: path of the .onnx file.
        inputs: arrays by name, or `name=file` texts, of pictures for AIPP; others get random data.
        samples: how often both are run, each time on other random data.
        seed: seed of the first sample's random data; the next ones count on from it.
        soc: as in `convert`, and so are the next three.
        precision_mode: any of ATC's modes.
        input_shape: dims of inputs.
        op_specs: folder of specifications.
        targets: least `cosine` and `snr` of every output; the result says whether they are met.
        suggest: least figures for which to search nodes to keep in float32; empty: no output may fail.
        suggest_trials: most compilations of the search.
        histograms: also sample every layer's values, for histograms of the worst ones.
        device: what runs the compiled model: `sim`, or `ort`, which is faster.
        aipp_settings: file with the settings of dynamic AIPP; random pictures are taken whole without.
        reference: ONNX file, such as the float model of one on int8, that runs in its place.
        compiled: takes the compiled model.
        on_stage: called with the name of each stage as it begins.
        **precision: ATC's finer controls, and rules that fix the model; see `CompareChoice`.

    Raises:
        AtcError: from `convert`, for data that do not fit, REFERENCE_FAILED, DEVICE_FAILED.
    """
    chosen, other = _choice(precision_mode, precision, input_shape), optional_path(reference)
    compilation = Compilation(Path(model), soc, input_shape, op_specs, chosen, other)
    data, shown = (inputs, optional_path(aipp_settings)), (histograms, device, targets, compiled)
    return _compared(compilation, data, (samples, seed), shown, (suggest, suggest_trials), on_stage)


def _compared(
    compilation: Compilation,
    data: tuple[Mapping[str, Array] | Iterable[str], Path | None],
    draws: tuple[int, int],
    shown: tuple[bool, str, Mapping[str, float] | None, list[CompiledModel] | None],
    search: tuple[Mapping[str, float] | None, int],
    on_stage: Callable[[str], None] | None,
) -> LayerComparison:
    """Compile and compare; the arguments are those of a session, what it shows, and a search.

    Returns every layer, up to the kernel that invalid data stopped, and what has no counterpart.
    """
    _check_search(draws[0], *search)
    with work_folder() as folder, _compiled_model(compilation, folder, on_stage) as package:
        session = _Session(compilation, package, folder, data, draws)
        session.histograms, session.device, targets, kept = shown
        session.targets = targets or {}
        session.on_stage = on_stage
        if kept is not None:
            kept.append(compiled_model(package))
        return session.suggested(*search, on_stage)


def _choice(
    mode: str | None, precision: Mapping[str, object], shapes: str | Mapping[str, Sequence[int]]
) -> ConvertChoice:
    """Return the mode and the finer controls; reject unknown keywords, and ranges of dims."""
    refuse_ranges(shapes_and_ranges(shapes)[1], "a comparison runs one shape")
    reject_unknown("compare_model", precision, CompareChoice)
    return cast("ConvertChoice", {"precision_mode": mode, **precision})


def _check_search(samples: int, targets: Mapping[str, float] | None, trials: int) -> None:
    """Reject counts and targets that are out of range."""
    if samples < 1:
        raise BAD_OPTION.error(f"samples must be 1 or more, found {samples}")
    if targets is not None and trials < LEAST_TRIALS:
        raise BAD_OPTION.error(f"a search needs {LEAST_TRIALS} trials, found {trials}")
    check_targets(targets or {})


def _compiled_model(
    compilation: Compilation, folder: Path, on_stage: Callable[[str], None] | None
) -> OfflineModel:
    """Return the compiled model, in `folder`, open; the stage after it is `compare`."""
    require_own_memory(_RUNTIME)
    om = folder / "model.om"
    compilation.write(om, on_stage=on_stage)
    if on_stage is not None:
        on_stage("compare")
    return open_model(om)


class _Session:
    """A compiled model, its original, and what both are fed.

    Attributes:
        histograms: True if samples of all layers' values are taken.
        device: name of the device that runs the compiled model.
        warnings: what is odd about data from files.
        targets: least values by figure.
        on_stage: called with the number of layers compared.
    """

    on_stage: Callable[[str], None] | None = None
    histograms = False
    device = DEVICES[0]
    targets: Mapping[str, float] = {}

    def __init__(
        self,
        compilation: Compilation,
        package: OfflineModel,
        folder: Path,
        data: tuple[Mapping[str, Array] | Iterable[str], Path | None],
        draws: tuple[int, int],
    ) -> None:
        """Prepare a comparison.

        Args:
            compilation: how the model is compiled.
            package: the compiled model.
            folder: where files go.
            data: what the user feeds, and a file with settings of dynamic AIPP.
            draws: the number of samples and the seed of random data.
        """
        (inputs, settings), (samples, seed) = data, draws
        self._compilation = compilation
        self._package = package
        self._folder = folder
        self._reference = open_original(
            compilation.model,
            folder,
            compilation.precision.get("quant_bias", AUTO),
            compilation.reference,
        )
        self._reference.bound = (compilation.precision.get("fix") or {}).get("bind", {})
        self._ports = ports_of(package.description, package.description.inputs)
        self._pictures = None
        if any(node.op == AIPP for node in package.description.nodes):
            from atc_py.compare.pictures import ComparedPictures

            layout = compilation.precision.get("input_format", "NCHW")
            self._pictures = ComparedPictures(package.description, layout)
        sink = Sink()
        if isinstance(inputs, Mapping):
            given = dict(inputs)
        else:
            given = self._read(tuple(inputs), settings, sink)
            sink.extend(odd_feeds(given))
        self.warnings = tuple(sink.diagnostics)
        if samples > 1 and len(given) == len(self._ports):
            raise BAD_OPTION.error(
                f"{samples} samples of data that are all given would be the same",
                help="leave --samples out, or leave an input to random data",
            )
        self._drawn = given, samples, seed
        self._recorded: list[tuple[Feeds, Original]] | None = None

    def suggested(
        self,
        targets: Mapping[str, float] | None,
        limit: int,
        on_stage: Callable[[str], None] | None,
    ) -> LayerComparison:
        """Compare, and search for nodes to keep in float32 unless `targets` is None."""
        if targets is None:
            return self._without_own_errors()
        self._record()
        done = self._without_own_errors()
        first = Trial(frozenset(), self._package.description, done)
        recorded = [*self._runs()]
        trials = Trials(self._compilation, self._reference, recorded, self._folder, self.device)
        return replace(done, suggestion=search(trials, first, targets, limit, on_stage))

    def _without_own_errors(self) -> LayerComparison:
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
            looked_at |= {suspect.nodes.value for suspect in suspects}
            found = own_errors_of(suspects, (run for _, run in self._runs())) if suspects else []
            if not found:
                break
            taken_out |= {suspect.nodes.value: (suspect, error) for suspect, error in found}
            exact = ExactValues(suspect.nodes for suspect, _ in taken_out.values())
            self._reference = plain.with_amendment(exact)
            if self._recorded is not None:
                self._record()
            done = self._paired_run()
        return with_own_errors(done, [error for _, error in taken_out.values()])

    def _paired_run(self) -> LayerComparison:
        """Run the model beside its original, in step unless that was recorded."""
        semantics = read_semantics(self._package.report, str(self._package.path))
        pair = Pair(
            self._reference,
            self._package,
            self.targets,
            device=self.device,
            histograms=self.histograms,
            semantics=semantics,
        )
        pair.on_layer = self._counted_layers()
        return replace(pair.compared(self._runs()), warnings=self.warnings)

    def _counted_layers(self) -> Callable[[int], None] | None:
        """Return what announces each layer of all samples as it is done; None for nobody."""
        on_stage, count, samples = self.on_stage, itertools.count(1), self._drawn[1]
        if on_stage is None:
            return None
        return lambda layers: on_stage(f"compare: {next(count)} of {layers * samples} layers")

    def _runs(self) -> Iterable[tuple[Feeds, Original]]:
        """Pair the data of each sample with a run of the original on them."""
        if self._recorded is not None:
            return self._recorded
        reference = self._reference
        return ((feeds, ReferenceRun(reference, self._originals(feeds))) for feeds in self._feeds())

    def _feeds(self) -> Iterator[Feeds]:
        """Make the data of each sample, the same each time."""
        given, samples, seed = self._drawn
        found = sample_feeds(self._reference, self._ports, given, samples, seed)
        pictures = self._pictures
        if pictures is None:
            return found
        return (pictures.drawn(each, given, seed + at) for at, each in enumerate(found))

    def _read(self, texts: Sequence[str], settings: Path | None, sink: Sink) -> dict[str, Array]:
        """Return the data of files; pictures and settings of AIPP as their inputs take them."""
        if self._pictures is None and settings is None:
            return read_feeds(texts, self._ports, sink)
        from atc_py.running.picture_files import picture_feeds

        return picture_feeds(self._package.description, texts, self._ports, settings, sink)

    def _originals(self, feeds: Feeds) -> Feeds:
        """Return what the original is fed for the feeds of the compiled model."""
        return feeds if self._pictures is None else self._pictures.original(feeds)

    def _record(self) -> None:
        """Run the original on every sample and keep its values."""
        self._recorded = None
        folder = Path(mkdtemp(dir=self._folder))
        self._recorded = [
            (feeds, Recording(self._reference, self._originals(feeds), folder / f"sample{count}"))
            for count, feeds in enumerate(self._feeds())
        ]

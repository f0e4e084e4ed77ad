"""Calibration: a float model is run over samples, and its layers get the numbers of int8."""

import time
from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path

from atc_py.calibration.ranges import CALIBRATORS
from atc_py.diag.codes import BAD_OPTION
from atc_py.frontend.quantizing.float_model import FloatModel
from atc_py.quantizing.auto import AUTO, AUTO_SAMPLES, with_best_ranges
from atc_py.quantizing.bias_correction import with_corrected_biases
from atc_py.quantizing.calibrated import Calibrated
from atc_py.quantizing.checkpoint import Checkpoint, digest_of
from atc_py.quantizing.numbers import LayerNumbers
from atc_py.quantizing.observe import Observed, observe
from atc_py.quantizing.original_places import in_original, original_places
from atc_py.quantizing.prepare import prepare
from atc_py.quantizing.sample_choice import ChosenSamples
from atc_py.quantizing.selection import skipped_layers
from atc_py.quantizing.settings import QuantizeSettings
from atc_py.running.samples import Samples
from atc_py.system.temp_folders import work_folder
from atc_py.text import Text


def calibrate(
    model: Path,
    samples: Samples,
    settings: QuantizeSettings,
    on_stage: Callable[[str], None] | None = None,
) -> Calibrated:
    """Return the model with the numbers of its layers' int8 forms.

    Args:
        model: the file of the float model.
        samples: what it is fed.
        settings: choices.
        on_stage: called with the progress.

    Raises:
        AtcError: ALREADY_QUANTIZED, NO_FLOAT_LAYERS, CONSTANT_TENSOR, NO_VALUES; what samples and
            the executor raise.
    """
    _refuse_calibrator(settings)
    began = time.monotonic()
    with ExitStack() as stack:
        folder = stack.enter_context(work_folder())
        original = FloatModel(model)
        stack.enter_context(original_places(original, folder))
        skipped = skipped_layers(original, settings)
        prepared = prepare(original, folder, samples, settings, skipped, on_stage)
        seen = _observed(prepared.model, skipped, samples, settings, on_stage)
        numbers = LayerNumbers(prepared.model, settings, seen.histograms)
        layers = [each for each in prepared.model.found.layers if each.name not in skipped]
        found = tuple(filter(None, map(numbers.of_layer, layers)))
        made = Calibrated(
            original=original,
            prepared=prepared,
            layers=found,
            left={**skipped, **numbers.left},
            warnings=tuple(in_original(each, original, folder) for each in numbers.warnings),
            observed=seen,
            settings=settings,
            seconds=0.0,
            folder=folder,
            resources=ExitStack(),
        )
        if settings.calibrator == AUTO and settings.config is None:
            feeds = [*ChosenSamples(prepared.model, samples, AUTO_SAMPLES)]
            made = with_best_ranges(made, numbers, feeds, on_stage or _no_progress)
        if settings.correct_bias:
            made = with_corrected_biases(made, samples, on_stage)
        return made.owning(stack.pop_all(), time.monotonic() - began)


def _refuse_calibrator(settings: QuantizeSettings) -> None:
    """Refuse a calibrator that is none.

    Raises:
        AtcError: BAD_OPTION.
    """
    if settings.calibrator not in {*CALIBRATORS, AUTO}:
        raise BAD_OPTION.error(
            Text("no calibrator is called {calibrator}", calibrator=repr(settings.calibrator)),
            help=Text("calibrators are {value}", value=", ".join((AUTO, *CALIBRATORS))),
        )


def _observed(
    model: FloatModel,
    skipped: Collection[str],
    samples: Samples,
    settings: QuantizeSettings,
    on_stage: Callable[[str], None] | None,
) -> Observed:
    """Return the values of the layers' data in all samples.

    Raises:
        AtcError: what `observe` raises; BAD_HISTOGRAM for a file to resume that does not fit.
    """
    names = [*dict.fromkeys(each.data for each in model.found.layers if each.name not in skipped)]
    checkpoint = None
    if settings.resume is not None:
        checkpoint = Checkpoint(settings.resume, digest_of(model.file.path, names))
    executor = settings.executor
    return observe(model, names, samples, executor, checkpoint=checkpoint, on_stage=on_stage)


def _no_progress(_stage: str) -> None:
    """Ignore all progress."""

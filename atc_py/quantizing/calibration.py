"""Calibration: a float model is run over samples, and its layers get the numbers of int8."""

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from atc_py.diag import BAD_OPTION
from atc_py.pipeline.running.samples import Samples
from atc_py.quantizing.calibrate.calibrators import CALIBRATORS
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrated import Calibrated
from atc_py.quantizing.checkpoint import Checkpoint, digest_of
from atc_py.quantizing.judging import (
    JUDGED,
    StepJudge,
    StepSamples,
    channel_errors,
    corrected_bias,
    judged_outputs,
)
from atc_py.quantizing.layers.float_model import FloatModel, in_original, original_places
from atc_py.quantizing.layers.measured import SwitchedForm
from atc_py.quantizing.layers.qdq_nodes import Int8Layer, takes_bias
from atc_py.quantizing.numbers import AUTO, AUTO_SAMPLES, LayerNumbers, with_best_ranges
from atc_py.quantizing.observe import ChosenSamples, first_feeds, no_progress, observe
from atc_py.quantizing.options import CalibrationOptions
from atc_py.quantizing.prepare import FirstSamples, prepare
from atc_py.quantizing.selection import skipped_layers
from atc_py.system.structs import replace
from atc_py.system.temp_folders import work_folder
from atc_py.text import Text

CORRECT_BIAS = "correct_bias"
"""Name of the step."""


def with_corrected_biases(
    calibrated: Calibrated, samples: Samples, tell: Callable[[str], None]
) -> Calibrated:
    """A calibrated model whose layers make no error in the mean of the first samples.

    Biases are kept where the outputs err less with them.
    """
    model = calibrated.qdq_model
    own = calibrated.forms()
    forms = {name: form for name, form in own.items() if takes_bias(model.graph, form.layer)}
    if not forms:
        return calibrated
    seen = StepSamples(judged_outputs(model))
    errors = channel_errors(
        model,
        calibrated.folder / "mean_errors.onnx",
        forms,
        FirstSamples(samples),
        calibrated.settings.executor,
        seen=seen,
        tell=tell,
    )
    tell("judge biases")
    seen.feeds = first_feeds(model, samples, JUDGED)
    order = sorted(errors, key=lambda name: -errors[name].gain())
    switched = [SwitchedForm(0, off=form) for name, form in own.items() if name not in errors]
    for at, name in enumerate(order):
        addend = _along_channels(own[name], errors[name].correction())
        switched.append(SwitchedForm(at, off=own[name], addend=addend))
    path = model.file.path.with_name("judged_biases.onnx")
    executor = calibrated.settings.executor
    with closing(StepJudge(model, path, switched, len(order), seen, executor)) as judge:
        verdict = judge.verdict(range(len(order)))
    kept = {order[at] for at in verdict.kept}
    graph, layers = calibrated.model.graph, list(calibrated.layers)
    for at, layer in enumerate(layers):
        if layer.name in kept:
            error = errors[layer.name]
            bias = corrected_bias(graph, layer.layer, error)
            layers[at] = replace(layer, bias=bias, bias_gain=error.gain())
    step = verdict.step(CORRECT_BIAS, order, kept)
    return calibrated.with_layers(layers).having(step)


def _along_channels(form: Int8Layer, addend: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers of a layer's channels in a shape that broadcasts over its result."""
    trailing = len(form.layer.shape) - 2 if form.layer.kind in {"Conv", "ConvTranspose"} else 0
    return addend.reshape(-1, *[1] * trailing)


def calibrate(
    model: Path | FloatModel,
    samples: Samples,
    settings: CalibrationOptions,
    tell: Callable[[str], None] = no_progress,
) -> Calibrated:
    """The model with the numbers of its layers' int8 forms.

    ALREADY_QUANTIZED, NO_FLOAT_LAYERS, CONSTANT_TENSOR and NO_VALUES are raised for models and
    samples without such numbers.
    """
    if settings.calibrator not in {*CALIBRATORS, AUTO}:
        raise BAD_OPTION.error(
            Text("no calibrator is called {calibrator}", calibrator=repr(settings.calibrator)),
            help=Text("calibrators are {value}", value=", ".join((AUTO, *CALIBRATORS))),
        )
    began = time.monotonic()
    with ExitStack() as stack:
        folder = stack.enter_context(work_folder())
        original = model if isinstance(model, FloatModel) else FloatModel(model)
        stack.enter_context(original_places(original, folder))
        skipped = skipped_layers(original, settings)
        prepared = prepare(original, folder, samples, settings, skipped, tell)
        histograms, executor = _observe_data(prepared.model, skipped, samples, settings, tell)
        numbers = LayerNumbers(prepared.model, settings, histograms)
        layers = [layer for layer in prepared.model.found.layers if layer.name not in skipped]
        found = tuple(filter(None, map(numbers.of_layer, layers)))
        made = Calibrated(
            original=original,
            prepared=prepared,
            layers=found,
            left={**skipped, **numbers.left},
            warnings=tuple(in_original(warning, original, folder) for warning in numbers.warnings),
            executor=executor,
            steps=prepared.steps,
            settings=settings,
            folder=folder,
            resources=ExitStack(),
        )
        if settings.calibrator == AUTO and settings.config is None:
            feeds = [*ChosenSamples(prepared.model, samples, AUTO_SAMPLES)]
            made = with_best_ranges(made, numbers, feeds, tell)
        if settings.correct_bias:
            made = with_corrected_biases(made, samples, tell)
        return made.owning(stack.pop_all(), time.monotonic() - began)


def _observe_data(
    model: FloatModel,
    skipped: Collection[str],
    samples: Samples,
    settings: CalibrationOptions,
    tell: Callable[[str], None],
) -> tuple[Mapping[str, Histogram], str]:
    """The values of the layers' data in all samples, and the engine that ran them."""
    names = [
        *dict.fromkeys(layer.data for layer in model.found.layers if layer.name not in skipped)
    ]
    checkpoint = None
    if settings.resume is not None:
        checkpoint = Checkpoint(settings.resume, digest_of(model.file.path, names))
    executor = settings.executor
    return observe(model, names, samples, executor, checkpoint=checkpoint, tell=tell)

"""The proof of a calibration: errors by layer and at the outputs, the way to a target, times."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from atc_py.cost.network import network_time
from atc_py.options.compile_options import CompileOptions
from atc_py.package.reader import open_model
from atc_py.pipeline.compile import compile_model
from atc_py.pipeline.running.samples import Samples
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.pieces import pieces_of
from atc_py.quantizing.calibrate.value_range import (
    ActivationScale,
    ValueRange,
    activation_scale,
    decibels,
)
from atc_py.quantizing.calibrated import Calibrated
from atc_py.quantizing.fall_back import RANKING_SAMPLES, cost_order, fall_back
from atc_py.quantizing.layers.qdq_nodes import Int8Layer
from atc_py.quantizing.observe import ChosenSamples
from atc_py.quantizing.options import ProofOptions
from atc_py.quantizing.trial_model import TrialModel, form_errors
from atc_py.results.output_error import ErrorFigures, ErrorSums
from atc_py.results.quantization import (
    FallBack,
    LayerCost,
    QuantizationProof,
    Speed,
    ValueShares,
)
from atc_py.system.structs import replace
from atc_py.system.temp_folders import work_folder
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.system.jobs.task_executor import TaskExecutor


Shapes = Mapping[str, tuple[int, ...]]


_MICRO = 1e6
_MOST = 8
"""Points of a curve whose times are estimated; each is compiled."""


def estimated_speed(calibrated: Calibrated, shapes: Shapes, soc: str) -> Speed:
    """The times of the float model and of the model with all of its layers on int8."""
    float16 = _microseconds(calibrated.original.file.path, shapes, soc)
    return Speed(soc, float16, _time_of_layers(calibrated, None, shapes, soc))


def with_times(calibrated: Calibrated, searched: FallBack, shapes: Shapes, soc: str) -> FallBack:
    """A search whose curve has times, at its ends, at its result and at points between."""
    points = searched.points
    step = max(len(points) // _MOST, 1)
    names = [layer.name for layer in calibrated.layers]
    timed = []
    for at, point in enumerate(points):
        if at % step and point.floats != searched.floats and at != len(points) - 1:
            timed.append(point)
            continue
        layers = [name for name in names if name not in point.floats]
        timed.append(replace(point, microseconds=_time_of_layers(calibrated, layers, shapes, soc)))
    return replace(searched, points=tuple(timed))


def _time_of_layers(
    calibrated: Calibrated, layers: Collection[str] | None, shapes: Shapes, soc: str
) -> float:
    path = calibrated.folder / "timed.onnx"
    calibrated.written(path, layers)
    return _microseconds(path, shapes, soc)


def _microseconds(model: Path, shapes: Shapes, soc: str) -> float:
    """The expected time of a model, compiled in float16."""
    with work_folder() as folder:
        om = folder / "timed.om"
        compile_model(model, om, CompileOptions(soc=soc, input_shapes=shapes), to_run=True)
        with open_model(om) as package:
            return network_time(package.description).expected * _MICRO


FALLEN_BACK = Text("it stays in floats so that the outputs reach the target")
"""Why a layer stays in floats after a search."""

_SETS = 12
"""Sets of layers that a search tries on all samples, about."""

_WORTHWHILE = 4.0
"""Seconds of trials from which on processes are started for them; each takes about one to start."""

_BINS = 96
"""Bins of a histogram in a report."""


def proved(
    calibrated: Calibrated,
    samples: Samples,
    settings: ProofOptions,
    tell: Callable[[str], None],
) -> tuple[Calibrated, QuantizationProof]:
    """The calibration with the layers that stay on int8, and what was measured."""
    feeds = ChosenSamples(calibrated.model, samples, settings.samples)
    executor = calibrated.settings.executor
    tell("measure layers")
    own = form_errors(
        calibrated, {name: (form,) for name, form in calibrated.forms().items()}, feeds, executor
    )
    trials = TrialModel(calibrated, feeds, executor)
    try:
        searched, ratios = None, dict[str, float]()
        if settings.target:
            runs = RANKING_SAMPLES * len(trials.layers) + _SETS * feeds.count
            trials.expect(runs)
            with _processes(runs * trials.seconds, settings.jobs) as tasks:
                order, ratios = cost_order(trials, tell, tasks)
                searched = fall_back(trials, settings.target, order, tell, tasks)
        floats = () if searched is None else searched.floats
        kept = [layer for layer in calibrated.layers if layer.name not in floats]
        outputs = trials.figures([layer.name for layer in kept])
    finally:
        trials.close()
    chosen = calibrated.with_layers(kept).leaving(dict.fromkeys(floats, FALLEN_BACK))
    speed = None
    if settings.soc:
        tell("estimate times")
        shapes = {name: array.shape for name, array in feeds.first().items()}
        speed = estimated_speed(chosen, shapes, settings.soc)
        if searched is not None:
            searched = with_times(calibrated, searched, shapes, settings.soc)
    costs = tuple(_layer_cost(layer, own[layer.name][0], ratios) for layer in calibrated.layers)
    return chosen, QuantizationProof(feeds.count, outputs, costs, searched, speed=speed)


@contextmanager
def _processes(seconds: float, jobs: int | None) -> Iterator[TaskExecutor | None]:
    """Give what tries layers in several processes; None where that is not to be, or gains nothing."""
    if jobs == 1 or (jobs is None and seconds < _WORTHWHILE):
        yield None
        return
    from atc_py.system.jobs.executor import open_executor

    with open_executor(jobs) as executor:
        yield executor if executor.jobs > 1 else None


def _layer_cost(layer: Int8Layer, error: ErrorSums, ratios: Mapping[str, float]) -> LayerCost:
    histogram = layer.histogram
    figures = error.figures()
    snr = None if histogram is None else _data_snr(histogram, layer.data)
    return LayerCost(
        name=layer.name,
        data_snr=snr,
        clipped=None if histogram is None else _clipped(histogram, layer.data),
        result=ErrorFigures(figures.cosine, figures.snr),
        outputs_snr=ratios.get(layer.name),
        range_gain=None if histogram is None or snr is None else _range_gain(layer, histogram, snr),
        values=None if histogram is None else _shares(histogram),
    )


def _data_snr(histogram: Histogram, scale: ActivationScale) -> float:
    """The signal to noise of values as codes, in dB; values are even within a bin."""
    pieces = pieces_of(histogram)
    noise = pieces.error(scale.scale, -128 - scale.offset, 127 - scale.offset)
    cubes = pieces.ends**3 - pieces.starts**3
    signal = float(pieces.counts / (pieces.ends - pieces.starts) @ cubes) / 3
    return decibels(signal, noise)


def _range_gain(layer: Int8Layer, histogram: Histogram, snr: float) -> float | None:
    """The gain over the range from the lowest to the highest value; None for no number."""
    widest = ValueRange(histogram.low, histogram.high)
    symmetric = layer.data.offset == 0 and histogram.low < 0
    plain = activation_scale(widest, symmetric=symmetric)
    gain = 0.0 if plain == layer.data else snr - _data_snr(histogram, plain)
    return gain if math.isfinite(gain) else None


def _clipped(histogram: Histogram, scale: ActivationScale) -> float:
    """The share of the values beyond the lowest and highest code, by half a step or more."""
    pieces = pieces_of(histogram)
    slack = scale.scale / 2 + histogram.width  # what is at the border of a bin may be in either
    low, high = scale.low - slack, scale.high + slack
    width = pieces.ends - pieces.starts
    inside = np.minimum(pieces.ends, high) - np.maximum(pieces.starts, low)
    outside = pieces.counts * (1 - np.clip(inside / width, 0, 1))
    return float(outside.sum()) / max(histogram.count, 1)


def _shares(histogram: Histogram) -> ValueShares:
    first, counts = histogram.counts()
    centers = (first + np.arange(counts.size)) * histogram.width
    low, high = histogram.low, histogram.high
    if high <= low:
        high = low + 1.0
    sums, _ = np.histogram(centers.clip(low, high), _BINS, (low, high), weights=counts)
    total = max(int(counts.sum()), 1)
    return ValueShares(low, high, tuple(float(count) / total for count in sums))

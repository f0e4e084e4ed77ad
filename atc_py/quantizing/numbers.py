"""The numbers of layers' int8 forms, from the histograms of their data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from atc_py.diag import CONSTANT_TENSOR, LAYER_LEFT_FLOAT, NO_VALUES, ZERO_CHANNEL, Diagnostic
from atc_py.pipeline.running.samples import Feeds
from atc_py.quantizing.calibrate.amct_choices import AmctConfig, LayerChoice
from atc_py.quantizing.calibrate.calibrators import CALIBRATORS
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.value_range import (
    EPSILON,
    RangeOptions,
    ValueRange,
    activation_scale,
)
from atc_py.quantizing.calibrated import Calibrated
from atc_py.quantizing.layers.float_model import FloatModel
from atc_py.quantizing.layers.layers import FloatLayer
from atc_py.quantizing.layers.qdq_nodes import Int8Layer
from atc_py.quantizing.options import CalibrationOptions
from atc_py.quantizing.trial_model import form_errors
from atc_py.quantizing.weights import layer_weights, weight_numbers
from atc_py.results.output_error import ErrorSums
from atc_py.results.quantization import RangeTrial
from atc_py.system.structs import replace
from atc_py.text import Text

# Every calibrator proposes a range. The layers that read the tensor are computed with each of them,
# their weights quantized, beside the result in floats, in one run over a few samples; the range with
# the least sum of relative errors of their results is taken.

AUTO = "auto"
"""Its name among the calibrators."""

AUTO_SAMPLES = 4
"""Samples on which layers are computed with every range."""

_AMONG = ("min-max", "mse", "percentile", "ifmr")
"""The calibrators that propose ranges; the first is taken where several err alike."""


def with_best_ranges(
    calibrated: Calibrated,
    numbers: LayerNumbers,
    feeds: Sequence[Feeds],
    tell: Callable[[str], None],
) -> Calibrated:
    """The calibration with the best range of each tensor for the samples `feeds`."""
    tell("choose ranges")
    settings = calibrated.settings.ranges
    histograms = {layer.tensor: layer.histogram for layer in calibrated.layers}
    proposed = {
        tensor: _propose_ranges(histogram, settings)
        for tensor, histogram in histograms.items()
        if histogram is not None
    }
    tried = {
        layer.name: [numbers.with_range(layer.layer, one) for one in proposed[layer.tensor].ranges]
        for layer in calibrated.layers
        if layer.tensor in proposed and len(proposed[layer.tensor].ranges) > 1
    }
    if not tried:
        return calibrated
    own = calibrated.forms()
    forms = {
        name: [replace(form, layer=own[name].layer) for form in trial]
        for name, trial in tried.items()
    }
    errors = form_errors(calibrated, forms, feeds, calibrated.settings.executor)
    trials = _trials(
        [layer for layer in calibrated.layers if layer.name in tried], proposed, errors
    )
    best = {trial.tensor: proposed[trial.tensor].places[trial.chosen] for trial in trials}
    layers = [
        tried[layer.name][best[layer.tensor]] if layer.name in tried else layer
        for layer in calibrated.layers
    ]
    return calibrated.with_layers(layers).having(trials=trials)


def _trials(
    layers: Sequence[Int8Layer],
    proposed: Mapping[str, _Proposed],
    errors: Mapping[str, Sequence[ErrorSums]],
) -> list[RangeTrial]:
    sums: dict[str, list[float]] = {}
    for layer in layers:
        own = [error.noise for error in errors[layer.name]]
        known = sums.setdefault(layer.tensor, [0.0] * len(own))
        sums[layer.tensor] = [a + b for a, b in zip(known, own, strict=True)]
    results = []
    for tensor, each_sum in sums.items():
        by_name = {name: each_sum[at] for name, at in proposed[tensor].places.items()}
        best = min(by_name, key=by_name.__getitem__)
        results.append(RangeTrial(tensor, best, by_name))
    return results


class _Proposed(NamedTuple):
    """The ranges that calibrators choose for a tensor."""

    ranges: list[ValueRange]  # those of equal scales once
    places: dict[str, int]  # where the range of each calibrator is among them


def _propose_ranges(histogram: Histogram, settings: RangeOptions) -> _Proposed:
    results: dict[tuple[float, int], ValueRange] = {}
    places: dict[str, int] = {}
    for name in _AMONG:
        chosen = CALIBRATORS[name](histogram, settings)
        if not math.isfinite(chosen.high - chosen.low):
            continue
        scale = activation_scale(chosen, symmetric=settings.symmetric)
        key = (scale.scale, scale.offset)
        results.setdefault(key, chosen)
        places[name] = list(results).index(key)
    return _Proposed(list(results.values()), places)


class LayerNumbers:
    """The choice of numbers, layer by layer."""

    def __init__(
        self, model: FloatModel, settings: CalibrationOptions, histograms: Mapping[str, Histogram]
    ) -> None:
        # layers that stay in floats because their numbers have no int8 form, with the reason
        self.left: dict[str, Text] = {}
        self.warnings: list[Diagnostic] = []  # what is odd about layers
        self._model, self._settings, self._histograms = model, settings, histograms
        plain = LayerChoice(calibrator=settings.calibrator, settings=settings.ranges)
        self._choices = settings.config or AmctConfig(common=plain)
        self._ranges: dict[tuple[object, ...], ValueRange] = {}

    def of_layer(self, layer: FloatLayer) -> Int8Layer | None:
        """A layer with its numbers; None where it has none and stays in floats."""
        histogram = self._histograms[layer.data]
        _refuse_odd(layer, histogram)
        chosen = self._range(layer, histogram)
        steps = (max(chosen.high, 0.0) - min(chosen.low, 0.0)) / 255
        if steps < EPSILON:
            self._leave(layer, "data", steps)
            return None
        result = self.with_range(layer, chosen)
        largest = float(np.abs(layer_weights(self._model.graph, layer)).max(initial=0))
        if 0 < largest / 127 < EPSILON:
            self._leave(layer, "weights", largest / 127)
            return None
        self._note_zero_channels(layer)
        return result

    def with_range(self, layer: FloatLayer, chosen: ValueRange) -> Int8Layer:
        choice = self._choice(layer)
        place = layer.node.place.with_field(f"data {layer.data}")
        activation = activation_scale(chosen, symmetric=choice.settings.symmetric, place=place)
        scale, codes = weight_numbers(
            self._model.graph,
            layer,
            activation.scale,
            self._settings.weights,
            per_channel=choice.channel_wise is not False,
        )
        return Int8Layer(
            layer,
            activation,
            codes,
            scale,
            histogram=self._histograms.get(layer.data),
        )

    def _choice(self, layer: FloatLayer) -> LayerChoice:
        choice = self._choices.choice_for(layer.name, layer.kind) or LayerChoice()
        if not layer.is_deep:
            return choice
        return replace(choice, settings=replace(choice.settings, symmetric=True))

    def _range(self, layer: FloatLayer, histogram: Histogram) -> ValueRange:
        """The range of a layer's data, chosen once for all layers that choose alike."""
        choice = self._choice(layer)
        key = (layer.data, choice.calibrator, choice.settings)
        if key not in self._ranges:
            # `auto` begins with the widest range, and tries the others afterwards.
            chooser = CALIBRATORS.get(choice.calibrator, CALIBRATORS["min-max"])
            self._ranges[key] = chooser(histogram, choice.settings)
        return self._ranges[key]

    def _leave(self, layer: FloatLayer, part: str, step: float) -> None:
        """Leave a layer in floats whose data or weights are too small for a scale."""
        self.left[layer.name] = Text(
            "a step of its {part} would be {step}, less than 2^-23",
            part=Text(part),
            step=f"{step:.3g}",
        )
        self.warnings.append(
            LAYER_LEFT_FLOAT.diagnostic(
                Text(
                    "layer {layer} stays in floats: a step of its {part} would be {step}; the "
                    "smallest scale is {epsilon}",
                    layer=repr(layer.name),
                    part=Text(part),
                    step=f"{step:.3g}",
                    epsilon=f"{EPSILON:.3g}",
                ),
                place=layer.node.place,
            )
        )

    def _note_zero_channels(self, layer: FloatLayer) -> None:
        weights = layer_weights(self._model.graph, layer)
        others = tuple(at for at in range(weights.ndim) if at != layer.axis)
        count = int((~weights.any(axis=others)).sum())
        if count:
            self.warnings.append(
                ZERO_CHANNEL.diagnostic(
                    Text(
                        "layer {layer} has {count} of {shape} output channels whose weights "
                        "are all 0",
                        layer=repr(layer.name),
                        count=count,
                        shape=weights.shape[layer.axis],
                    ),
                    place=layer.node.place.with_field(f"weights {layer.weight}"),
                )
            )


def _refuse_odd(layer: FloatLayer, histogram: Histogram) -> None:
    if not histogram.count:
        raise NO_VALUES.error(
            Text(
                "layer {layer} never gets data: {data} has no elements in any sample",
                layer=repr(layer.name),
                data=repr(layer.data),
            ),
            place=layer.node.place,
            help=Text(
                "give samples that reach the layer, or leave it in floats with --skip {layer}",
                layer=layer.name,
            ),
        )
    if histogram.low == histogram.high and histogram.count > 1:
        raise CONSTANT_TENSOR.error(
            Text(
                "{data}, which layer {layer} reads, is {low} in all samples",
                data=repr(layer.data),
                layer=repr(layer.name),
                low=f"{histogram.low:g}",
            ),
            place=layer.node.place,
            help=Text(
                "give samples that differ, or leave it in floats with --skip {layer}",
                layer=layer.name,
            ),
        )

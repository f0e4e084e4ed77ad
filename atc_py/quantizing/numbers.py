"""The numbers of layers' int8 forms, from the histograms of their data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.calibration.amct_choices import LayerChoice
from atc_py.calibration.ranges import CALIBRATORS
from atc_py.calibration.scales import EPSILON, activation_scale
from atc_py.diag import Words
from atc_py.diag.codes import CONSTANT_TENSOR, LAYER_LEFT_FLOAT, NO_VALUES, ZERO_CHANNEL
from atc_py.quantizing.calibrated import CalibratedLayer
from atc_py.quantizing.weights import layer_weights, weight_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from atc_py.calibration.histogram import Histogram
    from atc_py.calibration.ranges import Range
    from atc_py.diag import Diagnostic
    from atc_py.frontend.quantizing.float_model import FloatModel
    from atc_py.frontend.quantizing.layers import FloatLayer
    from atc_py.quantizing.settings import QuantizeSettings

__all__ = ["LayerNumbers"]


class LayerNumbers:
    """The choice of numbers, layer by layer.

    Attributes:
        left: layers that stay in floats because their numbers have no int8 form, with the reason.
        warnings: what is odd about layers.
    """

    def __init__(
        self, model: FloatModel, settings: QuantizeSettings, histograms: Mapping[str, Histogram]
    ) -> None:
        self.left: dict[str, Words] = {}
        self.warnings: list[Diagnostic] = []
        self._model, self._settings, self._histograms = model, settings, histograms
        self._ranges: dict[tuple[object, ...], Range] = {}

    def of_layer(self, layer: FloatLayer) -> CalibratedLayer | None:
        """Return a layer with its numbers; None where it has none and stays in floats.

        Raises:
            AtcError: NO_VALUES, CONSTANT_TENSOR; what scales raise.
        """
        histogram = self._histograms[layer.data]
        _refuse_odd(layer, histogram)
        chosen = self._range(layer, histogram)
        steps = (max(chosen.high, 0.0) - min(chosen.low, 0.0)) / 255
        if steps < EPSILON:
            self._leave(layer, "data", steps)
            return None
        found = self.with_range(layer, chosen)
        largest = float(np.abs(layer_weights(self._model.graph, layer)).max(initial=0))
        if 0 < largest / 127 < EPSILON:
            self._leave(layer, "weights", largest / 127)
            return None
        self._note_zero_channels(layer)
        return found

    def with_range(self, layer: FloatLayer, chosen: Range) -> CalibratedLayer:
        """Return a layer whose data has that range.

        Raises:
            AtcError: what scales raise.
        """
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
        histogram = self._histograms.get(layer.data)
        return CalibratedLayer(layer, histogram, chosen, activation, scale, codes)

    def _choice(self, layer: FloatLayer) -> LayerChoice:
        """Return how a layer is quantized."""
        return self._settings.choice_of(layer.name, layer.kind) or LayerChoice()

    def _range(self, layer: FloatLayer, histogram: Histogram) -> Range:
        """Return the range of a layer's data, chosen once for all layers that choose alike."""
        choice = self._choice(layer)
        key = (layer.data, choice.calibrator, choice.settings)
        if key not in self._ranges:
            # `auto` begins with the widest range, and tries the others afterwards.
            chooser = CALIBRATORS.get(choice.calibrator, CALIBRATORS["min-max"])
            self._ranges[key] = chooser.range_of(histogram, choice.settings)
        return self._ranges[key]

    def _leave(self, layer: FloatLayer, part: str, step: float) -> None:
        """Leave a layer in floats whose data or weights are too small for a scale."""
        chinese = {"data": "数据", "weights": "权重"}[part]
        self.left[layer.name] = Words(
            f"a step of its {part} would be {step:.3g}, less than 2^-23",
            f"其{chinese}的步长为 {step:.3g}，小于 2^-23",
        )
        self.warnings.append(
            LAYER_LEFT_FLOAT.diagnostic(
                f"layer {layer.name!r} stays in floats: a step of its {part} would be {step:.3g}, and "
                f"the least scale is {EPSILON:.3g}",
                place=layer.node.place,
            )
        )

    def _note_zero_channels(self, layer: FloatLayer) -> None:
        """Note output channels whose weights are all 0."""
        weights = layer_weights(self._model.graph, layer)
        others = tuple(at for at in range(weights.ndim) if at != layer.axis)
        count = int((~weights.any(axis=others)).sum())
        if count:
            self.warnings.append(
                ZERO_CHANNEL.diagnostic(
                    f"layer {layer.name!r} has {count} of {weights.shape[layer.axis]} output "
                    "channels whose weights are all 0",
                    place=layer.node.place.with_field(f"weights {layer.weight}"),
                )
            )


def _refuse_odd(layer: FloatLayer, histogram: Histogram) -> None:
    """Refuse data from which no range can be chosen.

    Raises:
        AtcError: NO_VALUES or CONSTANT_TENSOR.
    """
    if not histogram.count:
        raise NO_VALUES.error(
            f"layer {layer.name!r} never sees data: {layer.data!r} has no elements in any sample",
            place=layer.node.place,
            help=f"give samples that reach it, or leave it in floats with --skip {layer.name}",
        )
    if histogram.low == histogram.high and histogram.count > 1:
        raise CONSTANT_TENSOR.error(
            f"{layer.data!r}, which layer {layer.name!r} reads, is {histogram.low:g} in all samples",
            place=layer.node.place,
            help=f"give samples that differ, or leave it in floats with --skip {layer.name}",
        )

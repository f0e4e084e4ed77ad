"""The numbers of layers' int8 forms, from the histograms of their data."""

from collections.abc import Mapping

import numpy as np

from atc_py.diag import Diagnostic
from atc_py.diag.codes import CONSTANT_TENSOR, LAYER_LEFT_FLOAT, NO_VALUES, ZERO_CHANNEL
from atc_py.quantizing.calibrate.amct_choices import LayerChoice
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.ranges import CALIBRATORS, Range
from atc_py.quantizing.calibrate.scales import EPSILON, activation_scale
from atc_py.quantizing.calibrated import CalibratedLayer
from atc_py.quantizing.layers.float_model import FloatModel
from atc_py.quantizing.layers.layers import FloatLayer
from atc_py.quantizing.options import CalibrationOptions
from atc_py.quantizing.weights import layer_weights, weight_numbers
from atc_py.text import Text


class LayerNumbers:
    """The choice of numbers, layer by layer.

    Attributes:
        left: layers that stay in floats because their numbers have no int8 form, with the reason.
        warnings: what is odd about layers.
    """

    def __init__(
        self, model: FloatModel, settings: CalibrationOptions, histograms: Mapping[str, Histogram]
    ) -> None:
        self.left: dict[str, Text] = {}
        self.warnings: list[Diagnostic] = []
        self._model, self._settings, self._histograms = model, settings, histograms
        self._ranges: dict[tuple[object, ...], Range] = {}

    def of_layer(self, layer: FloatLayer) -> CalibratedLayer | None:
        """A layer with its numbers; None where it has none and stays in floats.

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
        """A layer whose data has that range.

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
        return self._settings.choice_of(layer.name, layer.kind) or LayerChoice()

    def _range(self, layer: FloatLayer, histogram: Histogram) -> Range:
        """The range of a layer's data, chosen once for all layers that choose alike."""
        choice = self._choice(layer)
        key = (layer.data, choice.calibrator, choice.settings)
        if key not in self._ranges:
            # `auto` begins with the widest range, and tries the others afterwards.
            chooser = CALIBRATORS.get(choice.calibrator, CALIBRATORS["min-max"])
            self._ranges[key] = chooser.range_of(histogram, choice.settings)
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
                    "layer {layer} stays in floats: a step of its {part} would be {step}, "
                    "and the least scale is {epsilon}",
                    layer=repr(layer.name),
                    part=Text(part),
                    step=f"{step:.3g}",
                    epsilon=f"{EPSILON:.3g}",
                ),
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
    """Refuse data from which no range can be chosen.

    Raises:
        AtcError: NO_VALUES or CONSTANT_TENSOR.
    """
    if not histogram.count:
        raise NO_VALUES.error(
            Text(
                "layer {layer} never sees data: {data} has no elements in any sample",
                layer=repr(layer.name),
                data=repr(layer.data),
            ),
            place=layer.node.place,
            help=Text(
                "give samples that reach it, or leave it in floats with --skip {layer}",
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

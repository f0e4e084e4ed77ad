"""A float model with the numbers of its layers' int8 forms, and these as records."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from atc_py.diag import Diagnostic
from atc_py.onnx_graph.rewriting.qdq.rewriting import Rewritten
from atc_py.onnx_graph.source import Outcome, QuantizedNode
from atc_py.quantizing.calibrate.value_range import sqnr
from atc_py.quantizing.calibrate.weights import dequantized_weights
from atc_py.quantizing.layers.float_model import FloatModel
from atc_py.quantizing.layers.qdq_nodes import Int8Layer
from atc_py.quantizing.options import CalibrationOptions
from atc_py.quantizing.prepare import Prepared
from atc_py.quantizing.weights import layer_weights
from atc_py.results.quantization import BalancedTensor, QuantizedLayerFacts, RangeTrial, StepGain
from atc_py.system.structs import replace

if TYPE_CHECKING:
    from atc_py.text import Text


def layer_facts(calibrated: Calibrated) -> tuple[QuantizedLayerFacts, ...]:
    """The numbers of each layer, producers first."""
    numbers = {layer.name: layer for layer in calibrated.layers}
    return tuple(
        _facts(calibrated, numbers[layer.name])
        if layer.name in numbers
        else QuantizedLayerFacts(
            layer.name, layer.kind, layer.data, calibrated.left.get(layer.name)
        )
        for layer in calibrated.model.found.layers
    )


def balanced_tensors(calibrated: Calibrated) -> tuple[BalancedTensor, ...]:
    return tuple(
        BalancedTensor(balance.site.tensor, balance.gain, balance.strength)
        for balance in calibrated.prepared.balances
    )


def node_outcomes(
    calibrated: Calibrated, imported: Sequence[QuantizedNode]
) -> tuple[QuantizedNode, ...]:
    """The outcome of each layer of the original.

    `imported` is what the rewrite to the deploy form says; empty for the other form.
    """
    by_name = {layer.name: layer for layer in imported if layer.name}
    reasons: dict[str, Text] = dict(calibrated.left)
    model = calibrated.model
    names = {layer.node: layer.name for layer in model.found.layers}
    left = {node: reason for node, reason in model.found.left}  # noqa: C416  (pairs of a tuple)
    on_int8 = {layer.name for layer in calibrated.layers}
    nodes = calibrated.original.file.nodes
    indices = {name: node.index for node in nodes for name in node.writes}
    rows = []
    for node in model.graph.nodes:
        if node not in names and node not in left:
            continue
        name = names.get(node, "")
        done = by_name.get(node.name)
        reason = left.get(node) or reasons.get(name)
        if name in on_int8 and done is not None and done.outcome is not Outcome.INTEGER:
            reason = done.reason
        outcome = Outcome.INTEGER if reason is None else Outcome.FLOAT
        channels = done.channels if done is not None and reason is None else None
        index = indices.get(node.output_names[0], node.index)
        rows.append(
            QuantizedNode(index, node.name, node.op_type, outcome, reason, channels=channels)
        )
    return tuple(rows)


def _facts(calibrated: Calibrated, layer: Int8Layer) -> QuantizedLayerFacts:
    weights = layer_weights(calibrated.model.graph, layer.layer)
    axis = None if layer.scale.size == 1 else layer.layer.axis
    histogram = layer.histogram
    return QuantizedLayerFacts(
        name=layer.name,
        kind=layer.layer.kind,
        tensor=layer.tensor,
        low=None if histogram is None else histogram.low,
        high=None if histogram is None else histogram.high,
        range_low=layer.data.low,
        range_high=layer.data.high,
        scale=layer.data.scale,
        offset=layer.data.offset,
        bias_gain=layer.bias_gain,
        weight_scales=(float(layer.scale.min()), float(layer.scale.max())),
        weight_sqnr=sqnr(weights, dequantized_weights(layer.codes, layer.scale, axis)),
    )


class Calibrated(msgspec.Struct, eq=False, kw_only=True):
    """A float model that can be written with any of its layers on int8.

    It has files in a folder for temporary files: use it in a `with` block, or call `close`.
    """

    original: FloatModel  # the float model as it was given
    prepared: Prepared  # the rewrites of that
    layers: tuple[Int8Layer, ...]  # layers with numbers, producers first
    left: Mapping[str, Text]  # layers of `model` that stay in floats, with the reason
    settings: CalibrationOptions
    folder: Path  # a folder for temporary files; it is gone after `close`
    resources: ExitStack  # what `close` releases
    seconds: float = 0.0  # time of the calibration
    warnings: tuple[Diagnostic, ...] = ()  # what is odd about layers
    executor: str = ""  # the engine of the samples; "" where the numbers come from a record
    steps: tuple[StepGain, ...] = ()  # what steps gained where that was judged
    trials: tuple[RangeTrial, ...] = ()  # the ranges that were tried for tensors
    _qdq_model: FloatModel | None = None

    @property
    def model(self) -> FloatModel:
        """The float model after its equivalent rewrites, whose layers are quantized."""
        return self.prepared.model

    def with_layers(self, layers: Sequence[Int8Layer]) -> Calibrated:
        """The same with other numbers; it is open as long as this one is."""
        made = copy(self)
        made.layers = tuple(layers)
        return made.owning(ExitStack(), self.seconds)

    def having(self, *steps: StepGain, trials: Sequence[RangeTrial] = ()) -> Calibrated:
        """Add what steps gained, and ranges that were tried; return this."""
        self.steps, self.trials = (*self.steps, *steps), (*self.trials, *trials)
        return self

    def leaving(self, reasons: Mapping[str, Text]) -> Calibrated:
        """Add layers that stay in floats, with the reasons; return this."""
        self.left = {**self.left, **reasons}
        return self

    def owning(self, resources: ExitStack, seconds: float) -> Calibrated:
        """Take what is to be released by `close`; return this."""
        self.resources, self.seconds = resources, seconds
        return self

    def written(
        self,
        path: Path,
        layers: Collection[str] | None = None,
        form: str = "ascend",
        *,
        external: bool = False,
        final: Path | None = None,
    ) -> Rewritten:
        """Write the model with layers on int8, all unless named; return the record of the rewrite.

        `form` is `ascend` or `qdq`; with `external` weights go into a file beside the model;
        `final` is the path, of the same name, that the file is moved to afterwards.

        Raises:
            AtcError: CANNOT_WRITE; NO_QDQ_FORM.
        """
        chosen = [layer for layer in self.layers if layers is None or layer.name in layers]
        if form == "qdq":
            own = self.forms(chosen).values()
            return self.qdq_model.write_qdq(path, own, external=external, final=final)
        return self.model.write_ascend(path, chosen, external=external, final=final)

    @property
    def qdq_model(self) -> FloatModel:
        """The model at an opset that has QDQ per channel."""
        if self._qdq_model is None:
            self._qdq_model = self.model.raised(self.folder)
        return self._qdq_model

    def forms(self, layers: Sequence[Int8Layer] | None = None) -> dict[str, Int8Layer]:
        """The numbers of each layer of `qdq_model`, by its name; all layers unless given."""
        own = {form.name: form for form in (self.layers if layers is None else layers)}
        if self.qdq_model is self.model:
            return own
        found = (layer for layer in self.qdq_model.found.layers if layer.name in own)
        return {layer.name: replace(own[layer.name], layer=layer) for layer in found}

    def close(self) -> None:
        self.resources.close()

    def __enter__(self) -> Calibrated:  # noqa: PYI034  (Self is not in Python 3.10)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

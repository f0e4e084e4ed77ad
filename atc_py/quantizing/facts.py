"""What a calibration found, as records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from atc_py.onnx_graph.folding.graph import WorkNode
from atc_py.onnx_graph.source import Outcome, QuantizedNode
from atc_py.quantizing.calibrate.errors import sqnr
from atc_py.quantizing.calibrate.weights import dequantized_weights
from atc_py.quantizing.calibrated import Calibrated, CalibratedLayer
from atc_py.quantizing.weights import layer_weights
from atc_py.results.quantization import BalancedTensor, QuantizedLayerFacts

if TYPE_CHECKING:
    from atc_py.text import Text


def layer_facts(found: Calibrated) -> tuple[QuantizedLayerFacts, ...]:
    """The numbers of each layer, producers first."""
    numbers = {each.name: each for each in found.layers}
    return tuple(
        _facts(found, numbers[each.name])
        if each.name in numbers
        else QuantizedLayerFacts(each.name, each.kind, each.data, found.left.get(each.name))
        for each in found.model.found.layers
    )


def balanced_tensors(found: Calibrated) -> tuple[BalancedTensor, ...]:
    """The tensors whose channels were balanced."""
    return tuple(
        BalancedTensor(each.site.tensor, each.gain, each.strength)
        for each in found.prepared.balances
    )


def node_outcomes(
    found: Calibrated, imported: Sequence[QuantizedNode]
) -> tuple[QuantizedNode, ...]:
    """Return what became of each layer of the original.

    Args:
        found: the calibration.
        imported: what the rewrite to the deploy form says; empty for the other form.
    """
    by_name = {each.name: each for each in imported if each.name}
    reasons: dict[str, Text] = dict(found.left)
    model = found.model
    names = {each.node: each.name for each in model.found.layers}
    left = {node: reason for node, reason in model.found.left}  # noqa: C416  (pairs of a tuple)
    on_int8 = {each.name for each in found.layers}
    indices = _original_indices(found)
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
        index = indices.get(node.outputs[0], node.index)
        rows.append(
            QuantizedNode(index, node.name, node.op_type, outcome, reason, channels=channels)
        )
    return tuple(rows)


def _facts(found: Calibrated, each: CalibratedLayer) -> QuantizedLayerFacts:
    """The numbers of a layer on int8."""
    weights = layer_weights(found.model.graph, each.layer)
    axis = None if each.weight_scale.size == 1 else each.layer.axis
    histogram = each.histogram
    return QuantizedLayerFacts(
        name=each.name,
        kind=each.kind,
        tensor=each.tensor,
        low=None if histogram is None else histogram.low,
        high=None if histogram is None else histogram.high,
        range_low=each.activation.low,
        range_high=each.activation.high,
        scale=each.activation.scale,
        offset=each.activation.offset,
        bias_gain=each.bias_gain,
        weight_scales=(float(each.weight_scale.min()), float(each.weight_scale.max())),
        weight_sqnr=sqnr(weights, dequantized_weights(each.codes, each.weight_scale, axis)),
    )


def _original_indices(found: Calibrated) -> Mapping[str, int]:
    nodes: Sequence[WorkNode] = found.original.file.nodes
    return {name: node.index for node in nodes for name in node.writes}

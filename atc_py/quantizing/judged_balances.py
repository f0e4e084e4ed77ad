"""Balanced channels judged by the model's outputs, with ranges of the samples that chose them."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from atc_py.diag import AtcError
from atc_py.pipeline.running.samples import ArraySamples
from atc_py.quantizing.balancing import Balance, ChannelStatistics
from atc_py.quantizing.calibrate.scales import activation_scale
from atc_py.quantizing.calibrate.value_range import ValueRange
from atc_py.quantizing.calibrate.weights import quantized_weights, weight_scales
from atc_py.quantizing.channel_errors import channel_errors, corrected_bias
from atc_py.quantizing.judging import KeptParts, StepJudge, StepSamples
from atc_py.quantizing.layers.balance_sites import over_inputs
from atc_py.quantizing.layers.float_model import FloatModel
from atc_py.quantizing.layers.layers import FloatLayer
from atc_py.quantizing.layers.mean_errors import FormBeside
from atc_py.quantizing.layers.qdq_nodes import Int8Layer, TensorScale, takes_bias
from atc_py.quantizing.layers.switched import SwitchedForm
from atc_py.quantizing.options import CalibrationOptions
from atc_py.quantizing.weights import layer_weights
from atc_py.results.quantization import StepGain
from atc_py.system.structs import replace

EQUALIZE, SMOOTH = "equalize", "smooth"
"""Names of the two kinds of balancing: after a layer, and after a normalization."""

_LINEAR = 10
"""The opset that has QuantizeLinear."""


def judged_balances(
    model: FloatModel,
    candidates: Sequence[Balance],
    statistics: Mapping[str, ChannelStatistics],
    samples: StepSamples,
    settings: CalibrationOptions,
    skipped: Collection[str],
) -> tuple[list[Balance], tuple[StepGain, ...]]:
    """The balances that are kept, and what each kind gained.

    Args:
        model: the float model before its channels are balanced, in a folder for temporary files.
        candidates: balances that gain by their estimate.
        statistics: of the channels of their tensors.
        samples: inputs, and what the float model makes of them.
        settings: choices.
        skipped: layers that stay in floats.

    Raises:
        AtcError: what scales and the executor raise; NO_QDQ_FORM.
    """
    judged, forms = _comparable(model, candidates, statistics, settings, skipped)
    if not judged:
        return list(candidates), ()
    base = model
    if model.graph.opsets.get("", 0) < _LINEAR:
        base = model.raised(model.file.path.parent)
    if settings.correct_bias:
        forms = _with_biases(model, base, forms, samples, settings.executor)
    path = base.file.path.with_name("judged_balances.onnx")
    verdicts = {}
    with StepJudge(base, path, forms, len(judged), samples, settings.executor) as judge:
        for name in (EQUALIZE, SMOOTH):
            parts = [at for at, each in enumerate(judged) if _step_of(each) == name]
            if parts:
                verdicts[name] = judge.verdict(sorted(parts, key=lambda at: -judged[at].gain))
    kept = {judged[at].site.tensor for each in verdicts.values() for at in each.kept}
    left_out = {each.site.tensor for each in judged} - kept
    steps = tuple(
        _step(name, verdict, [each for each in judged if _step_of(each) == name], kept)
        for name, verdict in verdicts.items()
    )
    return [each for each in candidates if each.site.tensor not in left_out], steps


def _comparable(
    model: FloatModel,
    candidates: Sequence[Balance],
    statistics: Mapping[str, ChannelStatistics],
    settings: CalibrationOptions,
    skipped: Collection[str],
) -> tuple[list[Balance], list[SwitchedForm]]:
    """The balances whose readers have an int8 form with and without it, and these forms.

    Where a scale is beyond float32 without the balance, there is nothing to compare with.
    """
    judged: list[Balance] = []
    forms: list[SwitchedForm] = []
    for each in candidates:
        with suppress(AtcError):
            forms += [
                _switched(model, layer, len(judged), each, statistics[each.site.tensor], settings)
                for layer in each.site.readers
                if layer.name not in skipped
            ]
            judged.append(each)
    return judged, forms


def _with_biases(
    model: FloatModel,
    base: FloatModel,
    forms: Sequence[SwitchedForm],
    samples: StepSamples,
    executor: str,
) -> list[SwitchedForm]:
    """Forms with corrected biases, as the model will have them: they lose less in the mean.

    Args:
        model: the float model.
        base: the same, of an opset with QuantizeLinear.
        forms: the forms.
        samples: those on which the errors are measured.
        executor: the engine.

    Raises:
        AtcError: what the executor raises.
    """
    able = [each for each in forms if takes_bias(model.graph, each.off.layer)]
    beside = []
    for each in able:
        name = each.off.layer.name
        beside.append(FormBeside(f"off {name}", each.off))
        if each.on is not None:
            beside.append(FormBeside(f"on {name}", each.on, each.factors))
    path = base.file.path.with_name("judged_errors.onnx")
    errors = channel_errors(base, path, beside, ArraySamples(samples.feeds), executor)

    def corrected(form: Int8Layer, side: str) -> Int8Layer:
        found = errors.get(f"{side} {form.layer.name}")
        if found is None:
            return form
        return replace(form, bias=corrected_bias(model.graph, form.layer, found))

    return [
        replace(
            each,
            off=corrected(each.off, "off"),
            on=None if each.on is None else corrected(each.on, "on"),
        )
        for each in forms
    ]


def _step(
    name: str, verdict: KeptParts, parts: Sequence[Balance], kept: Collection[str]
) -> StepGain:
    left_out = tuple(each.site.tensor for each in parts if each.site.tensor not in kept)
    return StepGain(
        name,
        len(parts),
        len(parts) - len(left_out),
        verdict.gain,
        verdict.whole_gain,
        left_out,
    )


def _step_of(found: Balance) -> str:
    return SMOOTH if found.site.maker is None else EQUALIZE


def _switched(
    model: FloatModel,
    layer: FloatLayer,
    at: int,
    found: Balance,
    statistics: ChannelStatistics,
    settings: CalibrationOptions,
) -> SwitchedForm:
    """A layer on int8 whose switch balances the channels of its data."""
    factors = found.factors.astype(np.float64)
    weights = layer_weights(model.graph, layer)
    balanced = (weights * over_inputs(layer, factors)).astype(np.float32)
    low, high = statistics.low, statistics.high
    shape = (-1, *[1] * (len(layer.shape) - 2)) if found.site.axis == 1 else (-1,)
    return SwitchedForm(
        at,
        off=_form(layer, weights, low, high, settings),
        on=_form(layer, balanced, low / factors, high / factors, settings),
        factors=factors.reshape(shape),
    )


def _form(
    layer: FloatLayer,
    weights: NDArray[np.float32],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    settings: CalibrationOptions,
) -> Int8Layer:
    """The int8 form of a layer whose data's channels have these bounds."""
    place = layer.node.place.with_field(f"data {layer.data}")
    found = ValueRange(float(low.min()), float(high.max()))
    data = activation_scale(found, symmetric=settings.ranges.symmetric, place=place)
    scales = weight_scales(weights, layer.axis, settings.weights, place)
    codes = quantized_weights(weights, scales, layer.axis)
    return Int8Layer(layer, TensorScale(data.scale, data.offset), codes, scales)

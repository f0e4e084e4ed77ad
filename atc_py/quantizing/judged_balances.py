"""Balanced channels judged by the model's outputs, with ranges of the samples that chose them."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing, suppress

import numpy as np
from numpy.typing import NDArray

from atc_py.diag import AtcError
from atc_py.pipeline.running.samples import ArraySamples
from atc_py.quantizing.balancing import Balance, ChannelStatistics
from atc_py.quantizing.calibrate.value_range import ValueRange, activation_scale
from atc_py.quantizing.calibrate.weights import quantized_weights, weight_scales
from atc_py.quantizing.judging import (
    StepJudge,
    StepSamples,
    channel_errors,
    corrected_bias,
)
from atc_py.quantizing.layers.balance_sites import over_inputs
from atc_py.quantizing.layers.float_model import FloatModel
from atc_py.quantizing.layers.layers import FloatLayer
from atc_py.quantizing.layers.measured import SwitchedForm
from atc_py.quantizing.layers.qdq_nodes import Int8Layer, takes_bias
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

    `model` is not balanced yet, in a folder for temporary files; `candidates` gain by their
    estimate; layers in `skipped` stay in floats.
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
    with closing(StepJudge(base, path, forms, len(judged), samples, settings.executor)) as judge:
        for name in (EQUALIZE, SMOOTH):
            parts = [at for at, balance in enumerate(judged) if _step_of(balance) == name]
            if parts:
                verdicts[name] = judge.verdict(sorted(parts, key=lambda at: -judged[at].gain))
    kept = {judged[at].site.tensor for verdict in verdicts.values() for at in verdict.kept}
    left_out = {balance.site.tensor for balance in judged} - kept
    steps = tuple(
        verdict.step(name, [part.site.tensor for part in judged if _step_of(part) == name], kept)
        for name, verdict in verdicts.items()
    )
    return [candidate for candidate in candidates if candidate.site.tensor not in left_out], steps


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
    for candidate in candidates:
        with suppress(AtcError):
            forms += [
                _switched_form(
                    model,
                    layer,
                    len(judged),
                    candidate,
                    statistics[candidate.site.tensor],
                    settings,
                )
                for layer in candidate.site.readers
                if layer.name not in skipped
            ]
            judged.append(candidate)
    return judged, forms


def _with_biases(
    model: FloatModel,
    base: FloatModel,
    forms: Sequence[SwitchedForm],
    samples: StepSamples,
    executor: str,
) -> list[SwitchedForm]:
    """Forms with corrected biases, as the model will have them: they lose less in the mean.

    `base` is the model at an opset with QuantizeLinear.
    """
    sides = [(form.off, form.on) for form in forms]
    beside = {
        f"{at} {side}": form
        for at, pair in enumerate(sides)
        for side, form in enumerate(pair)
        if form is not None and takes_bias(model.graph, form.layer)
    }
    path = base.file.path.with_name("judged_errors.onnx")
    errors = channel_errors(base, path, beside, ArraySamples(samples.feeds), executor)

    def corrected(key: str, form: Int8Layer | None) -> Int8Layer | None:
        if form is None or key not in errors:
            return form
        return replace(form, bias=corrected_bias(model.graph, form.layer, errors[key]))

    return [
        replace(form, off=corrected(f"{at} 0", form.off), on=corrected(f"{at} 1", form.on))
        for at, form in enumerate(forms)
    ]


def _step_of(balance: Balance) -> str:
    return SMOOTH if balance.site.maker is None else EQUALIZE


def _switched_form(
    model: FloatModel,
    layer: FloatLayer,
    at: int,
    balance: Balance,
    statistics: ChannelStatistics,
    settings: CalibrationOptions,
) -> SwitchedForm:
    """A layer on int8 whose switch balances the channels of its data."""
    factors = balance.factors.astype(np.float64)
    weights = layer_weights(model.graph, layer)
    balanced = (weights * over_inputs(layer, factors)).astype(np.float32)
    low, high = statistics.low, statistics.high
    shape = (-1, *[1] * (len(layer.shape) - 2)) if balance.site.axis == 1 else (-1,)
    return SwitchedForm(
        at,
        off=_form(layer, weights, low, high, settings),
        on=_form(layer, balanced, low / factors, high / factors, settings, factors.reshape(shape)),
    )


def _form(
    layer: FloatLayer,
    weights: NDArray[np.float32],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    settings: CalibrationOptions,
    factors: NDArray[np.float64] | None = None,
) -> Int8Layer:
    place = layer.node.place.with_field(f"data {layer.data}")
    found = ValueRange(float(low.min()), float(high.max()))
    data = activation_scale(found, symmetric=settings.ranges.symmetric, place=place)
    scales = weight_scales(weights, layer.axis, settings.weights, place)
    codes = quantized_weights(weights, scales, layer.axis)
    return Int8Layer(layer, data, codes, scales, factors=factors)

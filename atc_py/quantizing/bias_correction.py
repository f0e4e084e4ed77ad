"""Biases that make up for the mean error of each output channel."""

from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from atc_py.frontend.quantizing.mean_errors import FormBeside
from atc_py.frontend.quantizing.qdq_nodes import Int8Layer, takes_bias
from atc_py.frontend.quantizing.switched import SwitchedForm
from atc_py.quantizing.calibrated import Calibrated, CalibratedLayer
from atc_py.quantizing.channel_errors import ChannelErrors, channel_errors, corrected_bias
from atc_py.quantizing.judging import JUDGED, KeptParts, StepJudge, StepSamples, judged_outputs
from atc_py.quantizing.prepare import FirstSamples
from atc_py.quantizing.sample_choice import first_feeds
from atc_py.results.step_gain import StepGain
from atc_py.running.samples import Samples
from atc_py.system.structs import replace

CORRECT_BIAS = "correct_bias"
"""Name of the step."""


def with_corrected_biases(
    found: Calibrated,
    samples: Samples,
    on_stage: Callable[[str], None] | None = None,
) -> Calibrated:
    """Return a calibrated model whose layers make no error in the mean of the first samples.

    Biases are kept where the outputs err less with them.

    Raises:
        AtcError: what samples and the executor raise; NO_QDQ_FORM.
    """
    model = found.qdq_model
    own = found.forms()
    forms = [each for each in own.values() if takes_bias(model.graph, each.layer)]
    if not forms:
        return found
    seen = StepSamples(judged_outputs(model))
    errors = channel_errors(
        model,
        found.folder / "mean_errors.onnx",
        [FormBeside(each.layer.name, each) for each in forms],
        FirstSamples(samples),
        found.settings.executor,
        seen=seen,
        on_stage=on_stage,
    )
    if on_stage is not None:
        on_stage("judge biases")
    seen.feeds = first_feeds(model, samples, JUDGED)
    order = sorted(errors, key=lambda name: -errors[name].gain())
    switched = [SwitchedForm(0, off=form) for name, form in own.items() if name not in errors]
    for at, name in enumerate(order):
        addend = _along_channels(own[name], errors[name].correction())
        switched.append(SwitchedForm(at, off=own[name], addend=addend))
    path = model.file.path.with_name("judged_biases.onnx")
    executor = found.settings.executor
    with StepJudge(model, path, switched, len(order), seen, executor) as judge:
        verdict = judge.verdict(range(len(order)))
    kept = {order[at] for at in verdict.kept}
    layers = [
        _corrected(found, each, errors[each.name]) if each.name in kept else each
        for each in found.layers
    ]
    return found.with_layers(layers).having(_step(verdict, order, kept))


def _step(verdict: KeptParts, names: Sequence[str], kept: Collection[str]) -> StepGain:
    """Return what the corrections gained."""
    left_out = tuple(name for name in names if name not in kept)
    gains = verdict.gain, verdict.whole_gain
    return StepGain(CORRECT_BIAS, len(names), len(kept), *gains, left_out)


def _along_channels(form: Int8Layer, addend: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers of a layer's channels in a shape that broadcasts over its result."""
    trailing = len(form.layer.shape) - 2 if form.layer.kind in {"Conv", "ConvTranspose"} else 0
    return addend.reshape(-1, *[1] * trailing)


def _corrected(found: Calibrated, layer: CalibratedLayer, errors: ChannelErrors) -> CalibratedLayer:
    """Return a layer whose bias makes up for its mean errors."""
    bias = corrected_bias(found.model.graph, layer.layer, errors)
    return replace(layer, bias=bias, bias_gain=errors.gain())

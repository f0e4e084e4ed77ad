"""Biases that make up for the mean error of each output channel.

The mean of n errors with variance v is itself off by v / n, so that only the share 1 - v / (n m^2)
of a mean m is taken off: of few errors that vary much nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.frontend.quantizing.mean_errors import write_mean_errors
from atc_py.frontend.quantizing.qdq_nodes import takes_bias
from atc_py.frontend.quantizing.switched import SwitchedForm
from atc_py.frontend.reading.attributes import numeric_attributes
from atc_py.quantizing.judging import JUDGED, JudgedSamples, StepJudge, judged_outputs
from atc_py.quantizing.observe import run_samples
from atc_py.quantizing.prepare import FirstSamples
from atc_py.quantizing.sample_choice import first_feeds
from atc_py.quantizing.weights import layer_bias
from atc_py.results.step_gain import StepGain
from atc_py.system.structs import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from atc_py.frontend.quantizing.qdq_nodes import Int8Layer
    from atc_py.quantizing.calibrated import Calibrated, CalibratedLayer
    from atc_py.running.samples import Samples

__all__ = ["CORRECT_BIAS", "with_corrected_biases"]

CORRECT_BIAS = "correct_bias"
"""Name of the step."""


class _Errors:
    """Sums of the errors of a layer, for each output channel."""

    def __init__(self) -> None:
        self._sum: NDArray[np.float64] | float = 0.0
        self._squares: NDArray[np.float64] | float = 0.0
        self._count = 0

    def add(self, mean: NDArray[Any], squares: NDArray[Any], count: int) -> None:
        """Take in the means over `count` elements of each channel."""
        self._sum = self._sum + mean.astype(np.float64) * count
        self._squares = self._squares + squares.astype(np.float64) * count
        self._count += count

    def correction(self) -> NDArray[np.float64]:
        """Return what is to be added to the bias of each channel."""
        count = max(self._count, 1)
        mean = np.asarray(self._sum, np.float64) / count
        variance = np.maximum(np.asarray(self._squares, np.float64) / count - mean**2, 0)
        with np.errstate(all="ignore"):
            share = np.clip(1 - variance / (count * mean**2), 0, 1)
        return np.where(np.isfinite(share), -mean * share, 0.0)

    def gain(self) -> float:
        """Return by how much the squared errors fall with the correction, in dB."""
        before = float(np.sum(self._squares))
        addend, count = self.correction(), max(self._count, 1)
        mean = np.asarray(self._sum, np.float64) / count
        after = before - count * float((mean**2 - (mean + addend) ** 2).sum())
        return 10 * math.log10(before / after) if before > 0 and after > 0 else 0.0


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
    seen = JudgedSamples(judged_outputs(model))
    errors = _errors(found, forms, samples, seen, on_stage)
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
    step = StepGain(
        CORRECT_BIAS,
        len(errors),
        len(kept),
        verdict.gain,
        verdict.whole_gain,
        tuple(name for name in errors if name not in kept),
    )
    layers = [
        _corrected(found, each, errors[each.name]) if each.name in kept else each
        for each in found.layers
    ]
    return found.with_layers(layers).having(step)


def _errors(
    found: Calibrated,
    forms: Sequence[Int8Layer],
    samples: Samples,
    seen: JudgedSamples,
    on_stage: Callable[[str], None] | None,
) -> dict[str, _Errors]:
    """Return the errors of layers, by name; `seen` takes in the outputs.

    Raises:
        AtcError: what samples and the executor raise.
    """
    model = found.qdq_model
    path = found.folder / "mean_errors.onnx"
    names = write_mean_errors(model, path, forms)
    channels = {each.layer.name: each.layer.channels for each in forms}
    errors = {name: _Errors() for name in names}

    def see(_position: int, _label: str, values: Mapping[str, NDArray[Any]]) -> None:
        for name, each in names.items():
            count = int(values[each.size]) // max(channels[name], 1)
            if count:
                errors[name].add(values[each.mean], values[each.squares], count)
        seen.see(values)

    wanted = [name for each in names.values() for name in each.names]
    run_samples(
        model,
        [*dict.fromkeys((*wanted, *seen.outputs))],
        FirstSamples(samples),
        found.settings.executor,
        see,
        path=path,
        stage="correct biases",
        on_stage=on_stage,
    )
    return errors


def _along_channels(form: Int8Layer, addend: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers of a layer's channels in a shape that broadcasts over its result."""
    trailing = len(form.layer.shape) - 2 if form.layer.kind in {"Conv", "ConvTranspose"} else 0
    return addend.reshape(-1, *[1] * trailing)


def _corrected(found: Calibrated, layer: CalibratedLayer, errors: _Errors) -> CalibratedLayer:
    """Return a layer whose bias makes up for its mean errors."""
    beta = numeric_attributes(layer.layer.node).get("beta", 1.0)
    own = layer_bias(found.model.graph, layer.layer)
    bias = errors.correction() / float(beta if isinstance(beta, float) else 1.0)
    bias = bias if own is None else own + bias  # a MatMul has none of its own
    return replace(layer, bias=bias.astype(np.float32), bias_gain=errors.gain())

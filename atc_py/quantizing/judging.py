"""Steps of quantization judged by the model's outputs: parts are kept that do not make them worse.

What a step changes is on in some runs over a few samples and off in others. Where all parts
together make the outputs worse, the parts that promise most are tried by halves, and the set with
the least noise at the outputs is taken, which may be none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.onnx_graph.graph import OnnxGraph
from atc_py.pipeline.running.samples import Feeds, Samples
from atc_py.quantizing.layers.float_model import FloatModel
from atc_py.quantizing.layers.layers import FloatLayer
from atc_py.quantizing.layers.measured import SwitchedForm, write_mean_errors, write_switched
from atc_py.quantizing.layers.qdq_nodes import Int8Layer
from atc_py.quantizing.observe import no_progress, run_samples
from atc_py.quantizing.switched_runs import SwitchedRuns
from atc_py.quantizing.weights import layer_bias
from atc_py.results.quantization import StepGain
from atc_py.text import Text

# The mean of n errors with variance v is itself off by v / n, so that only the share 1 - v / (n m^2)
# of a mean m is taken off: of few errors that vary much nothing.


class ChannelErrors:
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
        """The term to be added to the bias of each channel."""
        count = max(self._count, 1)
        mean = np.asarray(self._sum, np.float64) / count
        variance = np.maximum(np.asarray(self._squares, np.float64) / count - mean**2, 0)
        with np.errstate(all="ignore"):
            share = np.clip(1 - variance / (count * mean**2), 0, 1)
        return np.where(np.isfinite(share), -mean * share, 0.0)

    def gain(self) -> float:
        """By how much the squared errors fall with the correction, in dB."""
        before = float(np.sum(self._squares))
        addend, count = self.correction(), max(self._count, 1)
        mean = np.asarray(self._sum, np.float64) / count
        after = before - count * float((mean**2 - (mean + addend) ** 2).sum())
        return 10 * math.log10(before / after) if before > 0 and after > 0 else 0.0


def channel_errors(  # noqa: PLR0913  (a run and its observers)
    model: FloatModel,
    path: Path,
    forms: Mapping[str, Int8Layer],
    samples: Samples,
    executor: str,
    *,
    seen: StepSamples | None = None,
    tell: Callable[[str], None] = no_progress,
) -> dict[str, ChannelErrors]:
    """The errors of int8 forms, by key.

    `path` is in the folder of the model. Each form reads what its layer reads in floats; `seen`
    takes in the outputs.
    """
    names = write_mean_errors(model, path, forms)
    errors = {key: ChannelErrors() for key in names}

    def see(_position: int, _label: str, values: Mapping[str, NDArray[Any]]) -> None:
        for key, sums in names.items():
            count = int(values[sums.size]) // max(forms[key].layer.channels, 1)
            if count:
                errors[key].add(values[sums.mean], values[sums.squares], count)
        if seen is not None:
            seen.see(values)

    outputs = () if seen is None else seen.outputs
    run_samples(
        model,
        [*dict.fromkeys((*chain.from_iterable(names.values()), *outputs))],
        samples,
        executor,
        see,
        path=path,
        stage=Text("correct biases"),
        tell=tell,
    )
    return errors


def corrected_bias(
    graph: OnnxGraph, layer: FloatLayer, errors: ChannelErrors
) -> NDArray[np.float32]:
    """The bias with which a layer has no mean errors; of a MatMul what is added after it."""
    beta = layer.node.number("beta", 1.0)
    own = layer_bias(graph, layer)
    bias = errors.correction() / float(beta)
    return (bias if own is None else own + bias).astype(np.float32)


JUDGED = 4
"""Samples on which steps are judged."""


class StepSamples:
    """The first samples, and what the float model makes of them."""

    def __init__(self, outputs: Sequence[str]) -> None:
        self.outputs = tuple(outputs)
        self.feeds: Sequence[Feeds] = ()  # inputs of each sample; there are as many as of `wanted`
        self.wanted: list[dict[str, NDArray[Any]]] = []  # outputs of each sample

    def see(self, values: Mapping[str, NDArray[Any]]) -> None:
        if len(self.wanted) < JUDGED:
            self.wanted.append({name: np.array(values[name]) for name in self.outputs})


class KeptParts(msgspec.Struct, frozen=True):
    """The parts of a step that are kept."""

    kept: tuple[int, ...]  # their positions
    # by how much the noise at the outputs falls with them, in dB; None if there is none
    gain: float | None
    whole_gain: float | None  # the same with all parts

    def step(self, name: str, parts: Sequence[str], kept: Collection[str]) -> StepGain:
        """The record of a step, given the names of its parts and of those that are kept."""
        left_out = tuple(part for part in parts if part not in kept)
        count = len(parts) - len(left_out)
        return StepGain(name, len(parts), count, self.gain, self.whole_gain, left_out)


def judged_outputs(model: FloatModel) -> list[str]:
    """The outputs by which a model is judged: those that nodes make."""
    inputs = {port.name for port in model.file.inputs}
    return [name for name in dict.fromkeys(model.graph.outputs) if name not in inputs]


class StepJudge:
    """A model in which parts of steps are switched on and off, until it is closed."""

    def __init__(
        self,
        model: FloatModel,
        path: Path,
        forms: Sequence[SwitchedForm],
        count: int,
        samples: StepSamples,
        executor: str,
    ) -> None:
        """Write the model to `path`, in its own folder, with `count` switches, and start it."""
        write_switched(model, path, forms, count)
        self._samples = samples
        self._known: dict[frozenset[int], float] = {}
        names = [port.name for port in model.file.inputs]
        self._runs = SwitchedRuns(executor, path, count, samples.outputs, names)

    def verdict(self, parts: Sequence[int]) -> KeptParts:
        """The parts that are kept of `parts`, which promise most first; the others are off."""
        return select_parts(parts, self._noise)

    def close(self) -> None:
        self._runs.close()

    def _noise(self, on: Sequence[int]) -> float:
        """Noise to signal at the outputs with the parts `on`, summed up over outputs."""
        key = frozenset(on)
        if key not in self._known:
            pairs = zip(self._samples.feeds, self._samples.wanted, strict=True)
            errors = self._runs.errors(pairs, key)
            self._known[key] = sum(error.noise for error in errors.values())
        return self._known[key]


def select_parts(parts: Sequence[int], noise_of: Callable[[Sequence[int]], float]) -> KeptParts:
    """The parts to keep: all, unless there is less noise without them, or with the first.

    `parts` has those that promise most first; `noise_of` gives the noise at the outputs with some
    on.
    """
    plain, whole = noise_of(()), noise_of(parts)
    tried = {tuple(parts): whole}
    size = len(parts) // 2
    while whole > plain and size:
        tried[tuple(parts[:size])] = noise_of(parts[:size])
        size //= 2
    tried[()] = plain
    kept = min(tried, key=lambda part: tried[part])
    return KeptParts(kept, _gain(plain, tried[kept]) if kept else None, _gain(plain, whole))


def _gain(before: float, after: float) -> float | None:
    """By how much noise falls, in dB; None where that is no number."""
    known = 0 < before < math.inf and 0 < after < math.inf
    return 10 * math.log10(before / after) if known else None

"""The mean error of each output channel of layers, and the biases that make up for it.

The mean of n errors with variance v is itself off by v / n, so that only the share 1 - v / (n m^2)
of a mean m is taken off: of few errors that vary much nothing.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.onnx_graph.folding.graph import WorkGraph
from atc_py.onnx_graph.reading.attributes import numeric_attributes
from atc_py.pipeline.running.samples import Samples
from atc_py.quantizing.judging import StepSamples
from atc_py.quantizing.layers.float_model import FloatModel
from atc_py.quantizing.layers.layers import FloatLayer
from atc_py.quantizing.layers.mean_errors import FormBeside, write_mean_errors
from atc_py.quantizing.observe import run_samples
from atc_py.quantizing.weights import layer_bias
from atc_py.text import Text


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
        """Return what is to be added to the bias of each channel."""
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
    forms: Sequence[FormBeside],
    samples: Samples,
    executor: str,
    *,
    seen: StepSamples | None = None,
    on_stage: Callable[[str], None] | None = None,
) -> dict[str, ChannelErrors]:
    """The errors of int8 forms, by key.

    Args:
        model: the float model.
        path: the file to write, in the folder of the model.
        forms: the forms; each reads what its layer reads in floats.
        samples: what the model is fed.
        executor: the engine.
        seen: takes in the outputs.
        on_stage: called with the progress.

    Raises:
        AtcError: what samples and the executor raise.
    """
    names = write_mean_errors(model, path, forms)
    channels = {each.key: each.form.layer.channels for each in forms}
    errors = {key: ChannelErrors() for key in names}

    def see(_position: int, _label: str, values: Mapping[str, NDArray[Any]]) -> None:
        for key, each in names.items():
            count = int(values[each.size]) // max(channels[key], 1)
            if count:
                errors[key].add(values[each.mean], values[each.squares], count)
        if seen is not None:
            seen.see(values)

    wanted = [name for each in names.values() for name in each.names]
    outputs = () if seen is None else seen.outputs
    run_samples(
        model,
        [*dict.fromkeys((*wanted, *outputs))],
        samples,
        executor,
        see,
        path=path,
        stage=Text("correct biases"),
        on_stage=on_stage,
    )
    return errors


def corrected_bias(
    graph: WorkGraph, layer: FloatLayer, errors: ChannelErrors
) -> NDArray[np.float32]:
    """The bias with which a layer has no mean errors; of a MatMul what is added after it."""
    beta = numeric_attributes(layer.node).get("beta", 1.0)
    own = layer_bias(graph, layer)
    bias = errors.correction() / float(beta if isinstance(beta, float) else 1.0)
    return (bias if own is None else own + bias).astype(np.float32)

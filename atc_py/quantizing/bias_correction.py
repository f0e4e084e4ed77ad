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
from atc_py.frontend.reading.attributes import numeric_attributes
from atc_py.quantizing.observe import run_samples
from atc_py.quantizing.prepare import FirstSamples
from atc_py.quantizing.weights import layer_bias
from atc_py.system.structs import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from atc_py.quantizing.calibrated import Calibrated, CalibratedLayer
    from atc_py.running.samples import Samples

__all__ = ["with_corrected_biases"]


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

    Raises:
        AtcError: what samples and the executor raise; NO_QDQ_FORM.
    """
    model = found.qdq_model
    graph = found.model.graph
    forms = [each for each in found.forms().values() if takes_bias(model.graph, each.layer)]
    if not forms:
        return found
    path = found.folder / "mean_errors.onnx"
    names = write_mean_errors(model, path, forms)
    channels = {each.layer.name: each.layer.channels for each in forms}
    errors = {name: _Errors() for name in names}

    def see(_position: int, _label: str, values: Mapping[str, NDArray[Any]]) -> None:
        for name, each in names.items():
            count = int(values[each.size]) // max(channels[name], 1)
            if count:
                errors[name].add(values[each.mean], values[each.squares], count)

    wanted = [name for each in names.values() for name in each.names]
    run_samples(
        model,
        wanted,
        FirstSamples(samples),
        found.settings.executor,
        see,
        path=path,
        stage="correct biases",
        on_stage=on_stage,
    )
    layers: list[CalibratedLayer] = []
    for each in found.layers:
        if each.name not in errors:
            layers.append(each)
            continue
        addend = errors[each.name].correction()
        beta = numeric_attributes(each.layer.node).get("beta", 1.0)
        own = layer_bias(graph, each.layer)
        bias = addend / float(beta if isinstance(beta, float) else 1.0)  # a Gemm multiplies it
        bias = bias if own is None else own + bias
        gain = errors[each.name].gain()
        layers.append(replace(each, bias=bias.astype(np.float32), bias_gain=gain))
    return found.with_layers(layers)

"""The record of a comparison of a compiled model with its original, layer by layer."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from atc_py.diag import Diagnostic
    from atc_py.report.layers.suggestion import Suggestion
    from atc_py.results.histogram import Histogram

__all__ = [
    "BAD_DISTANCE",
    "BAD_SHARE",
    "BORN_FACTOR",
    "NOISE",
    "Alone",
    "Birth",
    "Figures",
    "Layer",
    "LayerComparison",
    "Lost",
    "number_json",
]

BAD_DISTANCE = 0.05
"""Relative Euclidean distance from which on a layer of floats is bad."""

BAD_SHARE = 0.01
"""Share of elements from which on a layer of integers or bools that differ is bad."""

BORN_FACTOR = 2.0
"""An error is born where it is more than so many times the largest error of the inputs."""

NOISE = 2.0**-20
"""Errors up to here are those of float32 additions in another order."""


class Birth(Enum):
    """Where the error of a layer comes from."""

    NONE = "none"
    BORN = "born"
    PASSED_ON = "passed on"


@dataclass(frozen=True, slots=True)
class Lost:
    """Values that the dtype could not hold.

    Attributes:
        share: share of the elements.
        value: of the original's values that were lost, the one of the largest magnitude.
    """

    share: float = 0.0
    value: float = 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    """How far a result is from the original's; over all samples.

    Errors, cosine and distance count the elements that are finite on both sides.

    Attributes:
        elements: how many were compared.
        cosine: cosine similarity; NaN where nothing is finite on both sides.
        max_absolute: largest |found - expected|.
        max_relative: largest |found - expected| / |expected| where expected is not 0.
        mean_absolute: mean of the first.
        mean_relative: mean of the second.
        rmse: root of the mean square error.
        distance: |found - expected| / |expected|, as vectors.
        snr: 10 log10 of energy of the original over that of the error, in dB.
        nan: share of elements that are NaN though the original's are finite.
        inf: the same for infinities.
        differing: share of elements that are not equal.
        magnitude: root of the mean square of the original's values.
        lowest: smallest finite value of the original.
        highest: largest finite value of the original.
        limit: largest finite value of the dtype.
        overflow: values beyond the limit, which became infinite, NaN or the limit itself.
        underflow: values that became 0.
    """

    elements: int
    cosine: float
    max_absolute: float
    max_relative: float
    mean_absolute: float
    mean_relative: float
    rmse: float
    distance: float
    snr: float
    nan: float
    inf: float
    differing: float
    magnitude: float
    lowest: float
    highest: float
    limit: float
    overflow: Lost
    underflow: Lost

    @property
    def lost_share(self) -> float:
        """Share of elements that are NaN or infinite though the original's are finite."""
        return self.nan + self.inf


@dataclass(frozen=True, slots=True)
class Layer:
    """A result of the compiled model and the value of the original that it stands for.

    Attributes:
        index: position of the target node that made it.
        tensor: its position among the compiled model's tensors.
        node: the target node's name.
        op: its operator.
        dtype: its dtype on the device.
        shape: its extents; None for one that only the run knows.
        source: name of the original node whose value it is; of an input, the input's name.
        source_op: operator of that node, "" for an input.
        value: name of the value in the original.
        is_float: whether it holds floats.
        figures: how far it is from the original.
        birth: where the error comes from.
        root: position, in the list of layers, of the one where the error was born; its own where
            that is here, None without error.
        start: position of the first of the bad layers in a row that lead here; its own for a bad
            layer that reads from good ones, None for a good layer.
        steps: layers between here and where the error was born, on the way that it took.
        summed: for a sum or mean whose terms may cancel, the magnitude that it would have if none
            did; None for all others and for what the model hands out.
    """

    index: int
    tensor: int
    node: str
    op: str
    dtype: str
    shape: tuple[int | None, ...]
    source: str
    source_op: str
    value: str
    is_float: bool
    figures: Figures
    birth: Birth
    root: int | None
    start: int | None = None
    steps: int = 0
    summed: float | None = None

    @property
    def cancels(self) -> bool:
        """Whether its distance is that of a sum whose terms cancel, small beside the terms."""
        distance, summed = self.figures.distance, self.summed
        if not summed or not self.is_float or distance <= BAD_DISTANCE:
            return False
        return self.figures.rmse / summed <= BAD_DISTANCE

    @property
    def error(self) -> float:
        """One figure to order layers by: infinite for lost values."""
        if self.figures.lost_share:
            return math.inf
        return self.figures.distance if self.is_float else self.figures.differing

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the layer is bad, in words; empty for a good one."""
        figures = self.figures
        found = []
        if figures.overflow.share:
            found.append(
                f"overflow: {figures.overflow.share:.3%} of the values, up to "
                f"{figures.overflow.value:.6g}, beyond {figures.limit:.6g}"
            )
        if figures.lost_share and not figures.overflow.share:
            found.append(f"{figures.lost_share:.3%} of the values are NaN or infinite")
        if not self.is_float:
            return (*found, *self._differing())
        if figures.distance > BAD_DISTANCE and not self.cancels:
            found.append(f"relative distance {figures.distance:.3g}")
            if figures.underflow.share:
                found.append(
                    f"underflow: {figures.underflow.share:.3%} of the values, up to "
                    f"{figures.underflow.value:.3g}, became 0"
                )
        return tuple(found)

    def _differing(self) -> tuple[str, ...]:
        """What is wrong with integers."""
        share = self.figures.differing
        return (f"{share:.3%} of the values differ",) if share > BAD_SHARE else ()


@dataclass(frozen=True, slots=True)
class Alone:
    """What one side has and the other has not.

    Attributes:
        name: the node's name, or its first output's.
        op: its operator.
        reason: why.
    """

    name: str
    op: str
    reason: str


@dataclass(frozen=True, slots=True)
class LayerComparison:
    """A compiled model beside its original.

    Attributes:
        model: the ONNX file.
        soc: SoC that it was compiled for.
        precision_mode: how dtypes could change.
        samples: how many inputs were run.
        engines: what ran the original.
        layers: in the order in which the device computes them.
        outputs: positions in `layers` of what the model hands out, by the output's name.
        device_alone: results of the device that the original does not have.
        original_alone: nodes of the original without a result on the device.
        reference_seconds: time of the original.
        device_seconds: time of the device's kernels.
        seconds: time of the whole, without compilation.
        peak_bytes: most bytes of the original's inputs and results that were held at once.
        total_bytes: bytes of all its inputs and results in one run.
        stopped: why the device did not come to the end; empty where it did.
        suggestion: what to keep in float32, where that was searched.
        histograms: of the worst layers, by their positions, where samples were taken.
        warnings: what is odd about the data that was given.
    """

    model: Path
    soc: str
    precision_mode: str
    samples: int
    engines: tuple[str, ...]
    layers: tuple[Layer, ...]
    outputs: dict[str, int]
    device_alone: tuple[Alone, ...]
    original_alone: tuple[Alone, ...]
    reference_seconds: float
    device_seconds: float
    seconds: float
    peak_bytes: int
    total_bytes: int
    stopped: str = ""
    suggestion: Suggestion | None = None
    histograms: Mapping[int, Histogram] = field(default_factory=dict)
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def first_bad(self) -> Layer | None:
        """The bad layer that comes first on the way to a bad output.

        Where no output is bad it is the first one that is bad at all, in the order of execution.
        """
        found = (self.layers[at].start for at in self.outputs.values())
        starts = [start for start in found if start is not None]
        if starts:
            return self.layers[min(starts)]
        return next((layer for layer in self.layers if layer.faults), None)

    def worst(self) -> list[Layer]:
        """All layers, those of the largest error first."""
        return sorted(self.layers, key=lambda layer: (-layer.error, layer.index))

    def root_of(self, layer: Layer) -> Layer | None:
        """Where the error of `layer` was born."""
        return None if layer.root is None else self.layers[layer.root]

    def as_json(self) -> dict[str, object]:
        """The comparison as JSON values; what is not finite is null."""
        first = self.first_bad
        return {
            "model": str(self.model),
            "soc": self.soc,
            "precision_mode": self.precision_mode,
            "samples": self.samples,
            "stopped": self.stopped or None,
            "engines": list(self.engines),
            "first_bad": None if first is None else first.node,
            "outputs": {name: self.layers[at].node for name, at in self.outputs.items()},
            "layers": [self._layer_json(layer) for layer in self.layers],
            "device_alone": [asdict(each) for each in self.device_alone],
            "original_alone": [asdict(each) for each in self.original_alone],
            "seconds": {
                "original": self.reference_seconds,
                "device": self.device_seconds,
                "all": self.seconds,
            },
            "bytes": {"held": self.peak_bytes, "all": self.total_bytes},
            "suggestion": None if self.suggestion is None else self.suggestion.as_json(),
            "warnings": [each.as_json() for each in self.warnings],
        }

    def _layer_json(self, layer: Layer) -> dict[str, object]:
        """One layer as JSON values."""
        root = self.root_of(layer)
        figures = {
            name: number_json(value) if isinstance(value, float) else value
            for name, value in asdict(layer.figures).items()
        }
        return {
            "index": layer.index,
            "node": layer.node,
            "op": layer.op,
            "dtype": layer.dtype,
            "shape": list(layer.shape),
            "source": layer.source,
            "source_op": layer.source_op,
            "value": layer.value,
            "birth": layer.birth.value,
            "root": None if root is None else root.node,
            "faults": list(layer.faults),
            "cancels": layer.cancels,
            "steps": layer.steps,
            **figures,
        }


def number_json(value: float) -> float | None:
    """`value`, or None for what JSON cannot name."""
    return value if math.isfinite(value) else None

"""Record of quantizing a float model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from atc_py.diag import Diagnostic
from atc_py.results.quantization import Quantization
from atc_py.results.quantization_proof import QuantizationProof
from atc_py.results.step_gain import RangeTrial, StepGain

if TYPE_CHECKING:
    from atc_py.text import Text


class QuantizedLayerFacts(msgspec.Struct, frozen=True):
    """Numbers of a layer of a float model.

    Attributes:
        name: its name.
        kind: its operator.
        tensor: the tensor that it reads.
        reason: why it stays in floats; None where it is on int8.
        low: the lowest value of its data in all samples; None where it was not calibrated.
        high: the highest one.
        range_low: the lowest value that codes stand for; None where the layer stays in floats.
        range_high: the highest one.
        scale: scale of its data.
        offset: offset of its data.
        clipped: share of the values of its data that are outside the range.
        weight_scales: lowest and highest of its weights' scales.
        bias_gain: by how much a corrected bias lowers the squared error of its result, in dB.
        weight_sqnr: signal to noise of the weights in dB.
    """

    name: str
    kind: str
    tensor: str
    reason: Text | None = None
    low: float | None = None
    high: float | None = None
    range_low: float | None = None
    range_high: float | None = None
    scale: float | None = None
    offset: int | None = None
    clipped: float | None = None
    weight_scales: tuple[float, float] | None = None
    weight_sqnr: float | None = None
    bias_gain: float | None = None

    def as_json(self) -> dict[str, object]:
        """The layer as JSON values."""
        found = {name: getattr(self, name) for name in self.__struct_fields__}
        reason = None if self.reason is None else self.reason.as_json()
        scales = None if self.weight_scales is None else list(self.weight_scales)
        return {**found, "reason": reason, "weight_scales": scales}


class BalancedTensor(msgspec.Struct, frozen=True):
    """A tensor whose channels were balanced.

    Attributes:
        tensor: its name.
        gain: by how much the estimated noise at the results of its readers fell, in dB.
        strength: share of the range that moved into weights, as SmoothQuant counts it.
    """

    tensor: str
    gain: float
    strength: float

    def as_json(self) -> dict[str, object]:
        """It as JSON values."""
        return {"tensor": self.tensor, "gain": self.gain, "strength": self.strength}


class FloatQuantization(msgspec.Struct, frozen=True):
    """Record of quantizing a float model.

    Attributes:
        model: the float model.
        written: the record of each form that was written.
        layers: its layers, producers first.
        folded_norms: how many BatchNormalization were folded.
        balanced: the tensors whose channels were balanced.
        steps: what steps gained at the model's outputs, where that was judged.
        ranges: the ranges that were tried for tensors, with the calibrator `auto`.
        samples: how many samples it was run on; 0 where a record was read.
        executor: the engine that ran them: `ort` or `sim`; "" where a record was read.
        calibrator: name of the calibrator; "" where a record was read.
        seconds: time of the calibration.
        record: the record file that was written; None where none was.
        warnings: what is odd about samples and layers.
        proof: errors, the way to a target, and times; None where nothing was measured.
    """

    model: Path
    written: tuple[Quantization, ...]
    layers: tuple[QuantizedLayerFacts, ...]
    samples: int
    executor: str
    calibrator: str
    seconds: float
    folded_norms: int = 0
    balanced: tuple[BalancedTensor, ...] = ()
    steps: tuple[StepGain, ...] = ()
    ranges: tuple[RangeTrial, ...] = ()
    record: Path | None = None
    warnings: tuple[Diagnostic, ...] = ()
    proof: QuantizationProof | None = None

    def as_json(self) -> dict[str, object]:
        """Everything, as JSON values."""
        return {
            "model": str(self.model),
            "written": [each.as_json() for each in self.written],
            "calibration": {
                "samples": self.samples,
                "executor": self.executor,
                "calibrator": self.calibrator,
                "seconds": self.seconds,
            },
            "folded_norms": self.folded_norms,
            "balanced": [each.as_json() for each in self.balanced],
            "steps": [each.as_json() for each in self.steps],
            "ranges": [each.as_json() for each in self.ranges],
            "record": None if self.record is None else str(self.record),
            "layers": [each.as_json() for each in self.layers],
            "proof": None if self.proof is None else self.proof.as_json(),
            "warnings": [each.as_json() for each in self.warnings],
        }

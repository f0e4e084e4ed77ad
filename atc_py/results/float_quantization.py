"""Record of quantizing a float model."""

from pathlib import Path
from typing import Annotated

import msgspec

from atc_py.diag import Diagnostic
from atc_py.results.quantization import Quantization
from atc_py.results.quantization_proof import QuantizationProof
from atc_py.results.step_gain import RangeTrial, StepGain
from atc_py.system.structs import Count, Result, Share
from atc_py.text import Text


class QuantizedLayerFacts(Result, frozen=True):
    """The numbers of a layer; null where it stays in floats.

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
    offset: Annotated[int, msgspec.Meta(ge=-128, le=127)] | None = None
    clipped: Share | None = None
    weight_scales: tuple[float, float] | None = None
    weight_sqnr: float | None = None
    bias_gain: float | None = None


class BalancedTensor(Result, frozen=True):
    """A tensor whose channels were balanced; the gain is an estimate in dB.

    Attributes:
        tensor: its name.
        gain: by how much the estimated noise at the results of its readers fell, in dB.
        strength: share of the range that moved into weights, as SmoothQuant counts it.
    """

    tensor: str
    gain: float
    strength: float


class CalibrationRun(Result, frozen=True):
    """The choice of ranges; 0 samples and empty names where a record was read.

    Attributes:
        samples: how many samples the model was run on.
        executor: the engine that ran them: `ort` or `sim`.
        calibrator: its name.
        seconds: time that it took.
    """

    samples: Count
    executor: str
    calibrator: str
    seconds: float


class FloatQuantization(Result, frozen=True):
    """Record of quantizing a float model.

    Attributes:
        model: the float model.
        written: the record of each form that was written.
        calibration: the run over the samples.
        folded_norms: how many BatchNormalization were folded.
        balanced: the tensors whose channels were balanced.
        steps: what steps gained at the model's outputs, where that was judged.
        ranges: the ranges that were tried for tensors, with the calibrator `auto`.
        record: the record file that was written; None where none was.
        layers: its layers, producers first.
        proof: errors, the way to a target, and times; None where nothing was measured.
        warnings: what is odd about samples and layers.
    """

    model: Path
    written: tuple[Quantization, ...]
    calibration: CalibrationRun
    folded_norms: Count = 0
    balanced: tuple[BalancedTensor, ...] = ()
    steps: tuple[StepGain, ...] = ()
    ranges: tuple[RangeTrial, ...] = ()
    record: Path | None = None
    layers: tuple[QuantizedLayerFacts, ...] = ()
    proof: QuantizationProof | None = None
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def samples(self) -> int:
        """How many samples it was run on; 0 where a record was read."""
        return self.calibration.samples

    @property
    def executor(self) -> str:
        """The engine that ran them: `ort` or `sim`; "" where a record was read."""
        return self.calibration.executor

    @property
    def calibrator(self) -> str:
        """Name of the calibrator; "" where a record was read."""
        return self.calibration.calibrator

    @property
    def seconds(self) -> float:
        """Time of the calibration."""
        return self.calibration.seconds

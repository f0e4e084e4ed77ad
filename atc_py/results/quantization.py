"""Records of quantizing a float model, and of rewriting a quantized model into another form."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from atc_py.check.findings import OtherVerdict
from atc_py.diag import Diagnostic
from atc_py.onnx_graph.source import BiasConvention, Outcome, QuantizedNode
from atc_py.options.compile_options import QuantBias
from atc_py.results.fixing import FixedNode
from atc_py.results.output_error import ErrorFigures
from atc_py.system.json_text import json_values
from atc_py.system.structs import Count, Ratio, Result, Share
from atc_py.target import socs
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


class ValueShares(Result, frozen=True):
    """The values of a tensor in bins of one width, as shares.

    Attributes:
        low: lower bound of the first bin.
        high: upper bound of the last one.
        shares: share of the values in each bin.
    """

    low: float
    high: float
    shares: tuple[Share, ...]


class LayerCost(Result, frozen=True):
    """The error that one layer on int8 makes; ratios and gains are in dB.

    Attributes:
        name: of the layer.
        data_snr: signal to noise of its data as codes, in dB, by the histogram; None where its
            numbers come from a record, and so is the next.
        clipped: share of the values of its data that are outside the range of the codes.
        result: the error of its result, for data as in floats.
        outputs_snr: the least of the model's outputs with this layer alone on int8, in dB; None
            where that was not measured.
        range_gain: by how much the chosen range lowers the noise of its data, over that of the lowest
            and highest value, by the histogram in dB; None as for `data_snr`.
        values: the values of its data; None where they come from a record.
    """

    name: str
    data_snr: float | None
    clipped: Share | None
    result: ErrorFigures
    outputs_snr: float | None = None
    range_gain: float | None = None
    values: ValueShares | None = msgspec.field(name="histogram", default=None)


class FallBackPoint(Result, frozen=True):
    """The model with some of its layers in floats.

    Attributes:
        int8: number of layers on int8.
        floats: names of the layers that were put back to floats.
        outputs: errors of the model's outputs.
        reached: whether these meet the target.
        microseconds: estimated time on the SoC; None where it was not estimated.
    """

    int8: Count
    floats: tuple[str, ...]
    outputs: Mapping[str, ErrorFigures]
    reached: bool
    microseconds: float | None = None


class FallBack(Result, frozen=True):
    """The search for the fewest layers that must stay in floats.

    Attributes:
        target: least figures of every output.
        reached: whether a set of layers was found with which they are met.
        order: layers, those that cost the most first.
        floats: the layers that stay in floats, in that order.
        minimal: whether none of these could be put on int8 again.
        points: the sets that were tried, most layers on int8 first.
        trials: how many sets were tried.
    """

    target: Mapping[str, float]
    reached: bool
    order: tuple[str, ...]
    floats: tuple[str, ...]
    minimal: bool
    points: tuple[FallBackPoint, ...]
    trials: Count


class Speed(Result, frozen=True):
    """Estimated microseconds on a SoC.

    Attributes:
        soc: its name.
        float16: microseconds of the float model, in float16.
        int8: microseconds of the model with layers on int8.
    """

    soc: str
    float16: float = msgspec.field(name="float16_us")
    int8: float = msgspec.field(name="int8_us")


class QuantizationProof(Result, frozen=True):
    """Errors and gains that were measured.

    Attributes:
        samples: how many samples they were measured on.
        outputs: errors of the model's outputs with all chosen layers on int8, in float32 between.
        layers: what each layer costs, producers first.
        fall_back: the way to the target; None without one.
        device: errors of the outputs of the compiled model on the simulated device; None where it
            was not run.
        speed: estimated times; None where they were not estimated.
    """

    samples: Count
    outputs: Mapping[str, ErrorFigures]
    layers: tuple[LayerCost, ...]
    fall_back: FallBack | None = msgspec.field(name="target", default=None)
    device: Mapping[str, ErrorFigures] | None = None
    speed: Speed | None = None


class StepGain(Result, frozen=True):
    """A step that was judged by the outputs: what is kept of it, and what it gains in dB.

    Attributes:
        name: `equalize`, `smooth` or `correct_bias`.
        parts: how many tensors or layers it could change.
        kept: how many of them it changes.
        gain: by how much the noise at the model's outputs falls with what is kept, in dB; None where
            it was not measured.
        whole_gain: the same with all parts; below 0 where they make the outputs worse.
        left_out: names of the parts that are not kept.
    """

    name: str
    parts: Count
    kept: Count
    gain: float | None = None
    whole_gain: float | None = None
    left_out: tuple[str, ...] = ()


class RangeTrial(Result, frozen=True):
    """The ranges that calibrators proposed for a tensor, with noise to signal of each.

    Attributes:
        tensor: its name.
        chosen: the calibrator whose range was taken.
        errors: noise to signal at the results of the layers that read it, summed up over them, by
            calibrator.
    """

    tensor: str
    chosen: str
    errors: dict[str, Ratio]


class LayerCounts(Result, frozen=True):
    """Layers on int8, all layers, and those that some SoCs take back to float16."""

    integer: Count
    all: Count
    rolled_back: Count


class QuantBiases(Result, frozen=True):
    """The conventions of biases, read and written.

    Attributes:
        read: None where no layer was int8.
        written: None where no layer is int8.
    """

    read: BiasConvention | None
    written: QuantBias | None


class Quantization(Result, frozen=True, kw_only=True):
    """A file that was written, in the form `ascend` or `qdq`.

    Attributes:
        model: the ONNX file that was read.
        output: the ONNX file that was written.
        data: the file with its weights beside it; None where the model holds them itself.
        form: `ascend` or `qdq`.
        opset: the version of ONNX's operators that the written model imports.
        listed: what the rules of an operator list say of the model that was written.
        counts: numbers of layers, counted from `nodes`.
        nodes: outcomes of layers, and of nodes that have no counterpart.
        bytes_before: size of the model that was read, weights included.
        bytes_after: size of the files written.
        biases: the conventions of biases that were read and written.
        fixed: the nodes that rules rewrote first; None where no rule could apply.
    """

    model: Path
    output: Path
    data: Path | None
    form: Annotated[str, msgspec.Meta(extra_json_schema={"enum": ["ascend", "qdq"]})] = (
        msgspec.field(name="format")
    )
    opset: int
    listed: OtherVerdict = msgspec.field(name="operator_list")
    counts: LayerCounts = msgspec.field(name="layers")
    nodes: tuple[QuantizedNode, ...]
    bytes_before: Count
    bytes_after: Count
    biases: QuantBiases = msgspec.field(name="quant_bias")
    fixed: tuple[FixedNode, ...] | None = msgspec.field(name="_fixed", default=None)

    @property
    def integer_layers(self) -> int:
        """Number of layers on int8."""
        return self.counts.integer

    @property
    def layers(self) -> int:
        """Number of layers."""
        return self.counts.all

    @property
    def rolled_back(self) -> int:
        """Number of layers on int8 that some SoCs take back to float16."""
        return self.counts.rolled_back

    @property
    def read_as(self) -> BiasConvention | None:
        """The convention of the biases that were read; None where no layer was int8."""
        return self.biases.read

    @property
    def written_as(self) -> QuantBias | None:
        """The convention of those that were written; None where no layer is int8."""
        return self.biases.written

    def as_json(self) -> dict[str, object]:
        """The fields as JSON values; `fixed` is left out where no rule could apply."""
        fixed = {} if self.fixed is None else {"fixed": json_values(self.fixed)}
        return {**super().as_json(), **fixed}


def layer_counts(nodes: tuple[QuantizedNode, ...]) -> LayerCounts:
    limit = max(soc.quant_rules.roll_back for soc in socs())
    return LayerCounts(
        integer=sum(node.outcome is Outcome.INTEGER for node in nodes),
        all=sum(node.outcome is not Outcome.KEPT for node in nodes),
        rolled_back=sum(node.channels is not None and node.channels <= limit for node in nodes),
    )


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
        """Number of samples that it was run on; 0 where a record was read."""
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

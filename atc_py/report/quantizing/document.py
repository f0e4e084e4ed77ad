"""The JSON of quantizing a float model as plain values, from which its schema follows."""

from typing import Annotated, TypeAlias

import msgspec

from atc_py.onnx_graph.source import Outcome
from atc_py.system.json_text import json_schema

_Share: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1)]
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
_Outcome: TypeAlias = Annotated[
    str, msgspec.Meta(extra_json_schema={"enum": [each.value for each in Outcome]})
]


class _JsonPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the document; numbers that are infinite or not known are null."""


class BothLanguagesJson(_JsonPart, frozen=True, kw_only=True):
    """A text in English and in Chinese."""

    en: str
    zh: str


class FiguresJson(_JsonPart, frozen=True, kw_only=True):
    """The error of a tensor: cosine, signal to noise in dB, and the share of rows with the same top."""

    cosine: float
    snr: float | None
    top1: _Share | None


class BinsJson(_JsonPart, frozen=True, kw_only=True):
    """The values of a tensor in bins of one width, as shares."""

    low: float
    high: float
    shares: list[_Share]


class CostJson(_JsonPart, frozen=True, kw_only=True):
    """The error that one layer on int8 makes; ratios and gains are in dB."""

    name: str
    data_snr: float | None
    clipped: _Share | None
    result: FiguresJson
    outputs_snr: float | None
    range_gain: float | None
    histogram: BinsJson | None


class PointJson(_JsonPart, frozen=True, kw_only=True):
    """The model with some of its layers in floats."""

    int8: _Count
    floats: list[str]
    outputs: dict[str, FiguresJson]
    reached: bool
    microseconds: float | None


class SearchJson(_JsonPart, frozen=True, kw_only=True):
    """The search for the fewest layers that must stay in floats."""

    target: dict[str, float]
    reached: bool
    order: list[str]
    floats: list[str]
    minimal: bool
    points: list[PointJson]
    trials: _Count


class TimesJson(_JsonPart, frozen=True, kw_only=True):
    """Estimated microseconds on a SoC."""

    soc: str
    float16_us: float
    int8_us: float


class ProofJson(_JsonPart, frozen=True, kw_only=True):
    """Errors and gains that were measured."""

    samples: _Count
    outputs: dict[str, FiguresJson]
    layers: list[CostJson]
    target: SearchJson | None
    device: dict[str, FiguresJson] | None
    speed: TimesJson | None


class LayerJson(_JsonPart, frozen=True, kw_only=True):
    """The numbers of a layer; null where it stays in floats."""

    name: str
    kind: str
    tensor: str
    reason: BothLanguagesJson | None
    low: float | None
    high: float | None
    range_low: float | None
    range_high: float | None
    scale: float | None
    offset: Annotated[int, msgspec.Meta(ge=-128, le=127)] | None
    clipped: _Share | None
    weight_scales: Annotated[list[float], msgspec.Meta(min_length=2, max_length=2)] | None
    weight_sqnr: float | None
    bias_gain: float | None


class BalancedJson(_JsonPart, frozen=True, kw_only=True):
    """A tensor whose channels were balanced; the gain is an estimate in dB."""

    tensor: str
    gain: float
    strength: float


class StepJson(_JsonPart, frozen=True, kw_only=True):
    """A step that was judged by the outputs: what is kept of it, and what it gains in dB."""

    name: str
    parts: _Count
    kept: _Count
    gain: float | None
    whole_gain: float | None
    left_out: list[str]


class TriedJson(_JsonPart, frozen=True, kw_only=True):
    """The ranges that calibrators proposed for a tensor, with noise to signal of each."""

    tensor: str
    chosen: str
    errors: dict[str, float | None]


class NodeJson(_JsonPart, frozen=True, kw_only=True):
    """The outcome of a node of the float model."""

    node: int
    name: str
    operator: str
    outcome: _Outcome
    reason: BothLanguagesJson | None
    channels: int | None


class ListVerdictJson(_JsonPart, frozen=True, kw_only=True):
    """The verdict of an operator list on a file."""

    name: str
    verdict: str
    errors: _Count


class LayerCountsJson(_JsonPart, frozen=True, kw_only=True):
    """Layers on int8, all layers, and those that some SoCs take back to float16."""

    integer: _Count
    all: _Count
    rolled_back: _Count


class BiasReadJson(_JsonPart, frozen=True, kw_only=True):
    """The convention of biases that were read, and how it is known."""

    convention: str
    source: str


class BiasFormsJson(_JsonPart, frozen=True, kw_only=True):
    """The conventions of biases, read and written."""

    read: BiasReadJson | None
    written: str | None


class FileJson(_JsonPart, frozen=True, kw_only=True):
    """A file that was written, in the form `ascend` or `qdq`."""

    model: str
    output: str
    data: str | None
    format: Annotated[str, msgspec.Meta(extra_json_schema={"enum": ["ascend", "qdq"]})]
    opset: int
    operator_list: ListVerdictJson
    layers: LayerCountsJson
    nodes: list[NodeJson]
    bytes_before: _Count
    bytes_after: _Count
    quant_bias: BiasFormsJson


class CalibrationJson(_JsonPart, frozen=True, kw_only=True):
    """The choice of ranges; 0 samples and empty names where a record was read."""

    samples: _Count
    executor: str
    calibrator: str
    seconds: float


class FindingJson(_JsonPart, frozen=True, kw_only=True):
    """A warning or a note."""

    code: str
    name: str
    severity: str
    message: str
    place: dict[str, str | int]
    rule: str | None
    help: str | None
    atc: dict[str, str | None] | msgspec.UnsetType = msgspec.UNSET


class QuantizationDocument(_JsonPart, frozen=True, kw_only=True):
    """Record of quantizing a float model."""

    model: str
    written: list[FileJson]
    calibration: CalibrationJson
    folded_norms: _Count
    balanced: list[BalancedJson]
    steps: list[StepJson]
    ranges: list[TriedJson]
    record: str | None
    layers: list[LayerJson]
    proof: ProofJson | None
    warnings: list[FindingJson]


def quantization_json_schema() -> str:
    """The JSON schema of what `quantize --json` prints for a float model."""
    return json_schema(QuantizationDocument)

"""The schema of the JSON of quantizing a float model, which follows from its result."""

from pathlib import Path

import msgspec

from atc_py.check.findings import OtherVerdict
from atc_py.diag import Diagnostic
from atc_py.onnx_graph.source import BiasConvention, QuantizedNode
from atc_py.results.output_error import ErrorFigures
from atc_py.results.quantization import (
    BalancedTensor,
    CalibrationRun,
    FallBack,
    FallBackPoint,
    FloatQuantization,
    LayerCost,
    LayerCounts,
    QuantBiases,
    Quantization,
    QuantizationProof,
    QuantizedLayerFacts,
    RangeTrial,
    Speed,
    StepGain,
    ValueShares,
)
from atc_py.system.json_text import json_schema
from atc_py.system.structs import DocumentTypes
from atc_py.text import Text


class BothLanguagesJson(msgspec.Struct, forbid_unknown_fields=True):
    """A text in English and in Chinese."""

    en: str
    zh: str


class FindingJson(msgspec.Struct, forbid_unknown_fields=True):
    """A warning or a note."""

    code: str
    name: str
    severity: str
    message: str
    place: dict[str, str | int]
    rule: str | None
    help: str | None
    atc: dict[str, str | None] | msgspec.UnsetType = msgspec.UNSET


_LEAVES = {Path: str, Text: BothLanguagesJson, Diagnostic: FindingJson}

_NAMES = {
    FloatQuantization: "QuantizationDocument",
    Quantization: "FileJson",
    OtherVerdict: "ListVerdictJson",
    LayerCounts: "LayerCountsJson",
    QuantizedNode: "NodeJson",
    QuantBiases: "BiasFormsJson",
    BiasConvention: "BiasReadJson",
    CalibrationRun: "CalibrationJson",
    BalancedTensor: "BalancedJson",
    StepGain: "StepJson",
    RangeTrial: "TriedJson",
    QuantizedLayerFacts: "LayerJson",
    QuantizationProof: "ProofJson",
    ErrorFigures: "FiguresJson",
    LayerCost: "CostJson",
    ValueShares: "BinsJson",
    FallBack: "SearchJson",
    FallBackPoint: "PointJson",
    Speed: "TimesJson",
}
"""Names under which the schema has published the parts."""

_DESCRIPTIONS = {
    OtherVerdict: "The verdict of an operator list on a file.",
    QuantizedNode: "The outcome of a node of the float model.",
}


def quantization_json_schema() -> str:
    """The JSON schema of what `quantize --json` prints for a float model."""
    return json_schema(DocumentTypes(_LEAVES, _NAMES, _DESCRIPTIONS).of(FloatQuantization))

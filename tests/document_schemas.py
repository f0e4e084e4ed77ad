"""JSON schemas of results, which follow from the types of their fields."""

import inspect
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

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
from atc_py.system.json_text import format_json
from atc_py.system.structs import NOT_FINITE
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


class DocumentTypes:
    """Types of the parts of documents, from which their schema follows, by types of results.

    Every field is in a document, and nothing else. An enumeration is a string there, held to its
    values where its annotation says so.
    """

    def __init__(
        self,
        leaves: Mapping[type, Any],
        names: Mapping[Any, str],
        descriptions: Mapping[Any, str],
    ) -> None:
        """Prepare for a document.

        Args:
            leaves: types of what has a form of its own there.
            names: of structs, where they are not those of their classes.
            descriptions: of structs, where they are not the first sentences of their classes.
        """
        self._known = dict(leaves)
        self._names = names
        self._descriptions = descriptions

    def of(self, kind: Any) -> Any:
        """The type in a document of an annotation of a result."""
        origin, inner = get_origin(kind), get_args(kind)
        if origin is None:
            return self._of_class(kind)
        if origin is Annotated:
            parts = (self.of(inner[0]), *inner[1:])
            return parts[0] | None if NOT_FINITE in inner[1:] else Annotated[parts]
        if origin in {Union, UnionType}:
            return Union[tuple(map(self.of, inner))]  # noqa: UP007  (of types known at run time)
        if origin is not tuple:
            return dict[(self.of(inner[0]), self.of(inner[1]))]  # type: ignore[misc]
        items: Any = list[self.of(inner[0])]  # type: ignore[misc]
        if inner[-1] is Ellipsis:
            return items
        return Annotated[items, msgspec.Meta(min_length=len(inner), max_length=len(inner))]

    def _of_class(self, kind: type) -> Any:
        if kind not in self._known and issubclass(kind, msgspec.Struct):
            self._known[kind] = self._struct(kind)
        return self._known.get(kind, str if issubclass(kind, Enum) else kind)

    def _struct(self, kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
        hints = get_type_hints(kind, include_extras=True)
        names = zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True)
        summary = self._descriptions.get(kind, (kind.__doc__ or "").split("\n")[0])
        return msgspec.defstruct(
            self._names.get(kind, kind.__name__),
            [(name, self.of(hints[field])) for name, field in names if not name.startswith("_")],
            namespace={"__doc__": summary},
            kw_only=True,
            forbid_unknown_fields=True,
        )


def json_schema(document: type) -> str:
    """The JSON schema of a class, the same with every version of Python and of msgspec."""
    import msgspec

    schema = msgspec.json.schema(document)
    for part in schema["$defs"].values():
        # Python 3.13 takes the indentation off docstrings, older ones leave it.
        part["description"] = inspect.cleandoc(part["description"])
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return format_json(_with_null_last(whole))


def _with_null_last(schema: Any) -> Any:
    """Put null at the end of alternatives, whose order msgspec changed with 0.22."""
    if isinstance(schema, list):
        return [_with_null_last(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {name: _with_null_last(part) for name, part in schema.items()}
    if isinstance(parts.get("anyOf"), list):
        parts["anyOf"].sort(key=lambda part: part == {"type": "null"})
    return parts


def quantization_types() -> Any:
    """The types of what `quantize --json` prints for a float model."""
    return DocumentTypes(_LEAVES, _NAMES, _DESCRIPTIONS).of(FloatQuantization)

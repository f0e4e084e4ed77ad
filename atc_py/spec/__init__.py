"""Operator specifications: YAML files loaded into frozen values that remember their lines."""

from atc_py.spec.library import ONNX_DOMAINS, IndexEntry, Library, library, specifications
from atc_py.spec.loader import load_spec, parse_spec
from atc_py.spec.model import AttributeSpec, AttributeType, OperandSpec, OpSpec, Target, compressed
from atc_py.spec.rule import Level, Rule, When, stem_of

__all__ = [
    "ONNX_DOMAINS",
    "AttributeSpec",
    "AttributeType",
    "IndexEntry",
    "Level",
    "Library",
    "OpSpec",
    "OperandSpec",
    "Rule",
    "Target",
    "When",
    "compressed",
    "library",
    "load_spec",
    "parse_spec",
    "specifications",
    "stem_of",
]

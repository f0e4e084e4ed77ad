"""What is known of a source model and of ONNX's operator definitions, as plain values.

The front end fills these in; checking reads them. Nothing here knows protobuf.
"""

from atc_py.source.quantized import Outcome, QuantisedNode
from atc_py.source.schema import (
    AttributeSchema,
    FormalParameter,
    OperatorSchema,
    SchemaHistory,
)
from atc_py.source.view import (
    INTERNAL_PREFIX,
    AttributeView,
    InputView,
    Known,
    ModelView,
    NodeView,
    TensorView,
    scope_name,
)

__all__ = [
    "INTERNAL_PREFIX",
    "AttributeSchema",
    "AttributeView",
    "FormalParameter",
    "InputView",
    "Known",
    "ModelView",
    "NodeView",
    "OperatorSchema",
    "Outcome",
    "QuantisedNode",
    "SchemaHistory",
    "TensorView",
    "scope_name",
]

"""What is known of a source model and of ONNX's operator definitions, as plain values.

The front end fills these in; checking reads them. Nothing here knows protobuf.
"""

from atc_py.source.bias_convention import BiasConvention, BiasSource, form_of
from atc_py.source.open_dim import OpenDim
from atc_py.source.quantized import Outcome, QuantizedNode
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
    "BiasConvention",
    "BiasSource",
    "FormalParameter",
    "InputView",
    "Known",
    "ModelView",
    "NodeView",
    "OpenDim",
    "OperatorSchema",
    "Outcome",
    "QuantizedNode",
    "SchemaHistory",
    "TensorView",
    "form_of",
    "scope_name",
]

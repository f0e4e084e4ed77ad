"""The source model and ONNX's operator definitions, as plain values.

The front end fills these in; checking and lowering read them. Nothing here knows protobuf.
"""

from atc_py.onnx_graph.source.model import (
    INTERNAL_PREFIX,
    BiasConvention,
    BiasSource,
    Broken,
    FileGraph,
    OpenDim,
    Outcome,
    QuantizedNode,
    SourceAttr,
    SourceBranch,
    SourceModel,
    SourceNode,
    SourceTensor,
    form_of,
    scope_name,
)
from atc_py.onnx_graph.source.schema import (
    AttributeSchema,
    FormalParameter,
    OperatorSchema,
    SchemaHistory,
)

__all__ = [
    "INTERNAL_PREFIX",
    "AttributeSchema",
    "BiasConvention",
    "BiasSource",
    "Broken",
    "FileGraph",
    "FormalParameter",
    "OpenDim",
    "OperatorSchema",
    "Outcome",
    "QuantizedNode",
    "SchemaHistory",
    "SourceAttr",
    "SourceBranch",
    "SourceModel",
    "SourceNode",
    "SourceTensor",
    "form_of",
    "scope_name",
]

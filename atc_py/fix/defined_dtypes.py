"""Dtypes of a node's inputs, as ONNX defines the operator at the model's opset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.frontend.reading.history import history

if TYPE_CHECKING:
    from atc_py.source import SourceNode

__all__ = ["has_defined_dtypes"]


def has_defined_dtypes(node: SourceNode) -> bool:
    """Return True unless ONNX has no definition of a node's operator for the dtypes of its inputs.

    It has none, either, where an input that is not optional is absent.

    Dtypes that are not known are taken for ones that it has. Operators that ONNX does not have are
    those of other domains, and of onnxruntime, which also has some at older opsets than ONNX does,
    such as LayerNormalization; these are judged by ONNX's first definition.
    """
    versions = () if node.domain else history().versions(node.op_type)
    if not versions:
        return True
    schema = history().at(node.op_type, node.opset) or versions[0]
    shared: dict[str, str] = {}
    for position, tensor in enumerate(node.inputs):
        formal = schema.input_at(position)
        if tensor is None and formal is not None and not formal.optional:
            return False
        if tensor is None or tensor.dtype is None or formal is None:
            continue
        dtype = tensor.dtype.value
        if dtype not in formal.elements:
            return False
        if not formal.variadic and shared.setdefault(formal.type_name, dtype) != dtype:
            return False
    return True

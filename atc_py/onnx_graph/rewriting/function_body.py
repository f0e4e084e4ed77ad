"""Bodies of operators that ONNX defines as functions of others, expanded by onnx's own inliner."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, inliner, numpy_helper

from atc_py.onnx_graph.reading.sparse import dense_array
from atc_py.onnx_graph.rewriting.attribute_protos import attribute_protos
from atc_py.onnx_graph.source import SourceNode


class BodyNode(msgspec.Struct, frozen=True):
    """A node of a body.

    Attributes:
        op_type: its operator.
        inputs: names by position; "" for one that is absent.
        outputs: names by position.
        attributes: by name.
        domain: "" for ONNX's own.
        value: the data of a Constant; None for other operators.
    """

    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    domain: str = ""
    value: NDArray[Any] | None = None


def function_body(node: SourceNode, attributes: Mapping[str, Any]) -> Sequence[BodyNode] | None:
    """The nodes that ONNX defines `node` as, producers first; None where it has no body.

    Nor has it one where an input is absent before another and the body depends on the inputs' types.
    Inputs and outputs of the node keep their names, absent outputs get one.

    Args:
        node: a node of ONNX's own domain, all present inputs of known dtype and rank.
        attributes: those of the node, and the defaults of the others.
    """
    inputs = [tensor.name if tensor is not None else "" for tensor in node.inputs]
    while inputs and not inputs[-1]:
        inputs.pop()
    outputs = [
        tensor.name if tensor is not None else f"{node.op_type}:absent:{position}"
        for position, tensor in enumerate(node.outputs)
    ]
    given = {tensor.name: tensor for tensor in node.inputs if tensor is not None}
    infos = [
        helper.make_tensor_value_info(
            name, onnx.TensorProto.DataType.Value(_element(tensor.element)), tensor.dims
        )
        for name, tensor in given.items()
    ]
    call = helper.make_node(node.op_type, inputs, outputs)
    call.attribute.extend(attribute_protos(attributes))
    graph = helper.make_graph(
        [call], "body", infos, [onnx.ValueInfoProto(name=name) for name in outputs]
    )
    opset = helper.make_opsetid("", node.opset)
    model = helper.make_model(graph, opset_imports=[opset])
    try:
        found = inliner.inline_selected_functions(
            model, [("", node.op_type)], inline_schema_functions=True
        )
    except RuntimeError:
        if "" not in inputs:
            raise
        return None  # onnx's inliner knows no type of an absent input before another
    if any(each.op_type == node.op_type for each in found.graph.node):
        return None
    return [body_node(each) for each in found.graph.node]


def _element(name: str) -> str:
    return {"float32": "FLOAT", "float64": "DOUBLE"}.get(name, name.upper())


def body_node(node: onnx.NodeProto) -> BodyNode:
    """One node as plain values."""
    values = {each.name: _plain(helper.get_attribute_value(each)) for each in node.attribute}
    # Of an empty list ONNX's messages do not keep the type; it means what an absent one does.
    attributes = {name: value for name, value in values.items() if value not in ([], ())}
    value = None
    if node.op_type == "Constant":
        value = _constant(values)
        attributes = {}
    domain = "" if node.domain == "ai.onnx" else node.domain
    return BodyNode(node.op_type, tuple(node.input), tuple(node.output), attributes, domain, value)


def _constant(attributes: Mapping[str, Any]) -> NDArray[Any]:
    ((name, value),) = attributes.items()
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, onnx.SparseTensorProto):
        return dense_array(value)
    return np.asarray(value, np.float32 if name.startswith("value_float") else np.int64)


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value

"""Models of the cases of rules."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

from atc_py.fix.case import CaseGraph, ConstInput, Fed, MadeInput, RuleCase


def write_case(case: RuleCase, path: Path) -> Path:
    """Write the model of `case`: its node alone, its fed inputs, its constants."""
    names, inputs, constants = [], [], []
    for position, each in enumerate(case.inputs):
        name = "" if each is None else f"x{position}"
        names.append(name)
        if isinstance(each, MadeInput):
            names[-1] = each.name
        if isinstance(each, Fed):
            element = helper.np_dtype_to_tensor_dtype(each.dtype.numpy)
            inputs.append(helper.make_tensor_value_info(name, element, each.dims))
        elif isinstance(each, ConstInput):
            constants.append(onnx.numpy_helper.from_array(each.value, name))
    outputs = [f"y{position}" for position in range(case.outputs)]
    attributes = _messages(case.attributes)
    node = helper.make_node(case.op_type, names, outputs, "node", domain=case.domain, **attributes)
    before = graph_of(case.before or CaseGraph({}, (), ()), "before")
    nodes, inputs = [*before.node, node], [*inputs, *before.input]
    graph = helper.make_graph(
        nodes, "case", inputs, [onnx.ValueInfoProto(name=name) for name in outputs], constants
    )
    opsets = [helper.make_opsetid("", 17 if case.domain else case.opset)]
    if case.domain:
        opsets.append(helper.make_opsetid(case.domain, case.opset))
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    if not case.domain:
        model = onnx.shape_inference.infer_shapes(model)
    onnx.save(model, path)
    return path


def _messages(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes whose graphs and arrays are messages."""
    found: dict[str, Any] = {}
    for name, value in attributes.items():
        found[name] = value
        if isinstance(value, CaseGraph):
            found[name] = graph_of(value, name)
        elif isinstance(value, np.ndarray):
            found[name] = onnx.numpy_helper.from_array(value)
    return found


def graph_of(graph: CaseGraph, name: str) -> onnx.GraphProto:
    """Return the message of a graph that is an attribute."""
    inputs = [
        helper.make_tensor_value_info(
            each, helper.np_dtype_to_tensor_dtype(fed.dtype.numpy), fed.dims
        )
        for each, fed in graph.inputs.items()
    ]
    nodes = [
        helper.make_node(op, list(reads), list(writes), **_messages(attributes))
        for op, reads, writes, attributes in graph.nodes
    ]
    outputs = [onnx.ValueInfoProto(name=each) for each in graph.outputs]
    return helper.make_graph(nodes, name, inputs, outputs)

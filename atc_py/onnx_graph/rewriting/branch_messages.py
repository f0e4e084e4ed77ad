"""Branches of an If as ONNX's messages, from graphs that were folded and written in other forms."""

from collections.abc import Collection, Mapping
from io import BytesIO

import onnx

from atc_py.ir import ConstData
from atc_py.onnx_graph.folding.graph import WorkGraph, WorkNode, captured_names
from atc_py.onnx_graph.rewriting.proto_parts import new_tensor
from atc_py.system.structs import replace


def branch_message(
    before: onnx.GraphProto, graph: WorkGraph, captured: Collection[str]
) -> onnx.GraphProto:
    """A branch in its new form.

    Args:
        before: the branch as it was.
        graph: its new form.
        captured: names that the node takes from around it.
    """
    after = onnx.GraphProto(name=before.name, doc_string=before.doc_string)
    after.node.extend(node.proto for node in graph.nodes)
    after.output.extend(before.output)
    made = {name for node in graph.nodes for name in node.writes}
    after.value_info.extend(each for each in before.value_info if each.name in made)
    own = {each.name: each for each in before.initializer}
    for name in sorted(graph.used_names() - made - {*captured}):
        if name in own:
            after.initializer.append(own[name])
        elif name in graph.consts:
            after.initializer.append(_tensor(name, graph.consts[name]))
    return after


def with_branches(node: WorkNode, branches: Mapping[str, onnx.GraphProto]) -> WorkNode:
    """A node with other graphs, by the names of their attributes."""
    proto = onnx.NodeProto()
    proto.CopyFrom(node.proto)
    for attribute in proto.attribute:
        if attribute.name in branches:
            attribute.g.CopyFrom(branches[attribute.name])
    return replace(node, proto=proto, captured=captured_names(proto, node.place))


def _tensor(name: str, const: ConstData) -> onnx.TensorProto:
    data = BytesIO()
    new_tensor(name, const).write(data)
    message = onnx.TensorProto()
    message.ParseFromString(data.getvalue())
    return message

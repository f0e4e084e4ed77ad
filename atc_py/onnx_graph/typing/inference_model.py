"""What onnx's inference is shown of a graph: its nodes, types, and small constants by value."""

from collections.abc import Collection, Mapping

import onnx

from atc_py.ir import ConstData
from atc_py.onnx_graph.folding.graph import ValueType, WorkGraph, WorkNode
from atc_py.onnx_graph.reading.tensors import element_of_dtype
from atc_py.onnx_graph.typing.type_rules import Shown
from atc_py.tensor.shapes import element_count

SMALL = 256
"""Constants of at most so many elements are shown to inference by value: shapes, axes, scales."""

_IR_VERSION = 8
"""From IR version 4 on initializers need not be inputs too, whatever the file's own version."""


def inference_model(
    graph: WorkGraph,
    pinned: Mapping[str, ValueType],
    left_out: Collection[WorkNode],
    shown: Mapping[WorkNode, Shown],
) -> onnx.ModelProto:
    """The graph as a model; large constants are inputs, since only their types matter.

    Nodes whose results are pinned are left out like those in `left_out`, and pinned results are
    inputs, too. The nodes in `shown` are there in that form.
    """
    model = onnx.ModelProto(ir_version=_IR_VERSION)
    model.opset_import.extend(imports(graph.opsets))
    proto = model.graph
    proto.name = "g"
    _write_given(proto, graph, pinned)
    imported = set(graph.opsets)
    for node in graph.nodes:
        # Nobody has looked at the nodes of inner graphs; onnx would infer them along.
        left = node in left_out or node in graph.unsound or node.holds_graphs
        if left or (pinned and any(name in pinned for name in node.writes)):
            continue
        if node in shown:
            proto.node.extend(shown[node].nodes)
            continue
        proto.node.append(node.plain)
        if node.domain not in imported:
            imported.add(node.domain)
            model.opset_import.append(onnx.OperatorSetIdProto(domain=node.domain, version=1))
        if graph.declared:
            proto.value_info.extend(_declared_values(graph, node))
    taken = {value.name for value in proto.value_info}
    given = (graph.consts, graph.inputs, pinned)
    for name in dict.fromkeys(graph.outputs):
        if name not in taken and not any(name in known for known in given):
            proto.output.append(onnx.ValueInfoProto(name=name))
    return model


def _write_given(proto: onnx.GraphProto, graph: WorkGraph, pinned: Mapping[str, ValueType]) -> None:
    """Write inputs and constants, what no node of the model makes."""
    for name, known in (*graph.inputs.items(), *graph.foreign.items(), *pinned.items()):
        proto.input.append(_value_info(name, known))
    for name, const in graph.consts.items():
        if element_count(const.shape) <= SMALL:
            _fill(proto.initializer.add(), name, const)
        else:
            known = ValueType(element_of_dtype(const.dtype), const.shape)
            proto.input.append(_value_info(name, known))


def _declared_values(graph: WorkGraph, node: WorkNode) -> list[onnx.ValueInfoProto]:
    """The file's output types of an operator that ONNX does not define."""
    names = [name for name in node.writes if name in graph.declared]
    if not names or node.schema is not None:
        return []
    return [_value_info(name, graph.declared[name]) for name in names]


def imports(opsets: Mapping[str, int]) -> list[onnx.OperatorSetIdProto]:
    """The operator sets that a model imports."""
    return [onnx.OperatorSetIdProto(domain=d, version=v) for d, v in opsets.items()]


def _value_info(name: str, known: ValueType) -> onnx.ValueInfoProto:
    return onnx.ValueInfoProto(name=name, type=type_proto(known))


def type_proto(known: ValueType) -> onnx.TypeProto:
    """A tensor type; unknown dims get no name, so that none are taken for equal."""
    proto = onnx.TypeProto()
    proto.tensor_type.elem_type = known.element
    if known.dims is not None:
        shape = proto.tensor_type.shape
        shape.SetInParent()
        for extent in known.dims:
            dim = shape.dim.add()
            if extent is not None:
                dim.dim_value = extent
    return proto


def small_tensor(name: str, const: ConstData) -> onnx.TensorProto:
    """A constant with its data."""
    tensor = onnx.TensorProto()
    _fill(tensor, name, const)
    return tensor


def _fill(tensor: onnx.TensorProto, name: str, const: ConstData) -> None:
    """Write a constant with its data into an empty tensor."""
    tensor.name = name
    tensor.data_type = element_of_dtype(const.dtype)
    tensor.dims.extend(const.shape)
    tensor.raw_data = const.numpy().tobytes()

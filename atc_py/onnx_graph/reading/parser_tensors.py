"""Types and places of data that CANN's ONNX parser does not take."""

from collections.abc import Iterator, Sequence

from onnx.onnx_pb import GraphProto, TensorProto

from atc_py.onnx_graph.graph import OnnxNode
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.reading.tensors import TensorReader, element_name
from atc_py.onnx_graph.source import Broken
from atc_py.text import Text, verbatim

_T = TensorProto
_IN_FILE = frozenset(range(_T.FLOAT, _T.BFLOAT16 + 1))
"""Element types of constants with data in the model's file."""

_KNOWN = _IN_FILE | {_T.FLOAT8E4M3FN, _T.FLOAT8E5M2}
"""Element types of inputs, and of constants with data in other files."""


def input_faults(file: OnnxFile) -> Iterator[Broken]:
    """Yield the inputs of the graph that have no type for the parser."""
    for each in file.inputs:
        kind = each.kind or ("" if each.element in {0, *_KNOWN} else element_name(each.element))
        if kind:
            field = Text("input {at}", at=repr(each.name))
            yield _of_type(verbatim(kind), None, field, "")


def tensor_faults(
    file: OnnxFile, proto: GraphProto, nodes: Sequence[OnnxNode], scope: str
) -> Iterator[Broken]:
    """Yield what the parser does not take of a graph's constants.

    `scope` is "" for the model's own graph.
    """
    for tensor in proto.initializer:
        if tensor.data_type not in _IN_FILE or tensor.external_data or tensor.int32_data:
            field = Text("initializer {name}", name=repr(tensor.name))
            yield from _faults(file.tensors, tensor, None, field, scope)
    for node in nodes:
        if node.op_type == "Constant" and not node.domain:
            for attribute in node.proto.attribute:
                if attribute.name == "value":
                    yield from _faults(file.tensors, attribute.t, node, "attribute value", scope)


def _faults(
    tensors: TensorReader, tensor: TensorProto, node: OnnxNode | None, field: str, scope: str
) -> Iterator[Broken]:
    external = tensors.is_external(tensor)
    if tensor.data_type not in (_KNOWN if external else _IN_FILE) and 0 not in tensor.dims:
        yield _of_type(verbatim(element_name(tensor.data_type)), node, field, scope)
    if tensor.int32_data and tensor.data_type != _T.INT32:
        name = element_name(tensor.data_type)
        yield Broken("numbers-one-by-one", node, verbatim(name), scope, (name,), field)
    if not external:
        return
    entries = {str(entry.key): str(entry.value) for entry in tensor.external_data}
    if scope:
        said = entries.get("location", ""), "No such file or directory"
        yield Broken("external-data-in-branch", node, verbatim(said[0]), scope, said, field)
    for key, value in entries.items():
        if key != "location" and not _starts_with_number(value):
            observed = verbatim(f"{key} = {value}")
            yield Broken("external-data-key", node, observed, scope, (value, key, "stol"), field)


def _of_type(kind: Text, node: OnnxNode | None, field: str, scope: str) -> Broken:
    return Broken("element-type", node, kind, scope, (str(kind),), field)


def _starts_with_number(text: str) -> bool:
    """True for what C reads as a number: spaces, a sign, digits, anything."""
    digits = text.lstrip(" \t\n\v\f\r")
    return digits[1:2].isdigit() if digits[:1] in {"+", "-"} else digits[:1].isdigit()


def attribute_faults(nodes: Sequence[OnnxNode], scope: str) -> Iterator[Broken]:
    """Yield the nodes whose data is where the parser does not look."""
    for node in nodes:
        if node.op_type == "Constant" and not node.domain:
            names = [attribute.name for attribute in node.proto.attribute]
            if names and "value" not in names:
                yield Broken("constant-without-value", node, verbatim(names[0]), scope)
        elif node.op_type == "ConstantOfShape" and not node.domain:
            for attribute in node.proto.attribute:
                if is_one_by_one(attribute.t):
                    name = verbatim(element_name(attribute.t.data_type))
                    yield Broken("fill-one-by-one", node, name, scope, field="attribute value")


def is_one_by_one(tensor: TensorProto) -> bool:
    """True for data in a field of protobuf that is not of the element type alone."""
    return bool(tensor.uint64_data or (tensor.int32_data and tensor.data_type != _T.INT32))

"""Attributes of ONNX nodes as plain values."""

from collections.abc import Callable
from contextlib import suppress

from onnx import AttributeProto

from atc_py.diag import AtcError, Place, Sink
from atc_py.diag.codes import BAD_MODEL, UNSUPPORTED_FORM
from atc_py.onnx_graph.folding.graph import WorkNode
from atc_py.onnx_graph.reading.tensors import TensorReader
from atc_py.onnx_graph.reading.text import text_of
from atc_py.onnx_graph.source import SourceAttr
from atc_py.text import Text


def read_attributes(node: WorkNode, tensors: TensorReader, sink: Sink) -> dict[str, SourceAttr]:
    """The attributes that the file sets on `node`, by name; findings go to `sink`.

    BAD_MODEL for attributes set twice or of a type that has no plain form, UNSUPPORTED_FORM for
    subgraphs, BAD_TENSOR and the codes of external data for tensors. The branches of an If are
    left out: they are nodes, not attributes.
    """
    values: dict[str, SourceAttr] = {}
    for attribute in node.proto.attribute:
        if node.is_if and attribute.type == AttributeProto.GRAPH:
            continue
        found = _try_attribute(attribute, tensors, node.place, sink)
        if found is None:
            continue
        name, value = found
        if name in values:
            message = Text("the attribute {name} is set twice", name=repr(name))
            sink.add(BAD_MODEL.diagnostic(message, place=node.place))
        values[name] = value
    return values


def seen_attributes(node: WorkNode, tensors: TensorReader) -> dict[str, SourceAttr]:
    """The attributes that the file sets on `node`; graphs become `<graph>` and so on.

    Never fails: other checks report what is wrong with an attribute, or its value shows it.
    """
    if not node.proto.attribute:
        return {}
    seen: dict[str, SourceAttr] = {}
    for attribute in node.proto.attribute:
        sink = Sink()
        found = _try_attribute(attribute, tensors, node.place, sink)
        if found is None:
            name = attribute.name if isinstance(attribute.name, str) else "?"
            found = name, f"<{attribute_type_name(attribute.type)}>"
        seen[found[0]] = found[1]
    return seen


def numeric_attributes(node: WorkNode) -> dict[str, SourceAttr]:
    """The attributes that are numbers or lists of numbers; the others are left out."""
    return {
        attribute.name: _SIMPLE[attribute.type](attribute)
        for attribute in node.proto.attribute
        if attribute.type in _NUMERIC
    }


def simple_attributes(node: WorkNode) -> dict[str, SourceAttr]:
    """The attributes that are numbers, text or lists of these; other bytes are left out."""
    found: dict[str, SourceAttr] = {}
    for attribute in node.proto.attribute:
        if attribute.type in _SIMPLE:
            with suppress(UnicodeDecodeError):
                found[attribute.name] = _SIMPLE[attribute.type](attribute)
    return found


def _try_attribute(
    attribute: AttributeProto, tensors: TensorReader, place: Place, sink: Sink
) -> tuple[str, SourceAttr] | None:
    """Name and value of one attribute; None after a finding."""
    try:
        name = text_of(attribute.name, place)
        return name, _value(attribute, name, tensors, place)
    except AtcError as error:
        sink.extend(error.diagnostics)
        return None


def _value(attribute: AttributeProto, name: str, tensors: TensorReader, place: Place) -> SourceAttr:
    if attribute.ref_attr_name:
        message = Text(
            "the attribute {name} refers to one of a function, outside any function",
            name=repr(name),
        )
        raise BAD_MODEL.error(message, place=place)
    if attribute.type in _SIMPLE:
        try:
            return _SIMPLE[attribute.type](attribute)
        except UnicodeDecodeError as error:
            message = Text("the attribute {name} is not UTF-8 text", name=repr(name))
            raise BAD_MODEL.error(message, place=place) from error
    if attribute.type == AttributeProto.TENSOR:
        return tensors.const(attribute.t, place)
    if attribute.type in {AttributeProto.GRAPH, AttributeProto.GRAPHS}:
        raise UNSUPPORTED_FORM.error(
            Text("the subgraph {name} would be repeated at run time", name=repr(name)),
            place=place,
            help="export the model with its loops unrolled",
        )
    found = attribute_type_name(attribute.type)
    message = Text(
        "the attribute {name} is of type {actual}, which atc-py cannot hold",
        name=repr(name),
        actual=found,
    )
    raise BAD_MODEL.error(message, place=place)


_SIMPLE: dict[int, Callable[[AttributeProto], SourceAttr]] = {
    AttributeProto.INT: lambda attribute: int(attribute.i),
    AttributeProto.FLOAT: lambda attribute: float(attribute.f),
    AttributeProto.STRING: lambda attribute: attribute.s.decode(),
    AttributeProto.INTS: lambda attribute: tuple(attribute.ints),
    AttributeProto.FLOATS: lambda attribute: tuple(attribute.floats),
    AttributeProto.STRINGS: lambda attribute: tuple(each.decode() for each in attribute.strings),
}
PLAIN = frozenset(_SIMPLE)
"""Types of attributes that are numbers, text or lists of these: values that nothing changes."""

_NUMERIC = _SIMPLE.keys() - {AttributeProto.STRING, AttributeProto.STRINGS}


def attribute_type_name(number: int) -> str:
    """ONNX's name of an attribute type, in small letters."""
    try:
        return str(AttributeProto.AttributeType.Name(number)).lower()
    except ValueError:
        return f"number {number}"

"""Attributes of ONNX nodes as plain values, and nodes against the signature of their operator."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

import msgspec
import numpy as np
from onnx.onnx_cpp2py_export import defs
from onnx.onnx_pb import AttributeProto

from atc_py.diag import BAD_MODEL, UNSUPPORTED_FORM, AtcError, Diagnostic, Place, Sink, nearest
from atc_py.ir import ConstData, DenseConst
from atc_py.onnx_graph.graph import PLAIN_ATTRIBUTES, OnnxNode, schema_at
from atc_py.onnx_graph.reading.nodes import text_of
from atc_py.onnx_graph.reading.tensors import TensorReader, dense_array
from atc_py.onnx_graph.source import INTERNAL_PREFIX, SourceAttr
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_NONE: Mapping[str, SourceAttr] = MappingProxyType({})


def read_attributes(node: OnnxNode, tensors: TensorReader, sink: Sink) -> Mapping[str, SourceAttr]:
    """The attributes that the file sets on `node`, by name; tensors are constants.

    One that has no plain form is its type, `<graph>` for instance, and a finding goes to `sink`:
    BAD_MODEL for attributes set twice or of other types, UNSUPPORTED_FORM for graphs, BAD_TENSOR and
    the codes of external data for tensors. The branches of an If give none: they are nodes.
    """
    written = node.proto.attribute
    if not written:
        return _NONE
    if len(node.plain_attributes) == len(written):
        return node.plain_attributes
    values: dict[str, SourceAttr] = {}
    for attribute in written:
        name = attribute.name if isinstance(attribute.name, str) else "?"
        if node.is_if and attribute.type == AttributeProto.GRAPH:
            values[name] = "<graph>"
            continue
        try:
            value = _value(attribute, text_of(attribute.name, node.place), tensors, node.place)
        except AtcError as error:
            sink.extend(error.diagnostics)
            value = f"<{attribute_type_name(attribute.type)}>"
        if name in values:
            message = Text("the attribute {name} is set twice", name=repr(name))
            sink.add(BAD_MODEL.diagnostic(message, place=node.place))
        values[name] = value
    return values


def _value(attribute: AttributeProto, name: str, tensors: TensorReader, place: Place) -> SourceAttr:
    if attribute.ref_attr_name:
        message = Text(
            "the attribute {name} refers to an attribute of a function, but is not in a function",
            name=repr(name),
        )
        raise BAD_MODEL.error(message, place=place)
    if attribute.type in PLAIN_ATTRIBUTES:
        try:
            return PLAIN_ATTRIBUTES[attribute.type](attribute)
        except UnicodeDecodeError as error:
            message = Text("the attribute {name} is not UTF-8 text", name=repr(name))
            raise BAD_MODEL.error(message, place=place) from error
    if attribute.type == AttributeProto.TENSOR:
        return tensors.const(attribute.t, place)
    if attribute.type in {AttributeProto.GRAPH, AttributeProto.GRAPHS}:
        raise UNSUPPORTED_FORM.error(
            Text("the subgraph {name} would be repeated at run time", name=repr(name)),
            place=place,
            help=Text("export the model with its loops unrolled"),
        )
    kind = attribute_type_name(attribute.type)
    message = Text(
        "the attribute {name} is of type {actual}, which atc-py cannot hold",
        name=repr(name),
        actual=kind,
    )
    raise BAD_MODEL.error(message, place=place)


def constant_of(node: OnnxNode, tensors: TensorReader) -> ConstData | None:
    """The value of a Constant node; None for strings and unsound sparse tensors."""
    for attribute in node.proto.attribute:
        if attribute.name == "value":
            return tensors.const(attribute.t, node.place)
        if attribute.name == "sparse_value":
            try:
                return DenseConst(dense_array(attribute.sparse_tensor))
            except ValueError:
                return None
    for name, dtype in _VALUE_ATTRIBUTES.items():
        if name in node.plain_attributes:
            try:
                return DenseConst(np.array(node.plain_attributes[name], dtype.numpy))
            except (OverflowError, ValueError):
                return None  # a float that is not an integer, under the name for integers
    return None


_VALUE_ATTRIBUTES = {
    "value_float": DType.FLOAT32,
    "value_floats": DType.FLOAT32,
    "value_int": DType.INT64,
    "value_ints": DType.INT64,
}


def attribute_type_name(number: int) -> str:
    """ONNX's name of an attribute type, in small letters."""
    try:
        return str(AttributeProto.AttributeType.Name(number)).lower()
    except ValueError:
        return f"number {number}"


ASCEND_OPERATORS = frozenset(
    {
        "AscendQuant",
        "AscendDequant",
        "AscendRequant",
        "AscendAntiQuant",
        "AscendRequantS16",
        "AscendDequantS16",
    }
)
"""The six operators of Ascend's family."""

INTEGER_LAYERS = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})
"""ONNX's operators that quantized models have on int8 with weights, and int32 sums."""

INTEGER_POOLS = frozenset({"AveragePool"})
"""Those without weights: their result stands for the mean, and AscendDequant reads it."""

_ANY_NUMBER = 2**31 - 1


class _Signature(msgspec.Struct, frozen=True):
    """Inputs, outputs and attributes that a version of an operator takes."""

    fewest: int
    most: int
    attributes: Mapping[str, int]
    outputs: tuple[int, int]
    types: tuple[str, ...]
    repeats: bool
    alike: bool

    def type_of(self, position: int) -> str | None:
        """Type or type variable of the input at `position`; None where each has its own."""
        if self.repeats and position >= len(self.types) - 1:
            return self.types[-1] if self.alike else None
        return self.types[position] if position < len(self.types) else None


def broken_nodes(nodes: Iterable[OnnxNode]) -> dict[OnnxNode, list[Diagnostic]]:
    """The inputs and attributes that ONNX does not define for the operators of nodes."""
    sound: set[tuple[bytes, int, int]] = set()
    broken: dict[OnnxNode, list[Diagnostic]] = {}
    for node in nodes:
        alike = node.stated, len(node.input_names), len(node.output_names)
        if alike in sound:
            continue
        faults = _signature_faults(node)
        if faults:
            broken[node] = faults
        elif node.stated:
            sound.add(alike)
    return broken


def _signature_faults(node: OnnxNode) -> list[Diagnostic]:
    signature = _signature(node.op_type, node.opset) if not node.domain else None
    if signature is None:
        return []
    faults: list[Diagnostic] = []
    for verb, noun, count, (fewest, most) in (
        ("takes", "inputs", len(node.input_names), (signature.fewest, signature.most)),
        ("gives", "outputs", len(node.output_names), signature.outputs),
    ):
        if not fewest <= count <= most:
            wanted = f"{verb} {_range(fewest, most)} {noun}"
            message = Text(
                "{op_type} {wanted} at opset {opset}, found {actual}",
                op_type=node.op_type,
                wanted=wanted,
                opset=node.opset,
                actual=count,
            )
            faults.append(BAD_MODEL.diagnostic(message, place=node.place))
    for attribute in node.proto.attribute:
        name = text_of(attribute.name, node.place)
        if name.startswith(INTERNAL_PREFIX):
            continue
        if name not in signature.attributes:
            faults.append(_unknown_attribute(node, signature, name))
        elif attribute.type != signature.attributes[name]:
            faults.append(_wrong_type(node, signature, attribute))
        elif node.op_type == "GatherND" and attribute.i < 0:
            # onnx's inference would end the process.
            message = Text(
                "{name} of GatherND must be at least 0, found {i}", name=name, i=attribute.i
            )
            faults.append(BAD_MODEL.diagnostic(message, place=node.place))
    return faults


def type_contradiction(node: OnnxNode, dtypes: Sequence[DType | None]) -> Text | None:
    """A sentence on inputs of `node` that must share one type and have two, or None.

    A dtype is None where the input is absent or not known.
    """
    if node.domain or (node.op_type in INTEGER_LAYERS and DType.INT8 in dtypes[:2]):
        return None  # not ONNX, but what quantized models have; the specification judges it
    return _contradiction(node.op_type, node.opset, tuple(dtypes))


@lru_cache(maxsize=4096)
def _contradiction(op_type: str, opset: int, dtypes: tuple[DType | None, ...]) -> Text | None:
    signature = _signature(op_type, opset)
    first: dict[str, tuple[int, DType]] = {}
    for position, dtype in enumerate(dtypes if signature else ()):
        variable = signature.type_of(position) if signature else None
        if dtype is None or variable is None:
            continue
        at, other = first.setdefault(variable, (position, dtype))
        if other is not dtype:
            return Text(
                "inputs {at} and {position} of {op_type} must have the same type, found "
                "{other} and {dtype}",
                at=at,
                position=position,
                op_type=op_type,
                other=other.value,
                dtype=dtype.value,
            )
    return None


def is_optional_output(node: OnnxNode, position: int) -> bool:
    """True if ONNX lets a node leave out its output at `position`."""
    schema = node.schema
    if schema is None or position >= len(schema.outputs):
        return False
    return schema.outputs[position].option is defs.OpSchema.FormalParameterOption.Optional


@lru_cache(maxsize=1024)
def _signature(op_type: str, opset: int) -> _Signature | None:
    """The signature in force at an opset, or None; asking onnx for it takes long."""
    schema = schema_at(op_type, opset)
    if schema is None or schema.deprecated:
        return None
    inputs = list(schema.inputs)
    variadic = defs.OpSchema.FormalParameterOption.Variadic
    repeats = bool(inputs) and inputs[-1].option is variadic
    return _Signature(
        schema.min_input,
        schema.max_input,
        {
            name: AttributeProto.AttributeType.Value(str(row.type).rpartition(".")[2])
            for name, row in schema.attributes.items()
        },
        (schema.min_output, schema.max_output),
        tuple(tensor.type_str for tensor in inputs),
        repeats,
        alike=repeats and inputs[-1].is_homogeneous,
    )


def _range(fewest: int, most: int) -> str:
    if most == _ANY_NUMBER:
        return Text("{fewest} or more", fewest=fewest)
    return str(fewest) if fewest == most else f"{fewest} to {most}"


def _wrong_type(node: OnnxNode, signature: _Signature, attribute: AttributeProto) -> Diagnostic:
    wanted = attribute_type_name(signature.attributes[attribute.name])
    actual = attribute_type_name(attribute.type)
    message = Text(
        "the attribute {attribute} is of type {actual}, ONNX defines {wanted}",
        attribute=repr(attribute.name),
        actual=actual,
        wanted=wanted,
    )
    return BAD_MODEL.diagnostic(message, place=node.place)


def _unknown_attribute(node: OnnxNode, signature: _Signature, name: str) -> Diagnostic:
    near = nearest(name, signature.attributes, 2)
    known = ", ".join(sorted(signature.attributes)) or Text("none")
    hint = (
        Text("did you mean {near}?", near=Text(" or ").join(near))
        if near
        else Text("its attributes are {known}", known=known)
    )
    message = Text(
        "{op_type} has no attribute {name} at opset {opset}",
        op_type=node.op_type,
        name=repr(name),
        opset=node.opset,
    )
    return BAD_MODEL.diagnostic(message, place=node.place, help=hint)

"""Nodes against the signature of their operator: inputs and attributes."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec
import onnx

from atc_py.diag import Diagnostic, Sink
from atc_py.diag.codes import BAD_MODEL
from atc_py.diag.suggestions import nearest
from atc_py.onnx_graph.folding.graph import WorkNode
from atc_py.onnx_graph.reading.attributes import attribute_type_name
from atc_py.onnx_graph.reading.text import text_of
from atc_py.onnx_graph.source import INTERNAL_PREFIX
from atc_py.onnx_graph.typing.rules.quantized import may_be_integer
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

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


def check_signatures(nodes: Iterable[WorkNode], sink: Sink) -> None:
    """Report nodes with inputs or attributes that ONNX does not define for their operator."""
    for node in nodes:
        sink.extend(signature_faults(node))


def signature_faults(node: WorkNode) -> list[Diagnostic]:
    """The inputs and attributes of a node that ONNX does not define for its operator."""
    signature = _signature(node.op_type, node.opset) if not node.domain else None
    if signature is None:
        return []
    faults: list[Diagnostic] = []
    for verb, noun, found, (fewest, most) in (
        ("takes", "inputs", len(node.inputs), (signature.fewest, signature.most)),
        ("gives", "outputs", len(node.outputs), signature.outputs),
    ):
        if not fewest <= found <= most:
            wanted = f"{verb} {_range(fewest, most)} {noun}"
            message = Text(
                "{op_type} {wanted} at opset {opset}, found {actual}",
                op_type=node.op_type,
                wanted=wanted,
                opset=node.opset,
                actual=found,
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


def type_contradiction(node: WorkNode, dtypes: Sequence[DType | None]) -> str | None:
    """A sentence on inputs of `node` that must share one type and have two, or None.

    Args:
        node: the node.
        dtypes: dtype of each input; None where it is absent or not known.
    """
    if node.domain or may_be_integer(node, dtypes):
        return None  # not ONNX, but what quantized models have; the specification judges it
    return _contradiction(node.op_type, node.opset, tuple(dtypes))


@lru_cache(maxsize=4096)
def _contradiction(op_type: str, opset: int, dtypes: tuple[DType | None, ...]) -> str | None:
    """A sentence on inputs of ONNX's own operator that must share one type, or None."""
    signature = _signature(op_type, opset)
    first: dict[str, tuple[int, DType]] = {}
    for position, dtype in enumerate(dtypes if signature else ()):
        variable = signature.type_of(position) if signature else None
        if dtype is None or variable is None:
            continue
        at, other = first.setdefault(variable, (position, dtype))
        if other is not dtype:
            return Text(
                "inputs {at} and {position} of {op_type} must be of one type, found "
                "{other} and {dtype}",
                at=at,
                position=position,
                op_type=op_type,
                other=other.value,
                dtype=dtype.value,
            )
    return None


def is_optional_output(node: WorkNode, position: int) -> bool:
    """True if ONNX lets a node leave out its output at `position`."""
    schema = node.schema
    if schema is None or position >= len(schema.outputs):
        return False
    return schema.outputs[position].option is onnx.defs.OpSchema.FormalParameterOption.Optional


@lru_cache(maxsize=1024)
def _signature(op_type: str, opset: int) -> _Signature | None:
    """The signature in force at an opset, or None; asking onnx for it takes long."""
    try:
        schema = onnx.defs.get_schema(op_type, opset)
    except onnx.defs.SchemaError:
        return None
    if schema.deprecated:
        return None
    inputs = list(schema.inputs)
    variadic = onnx.defs.OpSchema.FormalParameterOption.Variadic
    repeats = bool(inputs) and inputs[-1].option is variadic
    return _Signature(
        schema.min_input,
        schema.max_input,
        {name: _attribute_type(each.type) for name, each in schema.attributes.items()},
        (schema.min_output, schema.max_output),
        tuple(each.type_str for each in inputs),
        repeats,
        alike=repeats and inputs[-1].is_homogeneous,
    )


def _attribute_type(kind: onnx.defs.OpSchema.AttrType) -> int:
    number: int = onnx.AttributeProto.AttributeType.Value(str(kind).rpartition(".")[2])
    return number


def _range(fewest: int, most: int) -> str:
    if most == _ANY_NUMBER:
        return Text("{fewest} or more", fewest=fewest)
    return str(fewest) if fewest == most else f"{fewest} to {most}"


def _wrong_type(
    node: WorkNode, signature: _Signature, attribute: onnx.AttributeProto
) -> Diagnostic:
    wanted = attribute_type_name(signature.attributes[attribute.name])
    found = attribute_type_name(attribute.type)
    message = Text(
        "the attribute {attribute} is of type {actual}, ONNX defines {wanted}",
        attribute=repr(attribute.name),
        actual=found,
        wanted=wanted,
    )
    return BAD_MODEL.diagnostic(message, place=node.place)


def _unknown_attribute(node: WorkNode, signature: _Signature, name: str) -> Diagnostic:
    near = nearest(name, signature.attributes, 2)
    known = ", ".join(sorted(signature.attributes)) or "none"
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

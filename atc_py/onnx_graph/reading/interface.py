"""The interface that an ONNX file declares to programs: inputs, outputs and its own metadata."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import onnx
from onnx import ModelProto, TensorProto, TypeProto, ValueInfoProto

from atc_py.diag import Place
from atc_py.onnx_graph.reading.nodes import text_of

DeclaredDims: TypeAlias = "tuple[int | str | None, ...]"
"""Dims as a file declares them: a name for a symbolic one, None for one without a name."""

UNDEFINED = "tensor(undefined)"
"""Type of a value for which the file states none."""

NO_VERSION = 2**63 - 1
"""Version that onnxruntime states for a model that has none."""

_FIRST_IR_WITH_DEFAULTS = 4
"""IR version since which an initializer may be a default that a program overrides."""

_IR_VERSION, _OPSET = 8, 13
"""Versions of the models that this module makes."""


@dataclass(frozen=True, slots=True)
class DeclaredValue:
    """An input or output."""

    name: str
    type: str  # its type as onnxruntime writes it, such as `tensor(float)`
    dims: DeclaredDims | None  # its dims; None where not even the rank is declared
    denotations: tuple[str, ...] = ()  # the meaning that the file gives each dim, mostly ""


@dataclass(frozen=True, slots=True)
class FileMetadata:
    """Metadata of a model, by onnxruntime's names."""

    producer_name: str = ""
    graph_name: str = ""
    domain: str = ""
    description: str = ""
    graph_description: str = ""
    version: int = NO_VERSION
    custom_metadata_map: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ModelInterface:
    """Declarations of a model."""

    inputs: tuple[DeclaredValue, ...]  # what a program must feed
    outputs: tuple[DeclaredValue, ...]  # what it gets
    # inputs that have a default, an initializer of that name
    overridable: tuple[DeclaredValue, ...]
    metadata: FileMetadata  # what the file says of itself


def interface_of(model: ModelProto, place: Place) -> ModelInterface:
    """The interface of a model as its file declares it; nothing is inferred."""
    graph = model.graph
    initial = {initializer.name for initializer in graph.initializer}
    initial |= {sparse.values.name for sparse in graph.sparse_initializer}
    defaults = [value for value in graph.input if value.name in initial]
    return ModelInterface(
        inputs=_values((value for value in graph.input if value.name not in initial), place),
        outputs=_values(graph.output, place),
        overridable=_values(defaults if model.ir_version >= _FIRST_IR_WITH_DEFAULTS else (), place),
        metadata=_metadata(model),
    )


def _metadata(model: ModelProto) -> FileMetadata:
    """The entries of a file on itself; of two entries of one key, the last counts."""
    entries = {_said(entry.key): _said(entry.value) for entry in model.metadata_props}
    return FileMetadata(
        producer_name=_said(model.producer_name),
        graph_name=_said(model.graph.name),
        domain=_said(model.domain),
        description=_said(model.doc_string),
        graph_description=_said(model.graph.doc_string),
        version=model.model_version if model.HasField("model_version") else NO_VERSION,
        custom_metadata_map=tuple(entries.items()),
    )


def _said(value: str | bytes) -> str:
    """Text that no computation depends on, whatever its bytes are."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _values(protos: Iterable[ValueInfoProto], place: Place) -> tuple[DeclaredValue, ...]:
    return tuple(
        DeclaredValue(
            text_of(value.name, place),
            _type_text(value.type),
            _dims(value.type, place),
            tuple(text_of(dim.denotation, place) for dim in value.type.tensor_type.shape.dim),
        )
        for value in protos
    )


def _dims(type_: TypeProto, place: Place) -> DeclaredDims | None:
    """The dims of a tensor type; negative ones, which some exporters write, are open."""
    tensor = type_.tensor_type
    if not tensor.HasField("shape"):
        return None
    return tuple(
        dim.dim_value
        if dim.HasField("dim_value") and dim.dim_value >= 0
        else text_of(dim.dim_param, place) or None
        for dim in tensor.shape.dim
    )


def _type_text(type_: TypeProto) -> str:
    kind = type_.WhichOneof("value")
    if kind == "sequence_type":
        return f"seq({_type_text(type_.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"optional({_type_text(type_.optional_type.elem_type)})"
    if kind == "map_type":
        key = _element_text(type_.map_type.key_type)
        return f"map({key},{_type_text(type_.map_type.value_type)})"
    if kind == "sparse_tensor_type":
        return f"sparse_tensor({_element_text(type_.sparse_tensor_type.elem_type)})"
    return f"tensor({_element_text(type_.tensor_type.elem_type)})"


def _element_text(number: int) -> str:
    try:
        return str(TensorProto.DataType.Name(number)).lower()
    except ValueError:
        return f"number {number}"


def inputs_alone(inputs: Sequence[DeclaredValue]) -> bytes:
    """A model with inputs of the same names and dims, which it returns as they are."""
    graph = onnx.GraphProto(name="inputs")
    for at, tensor in enumerate(inputs):
        if tensor.dims is None:
            continue
        value = graph.input.add(name=tensor.name)
        value.type.tensor_type.elem_type = TensorProto.FLOAT
        for dim, meant in zip(tensor.dims, tensor.denotations, strict=True):
            made = value.type.tensor_type.shape.dim.add(denotation=meant)
            if isinstance(dim, int):
                made.dim_value = dim
            elif dim:
                made.dim_param = dim
        graph.node.add(op_type="Identity", input=[tensor.name], output=[f"{at} of {tensor.name}"])
        graph.output.add(
            name=f"{at} of {tensor.name}"
        ).type.tensor_type.elem_type = TensorProto.FLOAT
    model = onnx.ModelProto(ir_version=_IR_VERSION, graph=graph)
    model.opset_import.add(domain="", version=_OPSET)
    data: bytes = model.SerializeToString()
    return data

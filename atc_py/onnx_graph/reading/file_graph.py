"""The graph of a file that was read, its nodes and values, and counts of what it holds."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import onnx
from onnx import AttributeProto

from atc_py.diag import Place
from atc_py.onnx_graph.reading.contents import DeclaredInput, declared_input
from atc_py.onnx_graph.reading.nodes import normal_domain
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.reading.tensors import dtype_of_element
from atc_py.onnx_graph.source import FileGraph, SourceModel, SourceNode, SourceTensor
from atc_py.tensor.shapes import Dims, element_count

_MOST_ITEMS, _MOST_TEXT = 16, 200
"""Items of a list and characters of a text that an attribute shows."""


def read_file_graph(path: Path, dims: Mapping[str, Dims]) -> FileGraph:
    """The graph of the model in a file, which is not surveyed for it."""
    return file_graph_of(read_model(path, lenient=True), None, dims)


def file_graph_of(
    file: OnnxFile, model: SourceModel | None, dims: Mapping[str, Dims] | None = None
) -> FileGraph:
    values = {name: SourceTensor(name, "", known) for name, known in (dims or {}).items()}
    values |= ((known.name, known) for known in _values(file, model))
    constants = {_text(tensor.name) for tensor in file.proto.graph.initializer}
    sizes = (values[name].dims for name in file.contents.names if name in values)
    proto = file.proto
    return FileGraph(
        path=file.path,
        name=file.name,
        producer=f"{_text(proto.producer_name)} {_text(proto.producer_version)}".strip(),
        opsets=dict(file.opsets),
        inputs=tuple(declared.name for declared in file.inputs),
        outputs=file.outputs,
        nodes=tuple(
            SourceNode(
                node.index,
                node.name,
                node.op_type,
                node.domain,
                node.opset,
                inputs=tuple(values.get(name, SourceTensor(name, "", None)) for name in node.reads),
                outputs=tuple(
                    values.get(name, SourceTensor(name, "", None)) for name in node.writes
                ),
                attributes={_text(own.name): _attribute_text(own) for own in node.proto.attribute},
            )
            for node in file.nodes
        ),
        values=values,
        constants=frozenset(constants),
        parameters=sum(element_count(dim or 0 for dim in dims) for dims in sizes if dims),
        weight_bytes=file.contents.weight_bytes,
    )


def _text(text: str | bytes) -> str:
    """A text of the file; protobuf returns bytes where it is not UTF-8."""
    return text if isinstance(text, str) else text.decode("utf-8", "backslashreplace")


def _values(file: OnnxFile, model: SourceModel | None) -> Iterator[SourceTensor]:
    """Yield values with what is known of them: as declared, as inferred, and constants."""
    for name, known in file.declared.items():
        yield SourceTensor(name, _element(known.element), known.dims)
    if model is not None:
        ends = [tensor for node in model.all_nodes for tensor in (*node.inputs, *node.outputs)]
        for tensor in filter(None, (*ends, *model.inputs, *model.outputs)):
            yield SourceTensor(tensor.name, tensor.element, tensor.dims)
    for proto in file.proto.graph.initializer:
        yield SourceTensor(_text(proto.name), _element(proto.data_type), tuple(proto.dims))


def _element(number: int) -> str:
    """The name of an element type; "" where atc-py has none for it."""
    dtype = dtype_of_element(number)
    return "" if dtype is None else dtype.value


def _attribute_text(attribute: AttributeProto) -> str:
    """An attribute's value as people write it; of what is long, the beginning."""
    kinds = AttributeProto
    if attribute.type == kinds.INT:
        return str(attribute.i)
    if attribute.type == kinds.FLOAT:
        return f"{attribute.f:g}"
    if attribute.type == kinds.STRING:
        return _bytes_text(attribute.s)
    if attribute.type == kinds.TENSOR:
        return f"{_element(attribute.t.data_type)}[{','.join(map(str, attribute.t.dims))}]"
    if attribute.type == kinds.GRAPH:
        return f"graph of {len(attribute.g.node)} nodes"
    items = {
        kinds.INTS: map(str, attribute.ints[: _MOST_ITEMS + 1]),
        kinds.FLOATS: (f"{number:g}" for number in attribute.floats[: _MOST_ITEMS + 1]),
    }
    texts = map(_bytes_text, attribute.strings[: _MOST_ITEMS + 1])
    shown = [*items.get(attribute.type, texts)]
    return ", ".join(shown[:_MOST_ITEMS]) + (", ..." if len(shown) > _MOST_ITEMS else "")


def _bytes_text(data: bytes) -> str:
    return data[:_MOST_TEXT].decode("utf-8", "backslashreplace")


def operator_counts(file: OnnxFile) -> Counter[tuple[str, str]]:
    """The nodes of each operator, by domain and name, those of subgraphs included."""
    return Counter(
        (normal_domain(node.domain), node.op_type)
        for graph in _graphs(file.proto.graph)
        for node in graph.node
    )


def parameter_count(file: OnnxFile) -> int:
    """The elements of all initializers, those of subgraphs included."""
    return sum(
        math.prod(tensor.dims)
        for graph in _graphs(file.proto.graph)
        for tensor in graph.initializer
    )


def external_tensors(file: OnnxFile) -> Counter[str]:
    """The number of initializers in each file beside the model, by its path."""
    return Counter(
        entry.value
        for graph in _graphs(file.proto.graph)
        for tensor in graph.initializer
        if tensor.data_location == onnx.TensorProto.EXTERNAL
        for entry in tensor.external_data
        if entry.key == "location" and not file.tensors.is_marker(entry.value)
    )


def output_types(file: OnnxFile) -> list[DeclaredInput]:
    place = Place(file=str(file.path))
    return [declared_input(value, place) for value in file.proto.graph.output]


def dtype_name(declared: DeclaredInput) -> str:
    """The dtype of a port, the kind of one that is not a tensor, or an empty text."""
    if declared.kind:
        return declared.kind
    dtype = dtype_of_element(declared.element)
    if dtype is not None:
        return dtype.value
    try:
        name = str(onnx.TensorProto.DataType.Name(declared.element)).lower()
    except ValueError:
        name = str(declared.element)
    return name if declared.element else ""


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    waiting = [graph]
    while waiting:
        inner = waiting.pop()
        yield inner
        for node in inner.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    waiting.append(attribute.g)
                waiting.extend(attribute.graphs)

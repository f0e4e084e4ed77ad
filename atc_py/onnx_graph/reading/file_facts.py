"""Counts of what an ONNX file holds: operators, parameters, ports, files beside it."""

import math
from collections import Counter
from collections.abc import Iterator

import onnx

from atc_py.diag import Place
from atc_py.onnx_graph.folding.graph import normal_domain
from atc_py.onnx_graph.reading.declared import DeclaredInput, declared_input
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.reading.tensors import dtype_of_element


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
    """Return how many initializers each file beside the model holds, by its path."""
    return Counter(
        entry.value
        for graph in _graphs(file.proto.graph)
        for tensor in graph.initializer
        if tensor.data_location == onnx.TensorProto.EXTERNAL
        for entry in tensor.external_data
        if entry.key == "location" and not file.tensors.is_marker(entry.value)
    )


def output_types(file: OnnxFile) -> list[DeclaredInput]:
    """The types that the file states for the graph's outputs."""
    place = Place(file=str(file.path))
    return [declared_input(value, place) for value in file.proto.graph.output]


def dtype_name(declared: DeclaredInput) -> str:
    """The dtype of a port, the kind of one that is not a tensor, or an empty text."""
    if declared.kind:
        return declared.kind
    dtype = dtype_of_element(declared.element)
    if dtype is not None:
        return dtype.value
    return "" if not declared.element else _onnx_name(declared.element)


def _onnx_name(element: int) -> str:
    """ONNX's own name of an element type that no device has, such as `string`."""
    try:
        return str(onnx.TensorProto.DataType.Name(element)).lower()
    except ValueError:
        return str(element)


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    waiting = [graph]
    while waiting:
        each = waiting.pop()
        yield each
        for node in each.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    waiting.append(attribute.g)
                waiting.extend(attribute.graphs)

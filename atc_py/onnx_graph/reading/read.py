"""Reading an ONNX file: mapped, slimmed, parsed, its tensors located, its graph checked."""

import os
from collections.abc import Iterator
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from atc_py.diag import AtcError, Place, Sink
from atc_py.diag.codes import BAD_MODEL, FILE_TOO_LARGE, NOT_ONNX
from atc_py.onnx_graph.folding.graph import ValueType, WorkNode, make_nodes, normal_domain
from atc_py.onnx_graph.reading.contents import locate_contents
from atc_py.onnx_graph.reading.declared import declared_input, type_of_proto
from atc_py.onnx_graph.reading.external import ExternalFiles
from atc_py.onnx_graph.reading.functions import inline_functions
from atc_py.onnx_graph.reading.mapped import MappedFile, open_model_file
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.reading.signatures import signature_faults
from atc_py.onnx_graph.reading.tensors import TensorReader
from atc_py.onnx_graph.reading.text import text_of
from atc_py.onnx_graph.reading.validate import (
    GraphNames,
    check_names,
    check_sizes,
    check_weights,
    sort_nodes,
)
from atc_py.onnx_graph.reading.wire import Slimmed, WireError, WireSizeError, cut_large_data
from atc_py.text import Text, error_text

_SMALLER = "save weights as raw data or as external data; check that it is the intended file"
_ZIP = b"PK\x03\x04"
_HUAWEI = b"IMOD"
_UNZIPPED = "give the ONNX model that it was made from; unpack any other archive first"

_MAX_OPSET = 2**31 - 1
_FIRST_IR_WITH_OPSETS = 3


def read_model(path: Path, *, lenient: bool = False, data: bytes | None = None) -> OnnxFile:
    """The model in the file at `path`; its weights stay where they are.

    Args:
        path: the file.
        data: the model's bytes, if they are not in the file; `path` is its name then, and weights in
            other files are in that folder.
        lenient: keep a model that breaks ONNX's structural rules, as far as it still is a graph;
            what it breaks is then in `faults`.

    Raises:
        AtcError: FILE_NOT_FOUND, FILE_UNREADABLE; NOT_ONNX for bytes that are not a model; BAD_MODEL
            for one that breaks ONNX's structural rules; BAD_TENSOR, EXTERNAL_DATA_MISSING and
            EXTERNAL_DATA_OUTSIDE for its tensors. Findings of one kind come all together.
    """
    file = open_model_file(path) if data is None else MappedFile.holding(data)
    slimmed = _without_large_tensors(file, path)
    # Headers between weights were read, and the system maps a large piece around each.
    file.release(0, file.size)
    model = _parse(slimmed.data, path)
    slimmed.data = b""  # as large as the file where no tensor is
    if not slimmed.cuts:
        file.release(0, file.size)
    file_nodes = len(model.graph.node)
    if model.functions:
        model = inline_functions(model, path)
    tensors = TensorReader(file, slimmed, ExternalFiles(path))
    file_graph = _located_model(model, tensors, path, file_nodes)
    if not lenient:
        file_graph.refuse_faults()
    return file_graph


def _located_model(
    model: onnx.ModelProto, tensors: TensorReader, path: Path, file_nodes: int
) -> OnnxFile:
    place = Place(file=str(path))
    opsets = _opsets(model, path)
    contents = locate_contents(model.graph, tensors, path)
    nodes = make_nodes(model.graph, opsets, path)
    inputs = [declared_input(value, place) for value in model.graph.input]
    outputs = [text_of(value.name, place) for value in model.graph.output]
    sink = Sink()
    names = GraphNames(path, [each.name for each in inputs], contents.names, outputs)
    check_names(names, nodes, sink)
    if not outputs:
        sink.add(BAD_MODEL.diagnostic("the graph has no outputs", place=place))
    broken = {node: found for node in nodes if (found := signature_faults(node))}
    for found in broken.values():
        sink.extend(found)
    check_weights(inputs, contents, place, sink)
    check_sizes(inputs, place, sink)
    initializers = set(contents.names)
    return OnnxFile(
        path=path,
        name=text_of(model.graph.name, place),
        opsets=opsets,
        nodes=tuple(_sorted_nodes(nodes, sink)),
        inputs=tuple(each for each in inputs if each.name not in initializers),
        outputs=tuple(outputs),
        declared=_declared_types(model.graph),
        contents=contents,
        tensors=tensors,
        file_nodes=file_nodes,
        proto=model,
        faults=tuple(sink.errors),
        unsound=frozenset(broken),
    )


def _sorted_nodes(nodes: list[WorkNode], sink: Sink) -> list[WorkNode]:
    """`nodes` with producers first.

    Raises:
        AtcError: BAD_MODEL where they cannot be ordered; what was found before may be the reason,
            and is raised in place of the cycle then.
    """
    try:
        return sort_nodes(nodes)
    except AtcError as error:
        raise AtcError(*(sink.errors or error.diagnostics)) from error


def _declared_types(graph: onnx.GraphProto) -> dict[str, ValueType]:
    stated = ((value.name, type_of_proto(value.type)) for value in _stated_values(graph))
    return {name: known for name, known in stated if known is not None}


def _stated_values(graph: onnx.GraphProto) -> Iterator[onnx.ValueInfoProto]:
    """Yield the values whose types the file states, outputs last."""
    yield from graph.value_info
    yield from graph.output


def _without_large_tensors(file: MappedFile, path: Path) -> Slimmed:
    """The file without its large tensors."""
    if not file.size:
        raise NOT_ONNX.error("the file is empty", place=Place(file=str(path)))
    if file.data[: len(_HUAWEI)] == _HUAWEI:
        raise NOT_ONNX.error(
            "it is an offline model of Huawei's own atc, not an ONNX model",
            place=Place(file=str(path)),
            help="give the ONNX model that it was made from",
        )
    try:
        return cut_large_data(file.data, f"{os.urandom(16).hex()}:")
    except WireSizeError as error:
        raise FILE_TOO_LARGE.error(
            error_text(error), place=Place(file=str(path)), help=_SMALLER
        ) from error
    except WireError as error:
        place = Place(file=str(path))
        if file.data[: len(_ZIP)] == _ZIP:
            message = "it is a zip archive, as offline models are, not a protobuf"
            raise NOT_ONNX.error(message, place=place, help=_UNZIPPED) from error
        raise NOT_ONNX.error(
            Text("it is not a protobuf: {error}", error=error), place=place
        ) from error


def _parse(data: bytes, path: Path) -> onnx.ModelProto:
    """The model whose bytes are `data`."""
    place = Place(file=str(path))
    try:
        model: onnx.ModelProto = onnx.ModelProto.FromString(data)
    except DecodeError as error:
        raise NOT_ONNX.error("protobuf cannot make a model of it", place=place) from error
    if not model.HasField("graph"):
        raise NOT_ONNX.error("it holds no graph", place=place)
    if not model.graph.node and not model.graph.output:
        raise NOT_ONNX.error("its graph has neither nodes nor outputs", place=place)
    if model.ir_version < 1:
        raise NOT_ONNX.error("it does not state its IR version", place=place)
    return model


def _opsets(model: onnx.ModelProto, path: Path) -> dict[str, int]:
    place = Place(file=str(path))
    if model.ir_version < _FIRST_IR_WITH_OPSETS and not model.opset_import:
        return {"": 1}
    if not model.opset_import:
        raise NOT_ONNX.error("it imports no operator set; was it cut short?", place=place)
    opsets: dict[str, int] = {}
    for entry in model.opset_import:
        domain = normal_domain(text_of(entry.domain, place))
        version = entry.version
        if not 1 <= version <= _MAX_OPSET:
            message = Text(
                "operator set versions are 1 or more, found {version} for {domain}",
                version=version,
                domain=repr(domain),
            )
            raise BAD_MODEL.error(message, place=place)
        if opsets.setdefault(domain, version) != version:
            message = Text(
                "operator set {domain} is imported as {opsets} and as {version}",
                domain=repr(domain),
                opsets=opsets[domain],
                version=version,
            )
            raise BAD_MODEL.error(message, place=place)
    return opsets

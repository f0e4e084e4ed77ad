"""Reading an ONNX file: mapped, slimmed, parsed, its tensors located, its graph checked.

The user may choose its ends: results as outputs, other shapes of inputs than the file fixes.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx.onnx_pb import ModelProto

from atc_py.diag import (
    BAD_MODEL,
    FILE_TOO_LARGE,
    NOT_IN_MODEL,
    NOT_ONNX,
    AtcError,
    AtcFault,
    Place,
    Sink,
    nearest_of_many,
)
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.onnx_graph.reading.attributes import broken_nodes
from atc_py.onnx_graph.reading.contents import (
    DeclaredInput,
    check_declared,
    check_names,
    check_weights,
    declared_input,
    locate_contents,
    sort_nodes,
    type_of_proto,
)
from atc_py.onnx_graph.reading.mapped import ExternalFiles, MappedFile, open_model_file
from atc_py.onnx_graph.reading.nodes import distinct, make_nodes, normal_domain, text_of
from atc_py.onnx_graph.reading.onnx_file import OnnxFile, in_deploy_form
from atc_py.onnx_graph.reading.tensors import TensorReader
from atc_py.onnx_graph.reading.wire import Slimmed, WireSizeError, cut_large_data
from atc_py.options.compile_options import CompileOptions
from atc_py.options.input_shapes import OUT_NODES_PLACE, OutNode, out_nodes_error
from atc_py.system.structs import replace
from atc_py.system.wire import WireError
from atc_py.tensor.shapes import Shape
from atc_py.text import Text, error_text

_SMALLER = Text("save weights as raw data or as external data; check that it is the intended file")
_ZIP = b"PK\x03\x04"
_HUAWEI = b"IMOD"
_UNZIPPED = Text("give the ONNX model that it was made from; unpack any other archive first")

_MAX_OPSET = 2**31 - 1
_FIRST_IR_WITH_OPSETS = 3

_NEAREST = 3


def read_model(path: Path, *, lenient: bool = False, data: bytes | None = None) -> OnnxFile:
    """The model in the file at `path`; its weights stay where they are.

    `data` is the model's bytes, if they are not in the file; `path` is its name then, and weights
    in other files are in that folder. If `lenient`, a model that breaks ONNX's structural rules is
    kept as far as it still is a graph, with what it breaks in `faults`.

    An AtcError has FILE_NOT_FOUND, FILE_UNREADABLE; NOT_ONNX for bytes that are not a model;
    BAD_MODEL for one that breaks ONNX's structural rules; BAD_TENSOR, EXTERNAL_DATA_MISSING and
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
    imports = tuple(dict.fromkeys(str(entry.domain) for entry in model.opset_import))
    functions: tuple[str, ...] = ()
    if model.functions:
        from atc_py.onnx_graph.reading.functions import (  # few models have any
            called_functions,
            inline_functions,
        )

        functions = called_functions(model)
        if all(node.domain or node.op_type == "Constant" for node in model.graph.node):
            imports = imports[:1]
        model = inline_functions(model, path)
    tensors = TensorReader(file, slimmed, ExternalFiles(path))
    file_graph = replace(
        _located_model(model, tensors, path, file_nodes), imports=imports, functions=functions
    )
    if not lenient:
        file_graph.refuse_faults()
    return file_graph


def _located_model(
    model: ModelProto, tensors: TensorReader, path: Path, file_nodes: int
) -> OnnxFile:
    place = Place(file=str(path))
    opsets = _opsets(model, path)
    nodes = make_nodes(model.graph, opsets, path)
    contents = locate_contents(model.graph, nodes, tensors, path)
    inputs = [declared_input(value, place) for value in model.graph.input]
    outputs = [text_of(value.name, place) for value in model.graph.output]
    sink = Sink()
    names = [declared.name for declared in inputs]
    check_names(names, contents.names, nodes, outputs, place, sink)
    if not outputs:
        sink.add(BAD_MODEL.diagnostic(Text("the graph has no outputs"), place=place))
    broken = broken_nodes(nodes)
    for faults in broken.values():
        sink.extend(faults)
    check_weights(inputs, contents, place, sink)
    check_declared(inputs, place, sink)
    name, initializers = text_of(model.graph.name, place), set(contents.names)
    try:
        nodes = sort_nodes(nodes)
    except AtcError as error:  # what was found before may be the reason for a cycle
        raise AtcError(*(sink.errors or error.diagnostics)) from error
    stated = [
        (value_info.name, type_of_proto(value_info.type)) for value_info in model.graph.value_info
    ]
    stated += [(value.name, type_of_proto(value.type)) for value in model.graph.output]
    return OnnxFile(
        path=path,
        name=name,
        opsets=opsets,
        nodes=tuple(nodes),
        inputs=tuple(tensor for tensor in inputs if tensor.name not in initializers),
        outputs=tuple(outputs),
        declared={name: known for name, known in stated if known is not None},
        contents=contents,
        tensors=tensors,
        file_nodes=file_nodes,
        proto=model,
        deployed=in_deploy_form(node.proto for node in distinct(nodes)),
        faults=tuple(sink.errors),
        unsound=frozenset(broken),
    )


def _without_large_tensors(file: MappedFile, path: Path) -> Slimmed:
    if not file.size:
        raise NOT_ONNX.error(Text("the file is empty"), place=Place(file=str(path)))
    if file.data[: len(_HUAWEI)] == _HUAWEI:
        raise NOT_ONNX.error(
            Text("it is an offline model of Huawei's own atc, not an ONNX model"),
            place=Place(file=str(path)),
            help=Text("give the ONNX model that it was made from"),
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
            message = Text("it is a zip archive, like an offline model, not a protobuf")
            raise NOT_ONNX.error(message, place=place, help=_UNZIPPED) from error
        raise NOT_ONNX.error(
            Text("it is not a protobuf: {error}", error=error), place=place
        ) from error


def _parse(data: bytes, path: Path) -> ModelProto:
    place = Place(file=str(path))
    try:
        model: ModelProto = ModelProto.FromString(data)
    except DecodeError as error:
        raise NOT_ONNX.error(Text("protobuf cannot make a model of it"), place=place) from error
    if not model.HasField("graph"):
        raise NOT_ONNX.error(Text("it holds no graph"), place=place)
    if not model.graph.node and not model.graph.output:
        raise NOT_ONNX.error(Text("its graph has neither nodes nor outputs"), place=place)
    if model.ir_version < 1:
        raise NOT_ONNX.error(Text("it does not state its IR version"), place=place)
    return model


def _opsets(model: ModelProto, path: Path) -> dict[str, int]:
    place = Place(file=str(path))
    if model.ir_version < _FIRST_IR_WITH_OPSETS and not model.opset_import:
        return {"": 1}
    if not model.opset_import:
        raise NOT_ONNX.error(Text("it imports no operator set; is it truncated?"), place=place)
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


def with_user_ends(file: OnnxFile, options: CompileOptions) -> OnnxFile:
    """`file` with the outputs that options name, and inputs that take the shapes they give.

    NOT_IN_MODEL and BAD_OPTION for outputs that the model does not have.
    """
    file = _with_outputs(file, options.out_nodes)
    if not options.replace_shapes:
        return file
    freed = tuple(
        _freed(declared, options.input_shapes.get(declared.name)) for declared in file.inputs
    )
    # What it states of the types of other values is worth nothing with other shapes.
    return file if freed == file.inputs else replace(file, inputs=freed, declared={})


def _freed(declared: DeclaredInput, given: Shape | None) -> DeclaredInput:
    """An input that takes a shape; None for an input that nobody gives one."""
    if given is None or declared.kind or declared.fits(given) or not declared.dims:
        return declared
    if len(given) != len(declared.dims):
        return replace(declared, dims=None)
    dims = tuple(own if own == dim else "" for own, dim in zip(declared.dims, given, strict=True))
    return replace(declared, dims=dims)


def _with_outputs(file: OnnxFile, wanted: Sequence[OutNode]) -> OnnxFile:
    """`file` with the results `wanted` as its outputs, in their order.

    Nodes that none of them needs go when the model is folded. Inputs stay, as they do with ATC, also
    where nothing reads them any more.
    """
    if not wanted:
        return file
    names = tuple(_tensor(file, entry) for entry in wanted)
    for position, name in enumerate(names):
        if name in names[:position]:
            given = wanted[names.index(name)].text, wanted[position].text
            raise out_nodes_error(
                given[1],
                Text(
                    "{given} and {given_2} are one result, {name}",
                    given=repr(given[0]),
                    given_2=repr(given[1]),
                    name=repr(name),
                ),
            )
    return replace(file, outputs=names)


def _tensor(file: OnnxFile, wanted: OutNode) -> str:
    """The name of the result that an entry means.

    `name:0` is also how some exporters call tensors; such a tensor counts where no node has the name.
    """
    tensors = {name for node in file.nodes for name in node.writes}
    tensors.update(declared.name for declared in file.inputs)
    node = next((inner for inner in file.nodes if inner.name == wanted.name), None)
    if wanted.index is not None and node is not None:
        return _output(node, wanted.index, wanted.text)
    if wanted.text in tensors:
        return wanted.text
    raise _unknown(file, wanted, tensors, node)


def _output(node: OnnxNode, index: int, text: str) -> str:
    if index < len(node.output_names) and node.output_names[index]:
        return node.output_names[index]
    there = ", ".join(
        f"{node.name}:{i} ({name})" for i, name in enumerate(node.output_names) if name
    )
    raise out_nodes_error(
        text,
        Text(
            "{text}: node {node} has the outputs {there}",
            text=repr(text),
            node=repr(node.name),
            there=there,
        ),
        "E10003",
    )


def _unknown(file: OnnxFile, wanted: OutNode, tensors: set[str], node: OnnxNode | None) -> AtcError:
    """That the model has no result of a name, with the nearest ones that it has."""
    known = tensors if wanted.index is None else {inner.name for inner in file.nodes if inner.name}
    kind = Text("tensor") if wanted.index is None else Text("node")
    near = ", ".join(map(repr, nearest_of_many(wanted.name, sorted(known), _NEAREST)))
    help_ = (
        Text("the nearest names are {near}", near=near)
        if near
        else Text("the model has no named {kind}", kind=kind)
    )
    if node is not None:
        help_ = Text(
            "{wanted} is a node; write {wanted_2}:0 for its first output",
            wanted=repr(wanted.name),
            wanted_2=wanted.name,
        )
    return NOT_IN_MODEL.error(
        Text("no {kind} of the model is called {wanted}", kind=kind, wanted=repr(wanted.name)),
        place=OUT_NODES_PLACE,
        help=help_,
        atc=AtcFault("E10016", (wanted.name, "out_nodes")),
    )

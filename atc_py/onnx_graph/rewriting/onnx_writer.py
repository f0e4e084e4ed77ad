"""A working graph back to an ONNX file: parts that were not rewritten are copied unchanged.

A rewrite may fold constants to know the graph as far as it can be. The file should differ from the
one that was read where the rewrite changed it, and nowhere else, so folded nodes come back. Above
protobuf's size limit, or if requested, weights go into one file beside the model.
"""

from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

import onnx
from onnx import GraphProto, ModelProto

from atc_py import __version__
from atc_py.diag import BAD_OPTION, Place
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode, ValueType
from atc_py.onnx_graph.reading.nodes import nodes_within, with_proto
from atc_py.onnx_graph.reading.onnx_file import PRODUCER, OnnxFile
from atc_py.onnx_graph.rewriting.model_message import (
    ModelMessage,
    TensorPart,
    data_path,
    new_tensor,
    node_part,
    stored_tensor,
)
from atc_py.onnx_graph.rewriting.parser_form import in_parser_form, set_raw, used_opsets
from atc_py.system.structs import replace
from atc_py.text import Text

_ALIGNMENT = 64
"""Alignment of tensors in the file beside the model."""

_REWRITTEN = ("node", "initializer", "input", "value_info", "quantization_annotation")
"""Fields of a graph that are not copied unchanged."""

_LEAST_IR = 4
"""Since this IR version initializers need not be inputs, too."""


@dataclass(frozen=True, slots=True)
class Written:
    """Result of writing a model."""

    bytes: int  # size of the model and of the file beside it
    data: Path | None  # the file beside it; None where there is none
    # the graph that it was written from, with the nodes that were written: those of the file are
    # the same, new ones of one name are named apart
    graph: OnnxGraph


@dataclass(slots=True)
class _Unfolding:
    """One walk over a graph."""

    graph: OnnxGraph
    initializers: frozenset[str]
    producers: dict[str, OnnxNode]
    nodes: list[OnnxNode] = field(default_factory=list)
    constants: set[str] = field(default_factory=set)
    there: set[str] = field(default_factory=set)

    def emit(self, node: OnnxNode) -> None:
        self.nodes.append(node)
        self.there.update(node.writes)

    def need(self, name: str) -> None:
        """Provide the value called `name`, if it is a constant."""
        if self._is_computed(name):
            return
        chain = self._chain(name)
        if chain is None:
            self.constants.add(name)
            return
        for node in chain:
            self.constants.update(read for read in node.reads if not self._is_computed(read))
            self.emit(node)

    def _chain(self, name: str) -> list[OnnxNode] | None:
        """Nodes of the file that make a constant, producers first; None if one cannot."""
        if name not in self.producers or name in self.initializers:
            return None
        chain: dict[OnnxNode, None] = {}
        waiting = [(self.producers[name], False)]
        while waiting:
            node, is_ready = waiting.pop()
            if is_ready:
                chain[node] = None
            elif node not in chain:
                if not all(self._is_there(read) for read in node.reads):
                    return None
                waiting.append((node, True))
                waiting += [
                    (self.producers[read], False)
                    for read in node.reads
                    if not self._is_computed(read) and read in self.producers
                ]
        return list(chain)

    def _is_computed(self, name: str) -> bool:
        """True if a value is there already, without a constant."""
        return name in self.there or name in self.graph.inputs

    def _is_there(self, name: str) -> bool:
        """True if a value is there, or may be."""
        known = name in self.initializers or name in self.graph.consts
        return known or self._is_computed(name) or name in self.producers


def write_onnx(  # noqa: PLR0913  (a file and its variations)
    file: OnnxFile,
    graph: OnnxGraph,
    output: Path,
    *,
    external: bool = False,
    gone: Collection[str] = (),
    marks: Mapping[str, str | None] | None = None,
    bound: Collection[str] = (),
    final: Path | None = None,
    replaced: Collection[str] = (),
) -> Written:
    """Write `graph`, which was made from `file`, to the ONNX file `output`.

    Nodes and initializers that nothing needs are left out.

    Args:
        file: what the graph was made from.
        graph: the graph as it has been rewritten.
        output: the file; it appears whole or not at all.
        external: put weights into a file beside the model, however small that is.
        gone: operators that were rewritten; they are not restored as sources of a constant.
        marks: metadata of the model by key, in place of those of the file; None as a value removes the key.
        bound: inputs that have become constants; they are no inputs of the written model.
        final: the path, of the same name, that the file is moved to afterwards; by default `output`.
        replaced: results of nodes that were rewritten, which are not restored either.

    Raises:
        AtcError: CANNOT_WRITE; BAD_OPTION where the file beside the model would replace one of
            the model that was read.
    """
    content = _unfold(file, graph, gone, replaced)
    own = set(file.nodes)
    nodes = in_parser_form(
        list(_named_apart(content.nodes, own)),
        [name for name in graph.inputs if name not in bound],
        lambda: file.types_in_branches(graph),
    )
    written = replace(graph, nodes=nodes, opsets=used_opsets(nodes, graph.opsets))
    message = ModelMessage.of(
        _frame(file.proto, written, marks or {}),
        _graph_frame(file.proto.graph, content, own, frozenset(bound)),
        [node_part(node.proto, file.tensors, node.place) for node in written.nodes],
        list(_initializers(file, graph, content)),
        _ALIGNMENT,
    )
    data = data_path(output) if external or message.is_large else None
    if data is not None:
        _refuse_own_data(file, data_path(final or output))
    return Written(message.save(output, data), data, written)


def _refuse_own_data(file: OnnxFile, data: Path) -> None:
    if data.exists() and any(path.samefile(data) for path in _files_beside(file)):
        raise BAD_OPTION.error(
            Text(
                "the weights would be written to {data}, which holds those of the input model",
                data=data,
            ),
            place=Place(str(data)),
            help=Text("give another output, or one in another folder"),
        )


def bytes_read(file: OnnxFile) -> int:
    """Bytes of the model that was read, and of the files beside it that hold its weights."""
    return sum(path.stat().st_size for path in (file.path, *_files_beside(file)))


def _files_beside(file: OnnxFile) -> list[Path]:
    locations = {
        entry.value
        for tensor in file.proto.graph.initializer
        for entry in tensor.external_data
        if entry.key == "location"
    }
    # A marker for data in the model itself looks like the name of a file that is not there.
    paths = (file.path.parent / location for location in sorted(locations))
    return [path for path in paths if path.exists()]


def _initializers(file: OnnxFile, graph: OnnxGraph, content: _Unfolding) -> Iterator[TensorPart]:
    """Yield the constants that are written, in the file's order, then new ones."""
    weights = file.contents.weights
    done: set[str] = set()
    for tensor in file.proto.graph.initializer:
        name = tensor.name
        if name not in content.constants or name in done:
            continue
        if name in file.contents.foreign or graph.consts.get(name, weights[name]) is weights[name]:
            done.add(name)
            place = Place(str(file.path), field=Text("initializer {name}", name=repr(name)))
            yield stored_tensor(_in_raw_form(tensor), file.tensors, place)
    for name, const in graph.consts.items():
        if name in content.constants and name not in done:
            yield new_tensor(name, const)


def _in_raw_form(tensor: onnx.TensorProto) -> onnx.TensorProto:
    if not tensor.int32_data:
        return tensor
    raw = deepcopy(tensor)
    set_raw(raw)
    return raw


def _frame(proto: ModelProto, graph: OnnxGraph, marks: Mapping[str, str | None]) -> ModelProto:
    frame = deepcopy(proto)
    for name in ("graph", "opset_import", "metadata_props"):
        frame.ClearField(name)
    frame.metadata_props.extend(entry for entry in proto.metadata_props if entry.key not in marks)
    for key, value in marks.items():
        if value is not None:
            frame.metadata_props.add(key=key, value=value)
    for domain, version in graph.opsets.items():
        frame.opset_import.add(domain=domain, version=version)
    frame.ir_version = max(proto.ir_version, _LEAST_IR)
    frame.producer_name, frame.producer_version = PRODUCER, __version__
    return frame


def _graph_frame(
    proto: GraphProto, content: _Unfolding, own: set[OnnxNode], bound: Collection[str]
) -> GraphProto:
    """The graph without nodes, initializers, and inputs that were initializers."""
    frame = deepcopy(proto)
    for name in _REWRITTEN:
        frame.ClearField(name)
    initializers = {tensor.name for tensor in proto.initializer}
    frame.input.extend(
        value
        for value in proto.input
        if value.name not in bound
        and (value.name not in initializers or value.name in content.constants)
    )
    # A rewrite may have given a name to a value of another type.
    same = {name for node in content.nodes if node in own for name in node.writes}
    frame.value_info.extend(value for value in proto.value_info if value.name in same)
    there = same | content.constants
    frame.quantization_annotation.extend(
        annotation
        for annotation in proto.quantization_annotation
        if all(entry.value in there for entry in annotation.quant_parameter_tensor_names)
    )
    return frame


def _named_apart(nodes: list[OnnxNode], own: set[OnnxNode]) -> Iterator[OnnxNode]:
    """Yield the nodes; where several new ones have a name, one keeps it.

    That is the one whose operator had the name in the file. Others get their operator appended.
    """
    taken = {node.name for node in nodes if node in own}
    heirs: dict[str, OnnxNode] = {}
    for node in nodes:
        heir = heirs.get(node.name)
        if node.name not in taken and (heir is None or _is_like(node) > _is_like(heir)):
            heirs[node.name] = node
    taken.update(heirs)
    for node in nodes:
        if node in own or not node.name or heirs.get(node.name) is node:
            yield node
            continue
        base = name = f"{node.name}/{node.op_type}"
        count = 1
        while name in taken:
            count += 1
            name = f"{base}_{count}"
        taken.add(name)
        proto = deepcopy(node.proto)
        proto.name = name
        yield with_proto(node, proto)


def _unfold(
    file: OnnxFile, graph: OnnxGraph, gone: Collection[str] = (), replaced: Collection[str] = ()
) -> _Unfolding:
    """The needed nodes of `graph`, with the folded nodes of `file` restored.

    A node of the file comes back if a constant of the graph is its result and everything that it
    reads exists. Otherwise the constant stays, as do those of operators in `gone` and of results in
    `replaced`, which were written in another form.
    """
    graph.drop_dead_nodes()
    # The file's nodes that the graph no longer has, but for those whose results it computes in
    # another way.
    written = {name for node in graph.nodes for name in node.writes}.union(replaced)
    producers = {
        name: node
        for node in file.nodes
        if (node.domain or node.op_type not in gone) and written.isdisjoint(node.writes)
        for name in node.writes
    }
    work = _Unfolding(graph, frozenset((*file.contents.weights, *file.contents.foreign)), producers)
    for node in graph.nodes:
        for name in node.reads:
            work.need(name)
        work.emit(node)
    for name in graph.outputs:
        work.need(name)
    return work


def _is_like(node: OnnxNode) -> bool:
    """True if a node has the operator of the node that it replaces."""
    return node.op_type == node.place.op_type


def write_with_names(file: OnnxFile, output: Path) -> int:
    """Write `file`, read for this alone, with a name of its own for each node.

    A node without a name, or with one that an earlier node has, gets its operator and a number; the
    messages of `file` are changed. Returned is how many got another name.
    """
    nodes = [*nodes_within(node.proto for node in sorted(file.nodes, key=lambda node: node.index))]
    taken, number, count = {node.name for node in nodes}, 0, 0
    seen = {""}
    for node in nodes:
        if node.name in seen:
            name = f"{node.op_type}_{number}"
            while name in taken:
                number += 1
                name = f"{node.op_type}_{number}"
            node.name = name
            taken.add(name)
            count += 1
        seen.add(node.name)
    inputs = {value.name: ValueType(0, None) for value in file.inputs}
    write_onnx(file, file.graph(inputs), output)
    return count

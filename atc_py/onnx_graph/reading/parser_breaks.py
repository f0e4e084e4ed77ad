"""Rules of CANN's ONNX parser about a whole model, and where a file breaks them.

The parser sees graphs as the file has them: names of nodes, inputs that nodes leave out, domains as
they are spelled. What folding makes of a model does not count.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from onnx.onnx_pb import GraphProto, TensorProto

from atc_py.onnx_graph.graph import OnnxNode
from atc_py.onnx_graph.reading.nodes import all_inner_nodes, distinct, inner_nodes, normal_domain
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.reading.tensors import TensorReader, element_name
from atc_py.onnx_graph.source import Broken, scope_name
from atc_py.text import Text, verbatim

MOST_BYTES = 2**31 - 1
"""Bytes of a file that the parser reads."""


_T = TensorProto
_IN_FILE = frozenset(range(_T.FLOAT, _T.BFLOAT16 + 1))
"""Element types of constants with data in the model's file."""

_KNOWN = _IN_FILE | {_T.FLOAT8E4M3FN, _T.FLOAT8E5M2}
"""Element types of inputs, and of constants with data in other files."""


class _Level(NamedTuple):
    """A graph of the file."""

    nodes: Sequence[OnnxNode]  # in the file's order
    proto: GraphProto
    scope: str  # of its nodes; "" at the top
    # names of its inputs as the parser has them; those of a branch are the values that the branches
    # of its If take from around it
    inputs: Sequence[str]


def broken_rules(file: OnnxFile) -> Iterator[Broken]:
    """Yield what is broken, first what ends the parser first."""
    size = file.tensors.file_bytes
    if size > MOST_BYTES:
        said = str(file.path), str(size), str(MOST_BYTES)
        yield Broken("file-size", observed=verbatim(size), arguments=said)
    whole = _Whole(file)
    if not file.proto.graph.input:
        yield Broken("no-inputs", arguments=("input",))
    yield from whole.imports()
    for function in file.functions:
        yield Broken("function", observed=verbatim(function), arguments=(function, function))
    if file.functions:
        return  # nodes are those of the inlined model, which the parser never sees
    yield from _input_faults(file)
    for level in whole.levels():
        yield from whole.names(level)
        yield from _tensor_faults(file, level.proto, level.nodes, level.scope)
        yield from _attribute_faults(level.nodes, level.scope)
        yield from _omitted(level)
    yield from whole.captures
    yield from _unjoined(file)


class _Whole:
    """A walk over all graphs of a file, in the order of the parser."""

    def __init__(self, file: OnnxFile) -> None:
        self._file = file
        self._unnamed = 0
        self.captures: list[Broken] = []

    def imports(self) -> Iterator[Broken]:
        file = self._file
        # The parser looks for the domain of such nodes among the imports.
        asked = any(not node.proto.domain and node.op_type != "Constant" for node in file.nodes)
        if len(file.imports) > 1 and asked:
            used = {node.domain for node in _all_nodes(file)}
            listed = ", ".join(domain or '""' for domain in file.imports)
            unused = [name for name in file.imports if normal_domain(name) not in used]
            observed = Text("{count}: {names}", count=len(file.imports), names=listed)
            if unused:
                names = ", ".join(name or '""' for name in unused)
                observed += Text(", of which no node uses {names}", names=names)
            count = str(len(file.imports))
            foreign = tuple(sorted(used & {*file.imports} - {""}))
            yield Broken("several-imports", observed=observed, arguments=(count,), foreign=foreign)
        spelled = dict.fromkeys(node.proto.domain for node in _all_nodes(file))
        for domain in spelled:
            if domain and domain not in file.imports:
                node = next(each for each in _all_nodes(file) if each.proto.domain == domain)
                reason = (f"The opset of domain[{domain}] has no version",)
                yield Broken("domain-not-imported", node, verbatim(domain), arguments=reason)

    def levels(self) -> Iterator[_Level]:
        """Yield the graphs, those that stand in others after all that stand as deep or less."""
        file = self._file
        nodes = sorted(file.nodes, key=lambda node: node.index)
        waiting = deque([_Level(nodes, file.proto.graph, "", [each.name for each in file.inputs])])
        while waiting:
            level = waiting.popleft()
            yield level
            for node in level.nodes:
                if node.is_if:
                    waiting.extend(self._branches(level, node))

    def _branches(self, level: _Level, node: OnnxNode) -> Iterator[_Level]:
        graphs = node.graphs
        inner = {
            name: inner_nodes(proto, node, self._file.opsets) for name, proto in graphs.items()
        }
        passed = dict.fromkeys(
            name for at, nodes in inner.items() for name in _taken(nodes, graphs[at])
        )
        for at, nodes in inner.items():
            scope = scope_name(at, node.name, node.index, level.scope)
            branch = _Level(nodes, graphs[at], scope, [name for name in passed if name])
            there = {*passed, *_made(nodes, graphs[at])}
            for each in nodes:
                lost = [name for name in each.captured if name not in there] if each.is_if else []
                if lost:
                    names = verbatim(", ".join(map(repr, lost)))
                    self.captures.append(Broken("capture-of-nested-if", each, names, scope))
            yield branch

    def names(self, level: _Level) -> Iterator[Broken]:
        """Yield the second holder of each name of a graph."""
        taken = set(level.inputs)
        for node in level.nodes:
            name = node.name
            if not name:
                name = f"{node.op_type}_{self._unnamed}"
                self._unnamed += 1
            if name in taken:
                yield Broken("repeated-name", node, verbatim(repr(name)), level.scope, (name,))
            taken.add(name)


def _all_nodes(file: OnnxFile) -> Iterator[OnnxNode]:
    """Yield the nodes of all graphs, of those that state the same one."""
    for node in distinct(file.nodes):
        yield node
        if node.holds_graphs:
            yield from all_inner_nodes(node, file.opsets)


def _made(nodes: Iterable[OnnxNode], proto: GraphProto) -> set[str]:
    made = {tensor.name for tensor in proto.initializer}
    return made.union(*(node.output_names for node in nodes))


def _taken(nodes: Sequence[OnnxNode], proto: GraphProto) -> Iterator[str]:
    """Yield what the nodes of a branch read and it does not make; "" is one name of many."""
    made = _made(nodes, proto)
    yield from (name for node in nodes for name in node.input_names if name not in made)


class Wire(NamedTuple):
    """An omitted input that the parser joins to an omitted output."""

    node: OnnxNode  # the node that omits an input
    input: int  # its position
    source: OnnxNode  # the node that omits an output
    output: int  # the position of that
    is_cyclic: bool  # whether the result of `node` is needed for that of `source`


def wires(nodes: Sequence[OnnxNode]) -> list[Wire] | None:
    """The omitted inputs of a graph with the omitted output that each gets: the last in the file.

    None where no output is omitted, so that omitted inputs stay what they are.
    """
    ends = [node for node in nodes if "" in node.output_names]
    if not ends:
        return None
    source = ends[-1]
    output = _positions(source.output_names)[-1]
    needs = _needs(source, nodes)
    return [
        Wire(node, at, source, output, node in needs)
        for node in nodes
        if "" in node.input_names
        for at in _positions(node.input_names)
    ]


def _needs(node: OnnxNode, nodes: Sequence[OnnxNode]) -> set[OnnxNode]:
    """The nodes that a node depends on, and itself."""
    producers = {name: each for each in nodes for name in each.writes}
    found, waiting = {node}, [node]
    while waiting:
        for name in waiting.pop().reads:
            producer = producers.get(name)
            if producer is not None and producer not in found:
                found.add(producer)
                waiting.append(producer)
    return found


def _omitted(level: _Level) -> Iterator[Broken]:
    """Yield omitted inputs that the parser takes for values."""
    omitting = [node for node in level.nodes if "" in node.input_names]
    if not omitting:
        return
    found = wires(level.nodes)
    if found is None:
        for node in omitting if level.scope else ():
            names = verbatim(", ".join(map(str, _positions(node.input_names))))
            reason = ("Model assigned input node name:  cannot find in graph.",)
            yield Broken("omitted-input-in-branch", node, names, level.scope, reason)
        return
    for wire in found:
        yield _wired(wire, level.scope)


def _wired(wire: Wire, scope: str) -> Broken:
    node, source = wire.node, wire.source
    observed = Text(
        "input {at}, which gets output {position} of {source}",
        at=wire.input,
        position=wire.output,
        source=repr(source.name) if source.name else Text("node {n}", n=source.index),
    )
    if wire.is_cyclic:
        observed += Text(" and so its own result")
    reason = ("the graph has a cycle",)
    return Broken(
        "omitted-output-as-input", node, observed, scope, reason, deviates=not wire.is_cyclic
    )


def _positions(names: Sequence[str]) -> list[int]:
    return [at for at, name in enumerate(names) if not name]


def _unjoined(file: OnnxFile) -> Iterator[Broken]:
    """Yield the outputs of the graph that no chain of nodes, followed either way, joins to an input."""
    reached = {declared.name for declared in file.inputs}
    if not reached:
        return
    for node in file.nodes:
        if not reached.isdisjoint(node.reads):
            reached.update(node.writes)
    if reached.issuperset(file.outputs):
        return
    size = 0
    while len(reached) > size:
        size = len(reached)
        for node in (*file.nodes, *reversed(file.nodes)):
            names = (*node.reads, *node.writes)
            if not reached.isdisjoint(names):
                reached.update(names)
    for name in file.outputs:
        if name not in reached:
            yield Broken(
                "output-without-input", field=Text("output {at}", at=repr(name)), arguments=(name,)
            )


# Types and places of data -----------------------------------------------------------------------


def _input_faults(file: OnnxFile) -> Iterator[Broken]:
    """Yield the inputs of the graph that have no type for the parser."""
    for each in file.inputs:
        kind = each.kind or ("" if each.element in {0, *_KNOWN} else element_name(each.element))
        if kind:
            field = Text("input {at}", at=repr(each.name))
            yield _of_type(verbatim(kind), None, field, "")


def _tensor_faults(
    file: OnnxFile, proto: GraphProto, nodes: Sequence[OnnxNode], scope: str
) -> Iterator[Broken]:
    """Yield what the parser does not take of a graph's constants; `scope` is "" at the top."""
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


def _attribute_faults(nodes: Sequence[OnnxNode], scope: str) -> Iterator[Broken]:
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

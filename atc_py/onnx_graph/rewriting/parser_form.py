"""Nodes in the form that CANN's ONNX parser takes, where ONNX leaves a choice.

Domains are spelled as they are imported, names of nodes are unique, omitted values are not found by
their empty name, Constants have their data in `value`, and outer branches read what inner ones take.
Every file is written so; what has that form stays as it is.
"""

from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    MutableSequence,
    Sequence,
)
from copy import deepcopy
from itertools import count
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import GraphProto, NodeProto, TensorProto, numpy_helper

from atc_py.diag import Place
from atc_py.onnx_graph.graph import OnnxNode, ValueType
from atc_py.onnx_graph.reading.nodes import (
    captured_names,
    inner_names,
    nodes_within,
    normal_domain,
    subgraphs,
    with_proto,
)
from atc_py.onnx_graph.reading.parser_breaks import is_one_by_one
from atc_py.onnx_graph.reading.tensors import dense_array, dtype_of_element
from atc_py.onnx_graph.rewriting.graph_body import renamed_graph
from atc_py.tensor.shapes import Shape

Types = Callable[[], Mapping[str, ValueType]]
_Data = NDArray[Any]
_Types = Mapping[str, ValueType]


def used_opsets(nodes: Iterable[OnnxNode], opsets: Mapping[str, int]) -> dict[str, int]:
    """The imports that nodes, and those within them, need, and ONNX's own."""
    protos = nodes_within(node.proto for node in nodes)
    used = {"", *(normal_domain(proto.domain) for proto in protos)}
    return {domain: version for domain, version in opsets.items() if domain in used}


def in_parser_form(
    nodes: Sequence[OnnxNode], inputs: Collection[str], types: Types
) -> list[OnnxNode]:
    """The nodes of a model, each in the form that the parser takes.

    `nodes` come in the order in which they are written, `inputs` are names of the model's; `types`
    finds the types of values within branches, and is asked where a default needs them.
    """
    return _Form(nodes, inputs, types).nodes()


class _Form:
    def __init__(self, nodes: Sequence[OnnxNode], inputs: Collection[str], types: Types) -> None:
        self._nodes = nodes
        self._inputs = inputs
        self._types = types
        self._taken: set[str] = set()

    def nodes(self) -> list[OnnxNode]:
        level = _Level([node.proto for node in self._nodes], self._inputs)
        for at, node in enumerate(self._nodes):
            if node.is_if:
                for graph in subgraphs(level.own(at)):
                    self._set_branch(graph)
            elif node.proto.domain == "ai.onnx" or _holds_data(node.proto):
                _set_form(level.own(at))
        _name_outputs(level, self._fresh)
        levels = [level, *_inner_levels(level)]
        _name_nodes(levels)
        return [
            node if proto is node.proto or proto == node.proto else with_proto(node, proto)
            for node, proto in zip(self._nodes, level.nodes, strict=True)
        ]

    def _set_branch(self, graph: GraphProto) -> None:
        """Bring a branch into form, the branches in it first."""
        for node in graph.node:
            if _is(node, "If"):
                for inner in subgraphs(node):
                    self._set_branch(inner)
            else:
                _set_form(node)
        for tensor in graph.initializer:
            set_raw(tensor)
        _name_outputs(_Level(list(graph.node), (), own=True), self._fresh)
        for node in graph.node:
            self._give_inputs(graph, node)
        self._hand_on(graph)

    def _give_inputs(self, graph: GraphProto, node: NodeProto) -> None:
        """Give inputs that a node of a branch omits their defaults, where these are known."""
        _cut(node.input)
        if "" not in node.input:
            return
        own = {each.name: ValueType(each.data_type, tuple(each.dims)) for each in graph.initializer}
        for at, value in _default_inputs(node, {**self._types(), **own}).items():
            name = self._fresh(f"{node.name or node.op_type}/input_{at}")
            graph.initializer.append(numpy_helper.from_array(value, name))
            node.input[at] = name

    def _hand_on(self, graph: GraphProto) -> None:
        """Have a branch read what only branches of its own If nodes take from around it."""
        there = {tensor.name for tensor in graph.initializer}
        there.update(*(node.output for node in graph.node), *(node.input for node in graph.node))
        copies: list[NodeProto] = []
        for node in graph.node:
            if not _is(node, "If"):
                continue
            taken = dict.fromkeys(name for inner in subgraphs(node) for name in _captured(inner))
            names = {name: self._fresh(f"{name}/inner") for name in taken if name not in there}
            for inner in subgraphs(node) if names else ():
                inner.CopyFrom(renamed_graph(inner, names, lambda name: name))
            copies += [_identity(name, copy, node.name) for name, copy in names.items()]
        if copies:
            nodes = [*copies, *(deepcopy(node) for node in graph.node)]
            del graph.node[:]
            graph.node.extend(nodes)

    def _fresh(self, base: str) -> str:
        if not self._taken:
            self._taken.update(self._inputs)
            for node in self._nodes:
                self._taken.update(node.reads, node.writes, inner_names(node.proto))
        names = (base if at == 1 else f"{base}_{at}" for at in count(1))
        name = next(name for name in names if name not in self._taken)
        self._taken.add(name)
        return name


class _Level:
    """The nodes of a graph; those of the file are copied before they are changed."""

    def __init__(
        self, nodes: list[NodeProto], inputs: Collection[str], *, own: bool = False
    ) -> None:
        self.nodes = nodes
        self.inputs = inputs  # their names, as the parser has them
        self._own = set(range(len(nodes))) if own else set()

    def own(self, at: int) -> NodeProto:
        """A node that may be changed."""
        if at not in self._own:
            self._own.add(at)
            self.nodes[at] = deepcopy(self.nodes[at])
        return self.nodes[at]


def with_names(
    node: OnnxNode,
    inputs: Mapping[int, str] = MappingProxyType({}),
    outputs: Mapping[int, str] = MappingProxyType({}),
) -> OnnxNode:
    """A node with other names of inputs and outputs, by their positions."""
    proto = deepcopy(node.proto)
    for at, name in inputs.items():
        proto.input[at] = name
    for at, name in outputs.items():
        proto.output[at] = name
    return with_proto(node, proto)


def _is(node: NodeProto, *operators: str) -> bool:
    return node.op_type in operators and not normal_domain(node.domain)


def _holds_data(node: NodeProto) -> bool:
    """True for a node with data that may have another form than the parser's."""
    return _is(node, "Constant", "ConstantOfShape")


def _set_form(node: NodeProto) -> None:
    if node.domain and not normal_domain(node.domain):
        node.ClearField("domain")
    if not _holds_data(node):
        return
    for attribute in node.attribute:
        if attribute.name == "value":
            set_raw(attribute.t)
        elif _is(node, "Constant"):
            tensor = _value_of(attribute)
            attribute.Clear()
            attribute.name, attribute.type = "value", onnx.AttributeProto.TENSOR
            attribute.t.CopyFrom(tensor)


def _value_of(attribute: onnx.AttributeProto) -> TensorProto:
    """The data of a Constant that is in no tensor."""
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, onnx.SparseTensorProto):
        return numpy_helper.from_array(dense_array(value))
    if attribute.name.startswith("value_string"):
        return numpy_helper.from_array(np.asarray(value, np.object_))
    dtype = np.float32 if attribute.name.startswith("value_float") else np.int64
    return numpy_helper.from_array(np.asarray(value, dtype))


def set_raw(tensor: TensorProto) -> None:
    """Give a tensor its data in raw_data where the parser of some release demands it."""
    if is_one_by_one(tensor):
        dims, data_type = list(tensor.dims), tensor.data_type
        raw = numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name)
        if list(raw.dims) == dims and raw.data_type == data_type:
            tensor.CopyFrom(raw)


def _cut(names: MutableSequence[str]) -> None:
    while names and not names[-1]:
        del names[-1]


def _name_outputs(level: _Level, fresh: Callable[[str], str]) -> None:
    """Name the omitted outputs of a graph with omitted inputs, to which they would be joined."""
    omitting = [at for at, node in enumerate(level.nodes) if "" in node.output]
    if not omitting or not any("" in node.input for node in level.nodes):
        return
    for at in omitting:
        node = level.own(at)
        _cut(node.output)
        for position, name in enumerate(node.output):
            if not name:
                node.output[position] = fresh(f"{node.name or node.op_type}/output_{position}")


def _inner_levels(level: _Level) -> Iterator[_Level]:
    """Yield the graphs in the If nodes of a graph, as deep as these are."""
    levels = [level]
    while levels:
        inner = [each for outer in levels for each in _branches(outer)]
        yield from inner
        levels = inner


def _branches(level: _Level) -> Iterator[_Level]:
    for node in level.nodes:
        if _is(node, "If"):
            graphs = list(subgraphs(node))
            passed = {name for graph in graphs for name in _captured(graph)}
            yield from (_Level(list(graph.node), passed, own=True) for graph in graphs)


def _captured(graph: GraphProto) -> tuple[str, ...]:
    holder = onnx.NodeProto(attribute=[onnx.helper.make_attribute("graph", graph)])
    return captured_names(holder, Place())


def _identity(name: str, copy: str, owner: str) -> NodeProto:
    return onnx.NodeProto(op_type="Identity", name=f"{owner}/{copy}", input=[name], output=[copy])


def _name_nodes(levels: Sequence[_Level]) -> None:
    """Make names of nodes unique in each graph; the first holder of a name keeps it.

    The parser names those without a name after their operator and their number among all such nodes;
    where such a name is taken, all of them get names.
    """
    for level in levels:
        names = [node.name for node in level.nodes if node.name]
        if len({*names, *level.inputs}) < len(names) + len(set(level.inputs)):
            _rename(level)
    number = count()
    for level in levels:
        taken = {*level.inputs, *(node.name for node in level.nodes)}
        unnamed = (node for node in level.nodes if not node.name)
        automatic = Counter(f"{node.op_type}_{next(number)}" for node in unnamed)
        if not taken.isdisjoint(automatic):
            break
    else:
        return
    for level in levels:
        taken = {*level.inputs, *(node.name for node in level.nodes)}
        for at, node in enumerate(level.nodes):
            if not node.name:
                level.own(at).name = _free(node.op_type, taken)


def _rename(level: _Level) -> None:
    reserved = {*level.inputs, *(node.name for node in level.nodes)}
    seen = set(level.inputs)
    for at, node in enumerate(level.nodes):
        if node.name in seen:
            level.own(at).name = _free(node.name, reserved)
        elif node.name:
            seen.add(node.name)


def _free(base: str, taken: set[str]) -> str:
    name = next(name for at in count(2) if (name := f"{base}_{at}") not in taken)
    taken.add(name)
    return name


# Defaults of inputs that a node may omit ---------------------------------------------------------


def _default_inputs(node: NodeProto, types: _Types) -> dict[int, _Data]:
    """The defaults of the inputs that a node omits, by position, as far as they are known."""
    given = _OPERATORS.get(node.op_type) if node.domain in {"", "ai.onnx"} else None
    if given is None:
        return {}
    values = given(node, types)
    return {
        at: value
        for at, name in enumerate(node.input)
        if not name and (value := values.get(at)) is not None
    }


def _dtype(node: NodeProto, types: _Types, at: int = 0) -> np.dtype[Any] | None:
    known = types.get(node.input[at]) if at < len(node.input) else None
    dtype = None if known is None else dtype_of_element(known.element)
    return None if dtype is None else np.dtype(dtype.numpy)


def _shape(node: NodeProto, types: _Types, at: int) -> Shape | None:
    known = types.get(node.input[at]) if at < len(node.input) else None
    return None if known is None else known.shape


def _clip(node: NodeProto, types: _Types) -> dict[int, _Data]:
    dtype = _dtype(node, types)
    if dtype is None:
        return {}
    limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return {1: np.asarray(limits.min, dtype), 2: np.asarray(limits.max, dtype)}


def _resize(_node: NodeProto, _types: _Types) -> dict[int, _Data]:
    return {1: np.empty(0, np.float32), 2: np.empty(0, np.float32)}


def _slice(node: NodeProto, types: _Types) -> dict[int, _Data]:
    starts, dtype = _shape(node, types, 1), _dtype(node, types, 1)
    if starts is None or dtype is None:
        return {}
    return {3: np.arange(starts[0], dtype=dtype), 4: np.ones(starts[0], dtype)}


def _pad(node: NodeProto, types: _Types) -> dict[int, _Data]:
    dtype = _dtype(node, types)
    return {} if dtype is None else {2: np.zeros((), dtype)}


_BATCH_FIRST = 1


def _recurrent(node: NodeProto, types: _Types) -> dict[int, _Data]:
    dtype = _dtype(node, types)
    x, w, r = (_shape(node, types, at) for at in range(3))
    if dtype is None or x is None or w is None or r is None:
        return {}
    layout = next((each.i for each in node.attribute if each.name == "layout"), 0)
    steps, batch = (x[1], x[0]) if layout == _BATCH_FIRST else x[:2]
    state = (batch, w[0], r[2]) if layout == _BATCH_FIRST else (w[0], batch, r[2])
    return {
        3: np.zeros((w[0], 2 * w[1]), dtype),
        4: np.full(batch, steps, np.int32),
        5: np.zeros(state, dtype),
        6: np.zeros(state, dtype),
    }


_OPERATORS: Mapping[str, Callable[[NodeProto, _Types], dict[int, _Data]]] = {
    "Clip": _clip,
    "GRU": _recurrent,
    "LSTM": _recurrent,
    "Pad": _pad,
    "RNN": _recurrent,
    "Resize": _resize,
    "Slice": _slice,
}

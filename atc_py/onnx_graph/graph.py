"""The ONNX graph while it is bound, inferred, folded, fixed and quantized: nodes, and values by name."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import msgspec
from onnx.onnx_cpp2py_export import defs
from onnx.onnx_pb import AttributeProto, GraphProto, NodeProto

from atc_py.diag import Diagnostic, Place
from atc_py.ir import ConstData
from atc_py.onnx_graph.source import QuantizedNode, SourceAttr, SourceNode
from atc_py.options.compile_options import QuantBias
from atc_py.system.structs import replace
from atc_py.tensor.shapes import Shape

PLAIN_ATTRIBUTES: Mapping[int, Callable[[AttributeProto], SourceAttr]] = {
    AttributeProto.INT: lambda attribute: int(attribute.i),
    AttributeProto.FLOAT: lambda attribute: float(attribute.f),
    AttributeProto.STRING: lambda attribute: attribute.s.decode(),
    AttributeProto.INTS: lambda attribute: tuple(attribute.ints),
    AttributeProto.FLOATS: lambda attribute: tuple(attribute.floats),
    AttributeProto.STRINGS: lambda attribute: tuple(text.decode() for text in attribute.strings),
}
"""Values by the type of an attribute; tensors and graphs have no plain ones."""

_HOLDING_GRAPHS = frozenset({"If", "Loop", "Scan", "SequenceMap"})

SHARED_BYTES = 1024
"""Bytes of operator and attributes up to which nodes share what follows from them alone."""

VISITS = 150_000
"""Nodes that inferences of a whole graph go through, however often a part of it must wait for
another; then each node is inferred by itself, once, from what is known before it."""

_FEWEST_RUNS = 16
"""Inferences that every graph may have."""

Dims: TypeAlias = "tuple[int | None, ...] | None"


class ValueType(NamedTuple):
    """Known type of a value: ONNX's number of its element type (0: unknown) and dims.

    `dims` is None where not even the rank is known; a dim is None where it is open.
    """

    element: int
    dims: Dims

    @property
    def shape(self) -> Shape | None:
        """The dims where all are known, else None."""
        if self.dims is None or None in self.dims:
            return None
        return tuple(dim for dim in self.dims if dim is not None)


class OnnxNode(SourceNode, frozen=True, eq=False, dict=True, kw_only=True):
    """A node of the ONNX graph: the names that it reads and writes, and what is known of it.

    What `SourceNode` has beside the operator is there once the graph is folded: values, all
    attributes, branches. Nodes are equal if they are one node of the file, or one that a rewrite
    made, however much is known of each.
    """

    proto: NodeProto
    input_names: tuple[str, ...]  # by position; "" for one that is absent
    output_names: tuple[str, ...]  # by position; "" for one that is not asked for
    captured: tuple[str, ...]  # names that its subgraphs take from around them
    origin: Place | str  # the file, or the place that it has there under another name or operator
    # operator and attributes as bytes, which nodes share; empty where they are long, or in a domain
    stated: bytes = b""

    @property
    def place(self) -> Place:
        """Its place in the file, or that of the node in whose place a rewrite made it."""
        if isinstance(self.origin, str):
            return Place(self.origin, self.index, self.name, self.op_type)
        return self.origin

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OnnxNode) and other.proto is self.proto

    def __hash__(self) -> int:
        return id(self.proto)

    @property
    def reads(self) -> tuple[str, ...]:
        """The names that it needs, without absent inputs."""
        inputs = (
            tuple(filter(None, self.input_names)) if "" in self.input_names else self.input_names
        )
        return inputs + self.captured if self.captured else inputs

    @property
    def writes(self) -> tuple[str, ...]:
        return (
            tuple(filter(None, self.output_names)) if "" in self.output_names else self.output_names
        )

    @property
    def plain_attributes(self) -> Mapping[str, SourceAttr]:
        """Its attributes that are numbers, text or lists of these, by name.

        Those that refer to an attribute of a function, or are no UTF-8, are left out.
        """
        return _shared_values(self.stated) if self.stated else self._own_values

    @cached_property
    def _own_values(self) -> Mapping[str, SourceAttr]:
        return _plain_values(self.proto)

    def input_name(self, position: int) -> str:
        """The name of an input; "" where it is absent."""
        return self.input_names[position] if position < len(self.input_names) else ""

    def integer(self, name: str, default: int = 0) -> int:
        """An attribute; `default` where it is absent or no integer."""
        value = self.plain_attributes.get(name)
        return value if isinstance(value, int) else default

    def number(self, name: str, default: float) -> float:
        """An attribute; `default` where it is absent or no number."""
        value = self.plain_attributes.get(name)
        return value if isinstance(value, int | float) else default

    def text(self, name: str, default: str) -> str:
        """An attribute; `default` where it is absent or no text."""
        value = self.plain_attributes.get(name)
        return value if isinstance(value, str) else default

    def integers(self, name: str) -> tuple[int, ...]:
        """An attribute; empty where it is absent or no list of integers."""
        value = self.plain_attributes.get(name)
        items = value if isinstance(value, tuple) else ()
        return tuple(item for item in items if isinstance(item, int))

    @property
    def graphs(self) -> dict[str, GraphProto]:
        """The graphs that it holds, by the names of their attributes."""
        return {
            attribute.name: attribute.g
            for attribute in self.proto.attribute
            if attribute.HasField("g")
        }

    @property
    def plain(self) -> NodeProto:
        """The node with ONNX's own domain spelled "", which every function of onnx accepts."""
        if self.proto.domain == self.domain:
            return self.proto
        plain = deepcopy(self.proto)
        plain.domain = self.domain
        return plain

    @property
    def holds_graphs(self) -> bool:
        """True if it is one of ONNX's operators that choose or repeat graphs at run time."""
        return not self.domain and self.op_type in _HOLDING_GRAPHS

    @property
    def is_if(self) -> bool:
        return not self.domain and self.op_type == "If"

    @property
    def schema(self) -> defs.OpSchema | None:
        """ONNX's definition in force at the node's opset, or None."""
        return schema_at(self.op_type, self.opset, self.domain)


def _plain_values(node: NodeProto) -> Mapping[str, SourceAttr]:
    values: dict[str, SourceAttr] = {}
    for attribute in node.attribute:
        if attribute.type in PLAIN_ATTRIBUTES and not attribute.ref_attr_name:
            with suppress(UnicodeDecodeError):
                values[attribute.name] = PLAIN_ATTRIBUTES[attribute.type](attribute)
    return MappingProxyType(values)


@lru_cache(maxsize=1 << 14)
def _shared_values(stated: bytes) -> Mapping[str, SourceAttr]:
    """The plain attributes of all nodes that state the same."""
    return _plain_values(NodeProto.FromString(stated))


@lru_cache(maxsize=1024)
def schema_at(op_type: str, opset: int, domain: str = "") -> defs.OpSchema | None:
    """ONNX's definition in force at an opset, or None."""
    try:
        return defs.get_schema(op_type, opset, domain)
    except defs.SchemaError:
        return None


class Links:
    """Producers and uses of the values of some nodes."""

    def __init__(self, nodes: list[OnnxNode]) -> None:
        self.nodes = nodes
        self.producers = {name: node for node in nodes for name in node.writes}
        self.uses: dict[str, list[OnnxNode]] = {}
        for node in nodes:
            for name in node.reads:
                self.uses.setdefault(name, []).append(node)


def nodes_for(
    nodes: Sequence[OnnxNode], values: Iterable[str], known: Container[str] = ()
) -> tuple[list[OnnxNode], set[str]]:
    """The nodes that values depend on, in order, and all names that they need.

    A node all of whose needed results are `known` is left out.
    """
    needed, kept = set(values), []
    for node in reversed(nodes):
        for name in node.writes:
            if name in needed and name not in known:
                kept.append(node)
                needed.update(node.reads)
                break
    return kept[::-1], needed


class OnnxGraph(msgspec.Struct, eq=False):
    """A graph whose nodes refer to values by name."""

    path: Path  # the model's file
    opsets: Mapping[str, int]  # imported version of each domain
    nodes: list[OnnxNode]  # producers first; a graph that changes gets another list
    # types of the inputs, in the file's order; initializers are not among them
    inputs: dict[str, ValueType]
    outputs: tuple[str, ...]
    consts: dict[str, ConstData]  # values that are known
    # types of initializers that are there but cannot be held (strings for instance)
    foreign: dict[str, ValueType] = msgspec.field(default_factory=dict)
    # types that the file itself states for values
    declared: dict[str, ValueType] = msgspec.field(default_factory=dict)
    # types by inference, as far as it came
    types: dict[str, ValueType] = msgspec.field(default_factory=dict)
    # kinds of the values that are not tensors: sequence, map, optional ...
    kinds: dict[str, str] = msgspec.field(default_factory=dict)
    # of tensors that are others of the file in another form (codes, an axis of 1 more), the names
    # that those have there
    held: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    # types of results that inference cannot work out, found by other means
    pinned: dict[str, ValueType] = msgspec.field(default_factory=dict)
    # nodes that break ONNX's definition; they are neither inferred nor folded
    unsound: frozenset[OnnxNode] = frozenset()
    runs: int = 0  # how often the whole graph has been inferred, which is bounded
    always_runs: bool = True  # whether its nodes run in every run; those of a branch need not
    # the convention of biases of int8 layers, of those of the file and of new ones
    quant_bias: QuantBias = QuantBias.UNFOLDED
    _links: Links | None = None

    def producer(self, name: str) -> OnnxNode | None:
        """The node that makes a value; None for inputs and for constants of the file."""
        return self._linked().producers.get(name)

    def uses(self, name: str) -> Sequence[OnnxNode]:
        """The nodes that read a value, as often as they do, graphs inside of a node once."""
        return self._linked().uses.get(name, ())

    def is_read_once(self, name: str) -> bool:
        """True if one node alone needs a value."""
        return len(self.uses(name)) == 1 and name not in self.outputs

    def _linked(self) -> Links:
        if self._links is None or self._links.nodes is not self.nodes:
            self._links = Links(self.nodes)
        return self._links

    @property
    def may_run(self) -> bool:
        """True if the whole graph may be inferred once more."""
        return self.runs < _FEWEST_RUNS or self.runs * len(self.nodes) <= VISITS

    def copied(self) -> "OnnxGraph":
        """A graph that may be rewritten: its nodes and data are shared, its lists are its own."""
        return replace(
            self,
            nodes=[*self.nodes],
            inputs={**self.inputs},
            consts={**self.consts},
            foreign={**self.foreign},
            declared={**self.declared},
            types={**self.types},
            kinds={**self.kinds},
            pinned={**self.pinned},
        )

    def used_names(self) -> set[str]:
        """Names that nodes or the graph's outputs need."""
        used = set(self.outputs)
        for node in self.nodes:
            used.update(node.reads)
        return used

    def drop_dead_nodes(self) -> None:
        """Remove the nodes that no output of the graph depends on, and their constants."""
        self.nodes, needed = nodes_for(self.nodes, self.outputs, self.consts)
        self.consts = {name: const for name, const in self.consts.items() if name in needed}

    def static_shape(self, name: str) -> Shape | None:
        """The shape of the value called `name` where it is known."""
        if name in self.consts:
            return self.consts[name].shape
        known = self.types.get(name) or self.inputs.get(name) or self.foreign.get(name)
        return known.shape if known else None


class FoldedGraph(msgspec.Struct, frozen=True, eq=False):
    """A graph that is folded and inferred as far as it can be."""

    graph: OnnxGraph
    # by the If nodes that are left
    branches: dict[OnnxNode, tuple["Branch", ...]] = msgspec.field(default_factory=dict)
    faults: tuple[Diagnostic, ...] = ()  # what is wrong with the graph and its branches
    # what became of the quantized layers of branches, which are imported on the way
    quantized: tuple[QuantizedNode, ...] = ()
    # those faults that show only in runs that take a branch: shapes or types that contradict each
    # other inside of it
    chosen: tuple[Diagnostic, ...] = ()


class Branch(msgspec.Struct, frozen=True, eq=False):
    """A branch of an If node."""

    name: str  # the attribute that holds it
    folded: FoldedGraph

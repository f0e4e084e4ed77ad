"""Graphs in files of Huawei's atc: ops with their operands, and the description of a model."""

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from atc_py.package.ge.messages import GeNamed, GeTensorDesc

CONTROL = -1
"""Index of an edge that orders ops and carries no tensor."""


class GeEdge(NamedTuple):
    """An input of an op: the op that makes it, and its output there; CONTROL for order alone."""

    producer: str
    output: int


class GeOperand(NamedTuple):
    """An input of an op that carries a tensor."""

    name: str  # of the input in the operator, as `x` or `filter`; empty where the file does not say
    edge: GeEdge | None  # where it comes from; None of an optional input that is not there
    desc: GeTensorDesc
    is_constant: bool  # whether it is read from the weights
    # in the arena, or of a constant in the weights; None of an input that is not there
    offset: int | None


class GeOp(GeNamed):
    """An op of the graph: a launch, a constant, an input, or the node that takes the outputs."""

    kind = "OpDef"

    @cached_property
    def type(self) -> str:
        """CANN's operator."""
        return self._text("type")

    @property
    def id(self) -> int:
        """Its number, by which tasks name it."""
        return self._number("id")

    @cached_property
    def edges(self) -> tuple[GeEdge | None, ...]:
        """Its inputs in order, None for an absent one; the last may be of order alone."""
        return tuple(map(_edge, self._texts("input")))

    @cached_property
    def inputs(self) -> tuple[GeTensorDesc, ...]:
        """Descriptors of the inputs, those of absent ones included."""
        return self._descriptors("input_desc")

    @cached_property
    def outputs(self) -> tuple[GeTensorDesc, ...]:
        return self._descriptors("output_desc")

    @property
    def output_offsets(self) -> tuple[int, ...]:
        return self._numbers("output_i")

    @property
    def workspace(self) -> tuple[int, ...]:
        return self._numbers("workspace_bytes")

    @property
    def subgraphs(self) -> tuple[str, ...]:
        return self._texts("subgraph_name")

    def operands(self) -> tuple[GeOperand, ...]:
        """The inputs that carry tensors; absent ones have an empty text and no offset."""
        edges = [edge for edge in self.edges if edge is None or edge.output != CONTROL]
        names = self._input_names()
        constant = self._numbers("is_input_const")
        offsets = iter(self._numbers("input_i"))
        operands = []
        for at, (edge, desc) in enumerate(zip(edges, self.inputs, strict=False)):
            offset = None if edge is None else next(offsets, None)
            is_constant = at < len(constant) and bool(constant[at])
            name = names[at] if at < len(names) else ""
            operands.append(GeOperand(name, edge, desc, is_constant, offset))
        return tuple(operands)

    def _descriptors(self, name: str) -> tuple[GeTensorDesc, ...]:
        return tuple(GeTensorDesc(self.source, self.names, span) for span in self._spans(name))

    def _input_names(self) -> tuple[str, ...]:
        """Names of the inputs by position: by the numbers of an attribute, or of the message."""
        keys = self.attributes.texts("_input_name_key")
        pairs = zip(self.attributes.numbers("_input_name_value"), keys, strict=False)
        return tuple(name for _, name in sorted(pairs)) or self._texts("input_name")


_WEIGHT = 10
"""Fields that take as much memory as an op."""


class GeGraph(GeNamed):
    """A graph: the main one, or one that an op runs."""

    kind = "GraphDef"

    @cached_property
    def ops(self) -> tuple[GeOp, ...]:
        spans = self._spans("op")
        self.source.spend(_WEIGHT * len(spans))
        return tuple(GeOp(self.source, self.names, span) for span in spans)

    @cached_property
    def by_name(self) -> Mapping[str, GeOp]:
        """The ops by name, the first of several of one name."""
        named: dict[str, GeOp] = {}
        for op in self.ops:
            named.setdefault(op.name, op)
        return named


class GeModelDef(GeNamed):
    """The description of a model."""

    kind = "ModelDef"

    @cached_property
    def graphs(self) -> tuple[GeGraph, ...]:
        """The main graph, then those that ops run."""
        return tuple(GeGraph(self.source, self.names, span) for span in self._spans("graph"))


def _edge(text: str) -> GeEdge | None:
    """The edge that an input's text names; None for the empty text of an absent one."""
    producer, colon, index = text.rpartition(":")
    if not colon or not index.removeprefix("-").isdecimal():
        return GeEdge(text, 0) if text else None
    return GeEdge(producer, int(index[:10]))

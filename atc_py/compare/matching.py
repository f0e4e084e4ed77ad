"""Matching of the device's results with the values of the original.

A target node carries the original nodes that it came from, and its result the values of the
original that it was made to be; once it leaves the nodes made of the last of them, it is that
node's value, if it is one. TransData, and a Cast between dtypes of one kind, pass on the value that
they read. All other results are intermediate steps, which the original does not have.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from atc_py.onnx_graph.graph import OnnxNode
from atc_py.package.schema import AIPP, OmModel, OmNode, OmOrigin
from atc_py.package.stored_types import TRANS_DATA
from atc_py.results.layer_comparison import Alone
from atc_py.tensor.dtypes import DType

_THROUGH = frozenset({"Cast", TRANS_DATA})
"""Operators that were inserted to pass on a value in another form."""

_QUANTIZING = frozenset({"AscendAntiQuant", "AscendDequant", "AscendQuant"})
"""Operators that quantized models of other tools are rewritten to.

The origin of such a node has the place and the name of the original's node, not its operator.
"""

_CHOOSING = frozenset({"If"})
"""Operators whose graphs have the index of the node that holds them."""


@dataclass(frozen=True, slots=True)
class Matching:
    """The values that both sides have."""

    values: Mapping[int, str]  # name of the original's value by the position of the device's tensor
    producer: Mapping[int, int]  # position of the node that makes a tensor
    device_alone: tuple[Alone, ...]  # results of the device without a counterpart
    original_alone: tuple[Alone, ...]  # nodes of the original without one


def match(model: OmModel, sources: Sequence[OnnxNode], inputs: Sequence[str]) -> Matching:
    """Match the results of `model` with those of `sources`, the original's nodes in its order."""
    return _Matcher(model, sources, inputs).match()


class _Matcher:
    """Matcher of results: walks once from the last node, for what leaves, and once from the first."""

    def __init__(self, model: OmModel, sources: Sequence[OnnxNode], inputs: Sequence[str]) -> None:
        self._model = model
        self._sources = sources
        self._values = {port.tensor: port.name for port in model.inputs if port.name in set(inputs)}
        for node in model.nodes:
            if node.op == AIPP and node.inputs[0] in self._values:
                # Pictures are no value of the original: what is made of them is its input.
                self._values[node.outputs[0]] = self._values.pop(node.inputs[0])
        # The position of the last original node; None outside the outer graph.
        last = (node.origins[-1:] for node in model.nodes)
        self._group = [self._node_of(origin[0]) if origin else None for origin in last]
        self._producer = {t: at for at, node in enumerate(model.nodes) for t in node.outputs}
        self._leaving = self._find_leaving()
        self._stands_for = self._find_names()

    def match(self) -> Matching:
        alone = []
        for at, node in enumerate(self._model.nodes):
            for tensor in node.outputs:
                name = self._value_of(at, tensor)
                name = self._values.get(tensor) if node.op == AIPP else name
                if name is None:
                    reason = "an intermediate step of a single node of the original"
                    alone.append(Alone(node.name, node.op, reason))
                else:
                    self._values[tensor] = name
        return Matching(self._values, self._producer, tuple(alone), self._original_alone())

    def _node_of(self, origin: OmOrigin) -> int | None:
        """The position of an origin's node; None outside the outer graph."""
        if not 0 <= origin.index < len(self._sources):
            return None
        source = self._sources[origin.index]
        if source.op_type in _CHOOSING and origin.op_type != source.op_type:
            return origin.index  # a node of a branch that was chosen during compilation
        same = source.op_type == origin.op_type or origin.op_type in _QUANTIZING
        return origin.index if same and source.name == origin.name else None

    def _find_leaving(self) -> set[int]:
        """Tensors that others than the steps of their own original node read."""
        # In reverse order, so that a node knows whether its own results leave: a Cast or TransData
        # whose result leaves makes the value that it reads leave, too.
        leaving = {port.tensor for port in self._model.outputs}
        for at in reversed(range(len(self._model.nodes))):
            node = self._model.nodes[at]
            through = node.op in _THROUGH and not leaving.isdisjoint(node.outputs)
            for tensor in node.inputs:
                made_by = self._producer.get(tensor)
                if made_by is not None and (through or self._group[made_by] != self._group[at]):
                    leaving.add(tensor)
        return leaving

    def _find_names(self) -> list[tuple[str, ...]]:
        """Values that tensors stand for; a Cast that is a step stands for its own result."""
        names = [tensor.stands_for for tensor in self._model.tensors]
        for node in reversed(self._model.nodes):
            if node.op in _THROUGH and self._kind(node.inputs[0]) == self._kind(node.outputs[0]):
                names[node.inputs[0]] = names[node.inputs[0]] or names[node.outputs[0]]
        return names

    def _value_of(self, at: int, tensor: int) -> str | None:
        node, group = self._model.nodes[at], self._group[at]
        passed_through = self._passed_through(node, group)
        if passed_through is not None:
            return passed_through
        if group is None or tensor not in self._leaving:
            return None
        # A step may be the value of an older origin: nodes that compute the same became one.
        made = {at for at in map(self._node_of, node.origins) if at is not None}
        names = {name for at in made for name in self._sources[at].output_names}
        known = [name for name in self._stands_for[tensor] if name in names]
        own = [name for name in known if name in self._sources[group].output_names]
        return next(iter(own or known), None)

    def _passed_through(self, node: OmNode, group: int | None) -> str | None:
        """The input of an inserted Cast or TransData that stands for the original's value."""
        if node.op not in _THROUGH:
            return None
        read, made = node.inputs[0], node.outputs[0]
        if node.op == TRANS_DATA:
            return self._values.get(read)
        if read not in self._values or self._kind(read) != self._kind(made):
            return None
        if group is not None and self._sources[group].op_type == "Cast":
            own = [name for name in self._sources[group].output_names if name]
            return self._values[read] if self._values[read] in own else None
        return self._values[read]

    def _kind(self, tensor: int) -> str:
        """`float`, `integer` or `bool`."""
        dtype = DType(self._model.tensors[tensor].dtype)
        return "float" if dtype.is_float else "integer" if dtype.is_integer else "bool"

    def _original_alone(self) -> tuple[Alone, ...]:
        seen = set(self._values.values())
        return tuple(
            Alone(source.name or next(iter(source.output_names), ""), source.op_type, reason)
            for source, reason in zip(self._sources, self._why_alone(), strict=True)
            if seen.isdisjoint(source.output_names)
        )

    def _why_alone(self) -> Iterator[str]:
        """Yield why nodes of the original have no value on the device, if they have none."""
        inside = {o.index for node in self._model.nodes for o in node.origins}
        alike = {name for tensor in self._values for name in self._stands_for[tensor]}
        for at, source in enumerate(self._sources):
            if not alike.isdisjoint(source.output_names):
                yield "equal to a value that is already compared"
            else:
                yield "fused into the node after it" if at in inside else "folded or not needed"

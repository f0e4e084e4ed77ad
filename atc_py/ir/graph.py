"""Graph, Node and Value: the SSA graph that passes work on.

Ownership: a graph owns its nodes in `nodes`, in an order in which producers come first. A value
is owned by the node in `producer`, by the graph when it is one of its inputs, or by nobody when
it is a constant: constants live as long as a node uses them. Uses are kept by the graph objects
themselves; change inputs only through `Node.set_input` and `Value.replace_by`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from atc_py.ir.ordering import producers_first
from atc_py.ir.outputs import Outputs
from atc_py.ir.phases import Phase
from atc_py.ir.types import TensorType
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from atc_py.ir.constants import ConstData
    from atc_py.ir.memory_plan import MemoryPlan

__all__ = ["AttrValue", "Engine", "Graph", "Node", "Origin", "Value"]

AttrValue: TypeAlias = bool | int | float | str | DType | tuple[int, ...] | tuple[float, ...]
"""What an attribute can hold; sequences are tuples so that attributes compare and hash."""


class Engine(Enum):
    """What executes a node; LOCAL nodes (Reshape, Unsqueeze ...) launch no kernel."""

    AICORE = "aicore"
    AICPU = "aicpu"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Origin:
    """A node of the source model that a target node came from.

    Attributes:
        index: its position in the source graph, from 0.
        name: its name there, possibly empty.
        op_type: its ONNX operator.
    """

    index: int
    name: str
    op_type: str


class Value:
    """A tensor in the graph: a graph input, an output of a node, or a constant.

    Attributes:
        name: unique in its graph.
        type: dtype, shape and format.
        producer: the node that computes it, or None.
        const: its data when it is a constant, else None.
    """

    __slots__ = ("_uses", "const", "name", "producer", "type")

    def __init__(self, name: str, type: TensorType, const: ConstData | None = None) -> None:  # noqa: A002
        self.name = name
        self.type = type
        self.const = const
        self.producer: Node | None = None
        self._uses: dict[tuple[Node, int], None] = {}

    @property
    def uses(self) -> tuple[tuple[Node, int], ...]:
        """(node, input position) of every use by a node; graph outputs are not among them."""
        return tuple(self._uses)

    @property
    def is_used(self) -> bool:
        """Whether any node uses it; takes no longer where many do."""
        return bool(self._uses)

    @property
    def consumers(self) -> tuple[Node, ...]:
        """The nodes that use this value, each once, in the order of their first use."""
        return tuple(dict.fromkeys(node for node, _ in self._uses))

    def replace_by(self, other: Value) -> None:
        """Let every node that uses this value use `other`; graph outputs are left alone."""
        for node, position in self.uses:
            node.set_input(position, other)

    def __repr__(self) -> str:
        return f"%{self.name} : {self.type}"


class Node:
    """One application of a target operator.

    Attributes:
        op: name of the target operator.
        name: unique in its graph; names the kernel launch in reports.
        outputs: the values that it computes.
        attributes: by name, as the operator's row declares them.
        origins: the source nodes that it came from, oldest first.
        engine: what executes it; None until the precision pass has chosen.
        scope: number of the launch that it shares with nodes around it; 0 for one of its own.
    """

    __slots__ = ("_inputs", "attributes", "engine", "name", "op", "origins", "outputs", "scope")

    def __init__(
        self,
        op: str,
        name: str,
        inputs: Sequence[Value | None],
        outputs: Sequence[Value],
        attributes: Mapping[str, AttrValue] | None = None,
        origins: Iterable[Origin] = (),
    ) -> None:
        self.op = op
        self.name = name
        self.attributes: dict[str, AttrValue] = dict(attributes or {})
        self.origins = tuple(origins)
        self.engine: Engine | None = None
        self.scope = 0
        self.outputs = tuple(outputs)
        for value in self.outputs:
            value.producer = self
        self._inputs: list[Value | None] = []
        self.set_inputs(inputs)

    @property
    def inputs(self) -> tuple[Value | None, ...]:
        """The inputs by position; None stands for an optional input that is absent."""
        return tuple(self._inputs)

    @property
    def on_aicpu(self) -> bool:
        """True if an AI CPU kernel executes it."""
        return self.engine is Engine.AICPU

    @property
    def present_inputs(self) -> tuple[Value, ...]:
        """The inputs that are there."""
        return tuple(value for value in self._inputs if value is not None)

    @property
    def output(self) -> Value:
        """The first output, the only one of most operators."""
        return self.outputs[0]

    def input(self, position: int) -> Value | None:
        """The input at `position`, or None when it is absent or beyond the last."""
        return self._inputs[position] if position < len(self._inputs) else None

    def set_input(self, position: int, value: Value | None) -> None:
        """Put `value` at `position`, which must exist."""
        old = self._inputs[position]
        if old is not None:
            del old._uses[self, position]  # noqa: SLF001  (a node and its values keep uses together)
        self._inputs[position] = value
        if value is not None:
            value._uses[self, position] = None  # noqa: SLF001

    def set_inputs(self, inputs: Sequence[Value | None]) -> None:
        """Replace all inputs."""
        self.drop_inputs()
        self._inputs = [None] * len(inputs)
        for position, value in enumerate(inputs):
            self.set_input(position, value)

    def drop_inputs(self) -> None:
        """Use nothing any more; what a node must do before it leaves its graph."""
        for position in range(len(self._inputs)):
            self.set_input(position, None)
        self._inputs = []

    def __repr__(self) -> str:
        outputs = ", ".join(f"%{value.name}" for value in self.outputs)
        inputs = ", ".join(f"%{value.name}" if value else "_" for value in self._inputs)
        return f"{outputs} = {self.op}({inputs})"


class Graph:
    """A model in the target IR.

    Attributes:
        name: the model's name.
        phase: how far compilation has come.
        inputs: values fed from outside, in the model's order.
        outputs: values handed out, in the model's order; a value may stand twice.
        output_names: names of the outputs for the user, position by position.
        nodes: in an order in which producers come first.
        memory: where values lie; None before phase placed.
    """

    def __init__(self, name: str = "", phase: Phase = Phase.LOWERED) -> None:
        self.name = name
        self.phase = phase
        self.memory: MemoryPlan | None = None
        self.inputs: list[Value] = []
        self._outputs = Outputs()
        self.output_names: list[str] = []
        self.nodes: list[Node] = []
        self._taken: dict[str, int] = {}

    @property
    def outputs(self) -> Outputs:
        """The values handed out; they change in place, or all at once by assignment."""
        return self._outputs

    @outputs.setter
    def outputs(self, values: Iterable[Value]) -> None:
        self._outputs = Outputs(values)

    def fresh_name(self, wanted: str) -> str:
        """`wanted`, or `wanted.1`, `wanted.2` ... where it is taken; the result is then taken."""
        name, count = wanted, self._taken.get(wanted, 0)
        while name in self._taken:
            count += 1
            name = f"{wanted}.{count}"
        self._taken[wanted] = count
        self._taken.setdefault(name, 0)
        return name

    def reserve(self, name: str) -> None:
        """Take `name`, which a value or node has already, so that `fresh_name` avoids it."""
        self._taken.setdefault(name, 0)

    def add_input(self, name: str, type: TensorType) -> Value:  # noqa: A002
        """A new graph input, after the ones that are there."""
        value = Value(self.fresh_name(name), type)
        self.inputs.append(value)
        return value

    def add_output(self, value: Value, name: str | None = None) -> None:
        """Hand out `value`, under its own name unless `name` is given."""
        self.outputs.append(value)
        self.output_names.append(value.name if name is None else name)

    def constant(self, name: str, data: ConstData, like: TensorType | None = None) -> Value:
        """A new constant; its format is that of `like`, or ND."""
        type_ = TensorType(data.dtype, data.shape)
        if like is not None:
            type_ = type_.with_format(like.format)
        return Value(self.fresh_name(name), type_, data)

    def add_node(
        self,
        op: str,
        inputs: Sequence[Value | None],
        output_types: Sequence[tuple[str, TensorType]],
        attributes: Mapping[str, AttrValue] | None = None,
        origins: Iterable[Origin] = (),
    ) -> Node:
        """A new node at the end; `output_types` gives wanted name and type of each output."""
        outputs = [Value(self.fresh_name(name), type_) for name, type_ in output_types]
        name = self.fresh_name(f"{op}:{outputs[0].name}")
        node = Node(op, name, inputs, outputs, attributes, origins)
        self.nodes.append(node)
        return node

    def remove_nodes(self, dead: Iterable[Node]) -> None:
        """Take `dead` out; nobody else may use their outputs any more."""
        gone = set(dead)
        for node in gone:
            node.drop_inputs()
        self.nodes = [node for node in self.nodes if node not in gone]

    def replace_value(self, old: Value, new: Value) -> None:
        """Let nodes and graph outputs use `new` where they used `old`."""
        old.replace_by(new)
        self._outputs.replace(old, new)

    def is_output(self, value: Value) -> bool:
        """Whether the graph hands out `value`."""
        return value in self._outputs

    def constants(self) -> Iterator[Value]:
        """The constants in use, each once, in the order of first use."""
        seen: set[Value] = set()
        used = [value for node in self.nodes for value in node.present_inputs]
        for value in [*used, *self.outputs]:
            if value.const is not None and value not in seen:
                seen.add(value)
                yield value

    def values(self) -> Iterator[Value]:
        """Inputs, constants in use and outputs of nodes."""
        yield from self.inputs
        yield from self.constants()
        for node in self.nodes:
            yield from node.outputs

    def sort(self) -> None:
        """Put producers before consumers and else keep the order; new nodes move to their users.

        Raises:
            CycleError: the graph has a cycle; a ValueError.
        """
        self.nodes = producers_first(self.nodes, _producers)


def _producers(node: Node) -> Iterator[Node]:
    """The nodes whose results `node` uses."""
    for value in node.present_inputs:
        if value.producer is not None:
            yield value.producer

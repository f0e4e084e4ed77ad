"""Graph: the SSA graph that passes work on.

Ownership: a graph owns its nodes in `nodes`, in an order in which producers come first, and the
`Return` node in `result`, which uses the values that the graph returns. A value is owned by the
node in `producer`, by the graph when it is one of its inputs, or by neither when it is a constant:
constants live as long as they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from atc_py.ir.nodes import AttrValue, Node, Origin, Return, Value
from atc_py.ir.types import Phase, TensorType
from atc_py.tensor.const_data import ConstData

if TYPE_CHECKING:
    from atc_py.ir.memory_plan import MemoryPlan, Proof


class Graph:
    """A model in the target IR.

    Attributes:
        phase: how far compilation has come.
        inputs: values fed from outside, in the model's order.
        output_names: names of the outputs for the user, position by position.
        nodes: in an order in which producers come first.
        result: the node that uses the values that the graph returns; it is not among `nodes`.
        memory: where values are stored; None before phase placed.
        proof: that of `memory`, from when the verifier has found it sound.
    """

    def __init__(self, name: str = "", phase: Phase = Phase.LOWERED) -> None:
        self.name = name
        self.phase = phase
        self.memory: MemoryPlan | None = None
        self.proof: Proof | None = None
        self.inputs: list[Value] = []
        self.output_names: list[str] = []
        self.nodes: list[Node] = []
        self.result = Return()
        self._taken: dict[str, int] = {}

    @property
    def outputs(self) -> tuple[Value, ...]:
        """List the values that the graph returns, in the model's order, repetitions included."""
        return self.result.present_inputs

    def set_outputs(self, values: Sequence[Value]) -> None:
        """`values` instead of the present outputs; `output_names` stay as they are."""
        self.result.set_inputs(values)

    def fresh_name(self, wanted: str) -> str:
        taken, name = self._taken, wanted
        if wanted in taken:
            count = taken[wanted]
            while name in taken:
                count += 1
                name = f"{wanted}.{count}"
            taken[wanted] = count
        taken[name] = 0
        return name

    def reserve(self, name: str) -> None:
        """Take `name`, which a value or node has already, so that `fresh_name` avoids it."""
        self._taken.setdefault(name, 0)

    def add_input(self, name: str, type: TensorType) -> Value:  # noqa: A002
        value = Value(self.fresh_name(name), type)
        self.inputs.append(value)
        return value

    def add_output(self, value: Value, name: str | None = None) -> None:
        """`value` after the other outputs, under its own name unless `name` is given."""
        self.result.append_input(value)
        self.output_names.append(value.name if name is None else name)

    def constant(self, name: str, data: ConstData, like: TensorType | None = None) -> Value:
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
        """Append a new node; `output_types` gives wanted name and type of each output."""
        outputs = [Value(self.fresh_name(name), type_) for name, type_ in output_types]
        name = self.fresh_name(f"{op}:{outputs[0].name}")
        node = Node(op, name, inputs, outputs, attributes, origins)
        self.nodes.append(node)
        return node

    def restate(
        self,
        node: Node,
        op: str,
        inputs: Sequence[Value | None],
        attributes: Mapping[str, AttrValue] | None = None,
    ) -> None:
        """Let `node` compute its results as `op` of `inputs`, under the name of a new node."""
        node.op, node.attributes = op, dict(attributes or {})
        node.name = self.fresh_name(f"{op}:{node.output.name}")
        node.set_inputs(inputs)

    def remove_nodes(self, dead: Iterable[Node]) -> None:
        """Take `dead` out; no other node, nor the graph's result, may use their outputs.

        Outputs forget their nodes: each would keep the other, and Python's collector of cycles
        hardly runs while a model is compiled.
        """
        gone = set(dead)
        for node in gone:
            node.drop_inputs()
            for value in node.outputs:
                if value.producer is node:  # another node may compute it now
                    value.producer = None
        self.nodes = [node for node in self.nodes if node not in gone]

    def remove_unread(self, op: str) -> int:
        """Take out the nodes of `op` with a result that nothing uses, and what then is one; how many."""
        count = len(self.nodes)
        while idle := [node for node in self.nodes if node.op == op and not node.output.is_used]:
            self.remove_nodes(idle)
        return count - len(self.nodes)

    def dissolve(self) -> None:
        """Drop all nodes; their memory is free if nobody else holds one, though they refer in circles.

        Python's collector, which would find them, hardly runs while a model is compiled.
        """
        self.remove_nodes(self.nodes)
        self.result.drop_inputs()

    def constants(self) -> list[Value]:
        """The constants in use, each once, in the order of first use."""
        users = (*self.nodes, self.result)
        used = [
            value
            for user in users
            for value in user._inputs  # noqa: SLF001
            if value is not None and value.const is not None
        ]
        return list(dict.fromkeys(used))

    def values(self) -> list[Value]:
        made = [value for node in self.nodes for value in node.outputs]
        return [*self.inputs, *self.constants(), *made]

    def sort(self) -> None:
        """Put producers before consumers and else keep the order; new nodes move to their users.

        Most passes leave them in order, which one look at each node finds. A cycle is a CycleError.
        """
        if not self._is_sorted():
            self.nodes = producers_first(self.nodes, lambda node: node.producers)

    def _is_sorted(self) -> bool:
        before: set[Node | None] = {None}
        for node in self.nodes:
            for value in node._inputs:  # noqa: SLF001
                if value is not None and value.producer not in before:
                    return False
            before.add(node)
        return len(before) == len(self.nodes) + 1


T = TypeVar("T")


class CycleError(ValueError, Generic[T]):
    """Items need each other in a circle; `item` is one of them."""

    def __init__(self, item: T) -> None:
        super().__init__(f"cycle through {item!r}")
        self.item = item


def producers_first(items: Iterable[T], needs: Callable[[T], Iterable[T]]) -> list[T]:
    """`items`, and what they need, each once and after everything that it needs; else CycleError.

    Items keep their order where they can; one that comes too late moves to just before its first
    user. It does not recurse, so chains may be of any length.
    """
    done: set[T] = set()
    ordered: list[T] = []
    for root in items:
        if root not in done:
            if done.issuperset(needs(root)):
                done.add(root)
                ordered.append(root)
            else:
                _place(root, needs, done, ordered)
    return ordered


def _place(root: T, needs: Callable[[T], Iterable[T]], done: set[T], ordered: list[T]) -> None:
    begun: set[T] = set()
    stack = [root]
    while stack:
        item = stack[-1]
        if item in done:
            stack.pop()
            continue
        missing = [need for need in needs(item) if need not in done]
        if not missing:
            done.add(item)
            ordered.append(stack.pop())
            continue
        if item in begun:
            raise CycleError(item)
        begun.add(item)
        stack.extend(reversed(missing))


class Scoped(Protocol):
    """A node with the number of its launch; 0 is a launch of its own."""

    @property
    def scope(self) -> int: ...


def launch_positions(nodes: Sequence[Scoped]) -> dict[int, list[int]]:
    """Group nodes by launch: those of one scope are one, which happens at its last node.

    It can only run once everything that its nodes read has been computed, and the last of them stands
    after all producers. The placement proof and the simulator derive it on their own, so that they
    can find a mistake here.

    The position of each launch's last node, ascending, with those of all its nodes in order. Views
    are among them: a launch of nothing but views launches nothing.
    """
    ends = {node.scope: position for position, node in enumerate(nodes) if node.scope}
    launches: dict[int, list[int]] = {}
    for position, node in enumerate(nodes):
        launches.setdefault(ends.get(node.scope, position), []).append(position)
    return dict(sorted(launches.items()))


def launches_in(nodes: Sequence[Node]) -> list[tuple[Node, ...]]:
    """The nodes of each launch in order, by the last of them; a view may be one of its own."""
    return [tuple(nodes[at] for at in places) for places in launch_positions(nodes).values()]

"""Node and Value: the parts of a graph, and the uses that connect them.

A value knows every use of itself, as an input of a node or as an output of the graph: a graph
returns its values through a `Return` node, so that an output is a use like any other. Who asks
for the readers of a value cannot overlook that the graph returns it, and who replaces a value
replaces it there as well. Change inputs only through the methods of `Node` and
`Value.replace_by`, which keep both sides of a use together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import TypeAlias

import msgspec

from atc_py.ir.types import TensorType
from atc_py.target.row import AttributeValue
from atc_py.tensor.const_data import ConstData

AttrValue: TypeAlias = AttributeValue
"""Value of an attribute; sequences are tuples so that attributes compare and hash."""

_Use: TypeAlias = "tuple[Node, int]"
"""A node and the position among its inputs."""


class Engine(Enum):
    """Engine of a node; LOCAL nodes (Reshape, Unsqueeze ...) launch no kernel."""

    AICORE = "aicore"
    AICPU = "aicpu"
    LOCAL = "local"

    __hash__ = object.__hash__
    """Members are single objects; Enum's own hash is a call of Python for each look-up."""


class Origin(msgspec.Struct, frozen=True):
    """A node of the source model that a target node came from."""

    index: int  # its position in the source graph, from 0
    name: str  # its name there, possibly empty
    op_type: str  # its ONNX operator


_FEW = 8
"""Names, or inputs, up to which a tuple is copied where one changes."""


class Value:
    """A tensor in the graph: a graph input, an output of a node, or a constant.

    Attributes:
        name: unique in its graph.
        type: dtype, shape and format.
        producer: the node that computes it, or None.
        const: its data when it is a constant, else None.
        stands_for: names of the source model's values that it is, in whatever dtype and format;
            none for a step on the way to one.
    """

    __slots__ = ("_stands_for", "_uses", "const", "name", "producer", "type")

    def __init__(self, name: str, type: TensorType, const: ConstData | None = None) -> None:  # noqa: A002
        self.name = name
        self.type = type
        self.const = const
        self.producer: Node | None = None
        self._stands_for: tuple[str, ...] | dict[str, None] = ()
        self._uses: _Use | dict[_Use, None] | None = None

    @property
    def stands_for(self) -> tuple[str, ...]:
        return tuple(self._stands_for)

    @stands_for.setter
    def stands_for(self, names: tuple[str, ...]) -> None:
        self._stands_for = names

    @property
    def uses(self) -> tuple[_Use, ...]:
        held = self._uses
        if held is None:
            return ()
        return (held,) if isinstance(held, tuple) else tuple(held)

    @property
    def use_count(self) -> int:
        held = self._uses
        if held is None:
            return 0
        return 1 if isinstance(held, tuple) else len(held)

    def has_use(self, node: Node, position: int) -> bool:
        """True if the use as input `position` of `node` is recorded (constant time)."""
        held = self._uses
        if isinstance(held, dict):
            return (node, position) in held
        return held == (node, position)

    @property
    def is_used(self) -> bool:
        return self._uses is not None

    @property
    def is_output(self) -> bool:
        """True if the graph returns this value (linear in its uses).

        It tells why a value must stay. To find out whether somebody reads a value, or one node
        alone, ask for `is_used`, `uses` or `consumers`: outputs are among them.
        """
        held = self._uses
        if isinstance(held, dict):
            return any(isinstance(user, Return) for user, _ in held)
        return held is not None and isinstance(held[0], Return)

    @property
    def consumers(self) -> tuple[Node, ...]:
        """List the users of this value, each once, in the order of their first use.

        The graph's `Return` node is among them where the graph returns the value: a value with
        one consumer has no other reader.
        """
        held = self._uses
        if held is None:
            return ()
        if isinstance(held, tuple):
            return held[:1]
        return tuple(dict.fromkeys([node for node, _ in held]))

    @property
    def readers(self) -> list[Node]:
        return [node for node in self.consumers if not isinstance(node, Return)]

    def replace_by(self, other: Value) -> None:
        """Replace this value by `other` in every use, outputs of the graph included.

        `other` then is what this value was of the source model, beside what it is already.
        """
        held, names = other._stands_for, self._stands_for
        if len(held) + len(names) <= _FEW:
            other._stands_for = tuple(dict.fromkeys((*held, *names)))
        else:  # thousands of nodes may become one, each by a call of this
            held = other._stands_for = held if isinstance(held, dict) else dict.fromkeys(held)
            held.update(dict.fromkeys(names))
        for node, position in self.uses:
            node.set_input(position, other)

    def _add_use(self, node: Node, position: int) -> None:
        """Record a use after the others; most values have one, which needs no dict."""
        held = self._uses
        if held is None:
            self._uses = node, position
            return
        if isinstance(held, tuple):
            held = self._uses = {held: None}
        held[node, position] = None

    def _drop_use(self, node: Node, position: int) -> None:
        """Forget a use, which must be recorded."""
        held = self._uses
        if isinstance(held, dict):
            del held[node, position]
            if not held:
                self._uses = None
        elif held == (node, position):
            self._uses = None
        else:
            raise KeyError((node, position))

    def __repr__(self) -> str:
        return f"%{self.name} : {self.type}"


class Node:
    """One application of a target operator.

    Attributes:
        op: name of the target operator.
        name: unique in its graph; names the kernel launch in reports.
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
        self._inputs: tuple[Value | None, ...] | list[Value | None] = ()
        self._take(inputs)

    @property
    def inputs(self) -> tuple[Value | None, ...]:
        """The inputs by position; None stands for an optional input that is absent."""
        return tuple(self._inputs)

    @property
    def on_aicpu(self) -> bool:
        return self.engine is Engine.AICPU

    @property
    def present_inputs(self) -> tuple[Value, ...]:
        inputs = tuple(self._inputs)
        if None in inputs:
            return tuple([value for value in inputs if value is not None])
        return inputs  # type: ignore[return-value]  # no None among them

    @property
    def output(self) -> Value:
        """The first output, the only one of most operators."""
        return self.outputs[0]

    def input(self, position: int) -> Value | None:
        """The input at `position`, or None when it is absent or beyond the last."""
        return self._inputs[position] if position < len(self._inputs) else None

    def producer(self, position: int = 0) -> Node | None:
        """The node that computes the input at `position`, if one does."""
        value = self.input(position)
        return None if value is None else value.producer

    @property
    def producers(self) -> list[Node]:
        """The nodes that compute its inputs, one for each that a node computes."""
        return [value.producer for value in self.present_inputs if value.producer is not None]

    def set_input(self, position: int, value: Value | None) -> None:
        """Put `value` at `position`, which must exist."""
        old = self._inputs[position]
        if old is value and (value is None or value.use_count == 1):
            return
        if old is not None:
            old._drop_use(self, position)  # noqa: SLF001  (a node and its values keep uses together)
        inputs = self._inputs
        if isinstance(inputs, tuple):
            self._inputs = (*inputs[:position], value, *inputs[position + 1 :])
        else:
            inputs[position] = value
        if value is not None:
            value._add_use(self, position)  # noqa: SLF001

    def set_inputs(self, inputs: Sequence[Value | None]) -> None:
        self.drop_inputs()
        self._take(inputs)

    def append_input(self, value: Value) -> None:
        if isinstance(self._inputs, tuple):
            self._inputs = list(self._inputs)
        self._inputs.append(None)
        self.set_input(len(self._inputs) - 1, value)

    def drop_inputs(self) -> None:
        """Drop all inputs, as a node must before it leaves its graph."""
        for position, value in enumerate(self._inputs):
            if value is not None:
                value._drop_use(self, position)  # noqa: SLF001
        self._inputs = ()

    def _take(self, inputs: Sequence[Value | None]) -> None:
        self._inputs = tuple(inputs) if len(inputs) <= _FEW else list(inputs)
        for position, value in enumerate(self._inputs):
            if value is not None:
                value._add_use(self, position)  # noqa: SLF001

    def __repr__(self) -> str:
        outputs = ", ".join(f"%{value.name}" for value in self.outputs)
        inputs = ", ".join(f"%{value.name}" if value else "_" for value in self._inputs)
        return f"{outputs} = {self.op}({inputs})"


class Return(Node):
    """End of a graph: its inputs are the graph's outputs, in the model's order.

    A graph owns exactly one, outside of its `nodes`: it computes and launches nothing, no operator
    of the target has its name, and passes meet it only as a user of values.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("Return", "return", (), ())

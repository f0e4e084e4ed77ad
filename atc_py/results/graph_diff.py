"""Differences between a model and its fixed form, node by node."""

from collections.abc import Mapping
from enum import Enum

import msgspec

from atc_py.system.structs import Result
from atc_py.text import Text


class ChangeKind(Enum):
    """Reason of a change."""

    RULES = "rules"
    CHOSEN = "chosen"
    QUANTIZED = "quantized"
    MOVED = "moved"
    RESTATED = "restated"
    DROPPED = "dropped"

    @property
    def words(self) -> Text:
        """The reason in words."""
        return _KINDS[self]


_KINDS = {
    ChangeKind.RULES: Text("rewritten by rules"),
    ChangeKind.CHOSEN: Text("one branch is chosen"),
    ChangeKind.QUANTIZED: Text("quantized layers in the deploy form"),
    ChangeKind.MOVED: Text("carried along in the form of the nodes around it"),
    ChangeKind.RESTATED: Text("stated at another opset"),
    ChangeKind.DROPPED: Text("constant, or not needed"),
}


class DiffValue(Result, frozen=True):
    """A value that a node reads or writes.

    Attributes:
        name: its name.
        dtype: its dtype; "" where it is not known.
        dims: its dims, None for open ones; None where the rank is not known.
        data: of a small constant, its data as text.
    """

    name: str
    dtype: str = ""
    dims: tuple[int | None, ...] | None = None
    data: str = ""

    def as_json(self) -> dict[str, object]:
        """The fields as JSON values; null where a text is empty."""
        return {**super().as_json(), "dtype": self.dtype or None, "data": self.data or None}


class DiffNode(Result, frozen=True):
    """A node with what it reads and writes.

    Attributes:
        operator: its operator, with the domain before it where that is not ONNX's.
        name: its name, possibly empty.
        inputs: by position; None for one that is absent.
        outputs: those that are asked for.
        attributes: as text, by name.
    """

    operator: str
    name: str
    inputs: tuple[DiffValue | None, ...]
    outputs: tuple[DiffValue, ...]
    attributes: Mapping[str, str] = msgspec.field(default_factory=dict)


class NodeChange(Result, frozen=True):
    """A node of the original that is gone or has changed, and the nodes in its place.

    Attributes:
        kind: the reason.
        node: its position in the file's graph.
        rules: names of the rules that were applied, in order.
        before: the node.
        after: the nodes in its place; empty where there are none.
        producer: the node before it in the new graph, None where there is none.
        reader: a node after it in the new graph.
    """

    kind: ChangeKind
    node: int
    rules: tuple[str, ...]
    before: DiffNode
    after: tuple[DiffNode, ...]
    producer: DiffNode | None = msgspec.field(name="_producer", default=None)
    reader: DiffNode | None = msgspec.field(name="_reader", default=None)

    @property
    def likeness(self) -> tuple[object, ...]:
        """The parts that changes of one pattern have in common."""
        after = tuple(each.operator for each in self.after)
        return (self.kind, self.rules, self.before.operator, after)

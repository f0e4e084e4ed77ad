"""Roles of the inputs of an ONNX model, inferred from their readers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import onnx

    from atc_py.compare.reference import ReferenceModel

__all__ = ["Role", "input_roles"]

_THROUGH = frozenset(
    {"Cast", "Expand", "Flatten", "Identity", "Reshape", "Slice", "Squeeze", "Tile"}
    | {"Transpose", "Unsqueeze"}
)
"""Operators that pass on the values of their first input."""

_INDEXING = frozenset({"Gather", "GatherElements", "Scatter", "ScatterElements"})
"""Operators whose second input holds indices along one axis of the first."""

_RECURRENT = frozenset({"GRU", "LSTM", "RNN"})
_LENGTHS_AT = 4


@dataclass(frozen=True, slots=True)
class Role:
    """Role of an input: data, indices, lengths and the like.

    Attributes:
        ids: rows of the smallest table that it selects from; None where it selects nothing.
        lengths_of: name of the sequence whose lengths it holds; "" where it holds none.
    """

    ids: int | None = None
    lengths_of: str = ""


def input_roles(model: ReferenceModel) -> dict[str, Role]:
    """Return the role of each input that has one."""
    readers: dict[str, list[tuple[onnx.NodeProto, int]]] = {}
    for node in model.nodes:
        for at, name in enumerate(node.input):
            readers.setdefault(name, []).append((node, at))
    found = {name: _role(model, list(_readers_of(name, readers))) for name in model.inputs}
    return {name: role for name, role in found.items() if role != Role()}


def _readers_of(
    name: str, readers: dict[str, list[tuple[onnx.NodeProto, int]]]
) -> Iterator[tuple[onnx.NodeProto, int]]:
    """Yield (node, input position) of all that read `name`, also through nodes that pass it on."""
    waiting, seen = [name], {name}
    while waiting:
        for node, at in readers.get(waiting.pop(), ()):
            yield node, at
            if at == 0 and node.op_type in _THROUGH and node.output[0] not in seen:
                seen.add(node.output[0])
                waiting.append(node.output[0])


def _role(model: ReferenceModel, uses: list[tuple[onnx.NodeProto, int]]) -> Role:
    """Return the role that an input with these uses has."""
    tables = [rows for node, at in uses if (rows := _table(model, node, at)) is not None]
    lengths = [n.input[0] for n, at in uses if n.op_type in _RECURRENT and at == _LENGTHS_AT]
    return Role(min(tables, default=None), lengths[0] if lengths else "")


def _table(model: ReferenceModel, node: onnx.NodeProto, at: int) -> int | None:
    """Return rows of the constant table in which a node selects by its input `at`."""
    if node.op_type not in _INDEXING or at != 1:
        return None
    shape = model.constant_shape(node.input[0])
    axis = next((each.i for each in node.attribute if each.name == "axis"), 0)
    return None if shape is None or not -len(shape) <= axis < len(shape) else shape[axis]

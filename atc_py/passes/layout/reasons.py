"""The record of layout in a report: how values are stored, and why each TransData is there."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from atc_py.ir import Return

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from atc_py.ir import Graph, Node, TensorType, Value

__all__ = ["layout_record"]

_NAMED = 3
"""Readers that a reason names."""


def layout_record(graph: Graph) -> dict[str, object]:
    """Return the count of values by storage, and every TransData with its reason."""
    counts = Counter(_stored(value.type) for value in graph.values())
    outputs: dict[Value, str] = {}
    for value, name in zip(graph.outputs, graph.output_names, strict=True):
        outputs.setdefault(value, name)
    inputs = set(graph.inputs)
    return {
        "values": dict(sorted(counts.items())),
        "trans_data": [
            _entry(node, inputs, outputs) for node in graph.nodes if node.op == "TransData"
        ],
    }


def _entry(
    node: Node, inputs: Collection[Value], outputs: Mapping[Value, str]
) -> dict[str, object]:
    """Return a TransData: what it converts and who wants it so."""
    source, result = node.present_inputs[0], node.output
    before, after = _stored(source.type), _stored(result.type)
    given, taken = _giver(source, inputs), _takers(result, outputs)
    return {
        "name": node.name,
        "tensor": source.name,
        "from": before,
        "to": after,
        "bytes": source.type.stored_nbytes + result.type.stored_nbytes,
        "given_by": "input" if source.producer is None else source.producer.op,
        "taken_by": sorted({reader.op for reader in _readers(result)})
        + ["output"] * (result in outputs),
        "reason": f"{given} {before}; {taken} {after}",
    }


def _stored(kind: TensorType) -> str:
    """Return the format in which a tensor is stored."""
    return kind.format.value if kind.storage is None else str(kind.storage)


def _giver(value: Value, inputs: Collection[Value]) -> str:
    """Return the producer of a value, with a verb."""
    if value in inputs or value.producer is None:
        return f"input {value.name} is fed as"
    return f"{_called(value.producer)} gives"


def _takers(value: Value, outputs: Mapping[Value, str]) -> str:
    """Return the readers of a value, with a verb."""
    names = [_called(node) for node in _readers(value)]
    if value in outputs:
        names.insert(0, f"output {outputs[value]}")
    shown, more = names[:_NAMED], len(names) - _NAMED
    if more > 0:
        shown.append(f"{more} more")
    return f"{', '.join(shown)} {'take' if len(names) > 1 else 'takes'}"


def _readers(value: Value) -> list[Node]:
    """List the nodes that read a value; the record names outputs of the model in its own way."""
    return [user for user in value.consumers if not isinstance(user, Return)]


def _called(node: Node) -> str:
    """Return a node as users know it: operator and last source node, or its input's name."""
    for origin in reversed(node.origins):
        if origin.name:
            return f"{node.op} {origin.name}"
    operands = node.present_inputs
    return f"{node.op} of {operands[0].name}" if operands else node.op

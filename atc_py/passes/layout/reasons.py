"""The record of layout in a report: how values are stored, and why each TransData is there."""

from collections import Counter
from collections.abc import Collection, Mapping

from atc_py.ir import Graph, Node, TensorType, Value
from atc_py.text import SEMICOLON, Text, plural

_NAMED = 3
"""Readers that a reason names."""

_BETWEEN = Text(", ", context="readers")


def layout_record(graph: Graph) -> dict[str, object]:
    """The count of values by storage, and every TransData with its reason."""
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
    source, result = node.present_inputs[0], node.output
    before, after = _stored(source.type), _stored(result.type)
    return {
        "name": node.name,
        "tensor": source.name,
        "from": before,
        "to": after,
        "bytes": source.type.stored_nbytes + result.type.stored_nbytes,
        "given_by": "input" if source.producer is None else source.producer.op,
        "taken_by": sorted({reader.op for reader in result.readers})
        + ["output"] * (result in outputs),
        "reason": SEMICOLON.join((_giver(source, inputs, before), _takers(result, outputs, after))),
    }


def _stored(kind: TensorType) -> str:
    return kind.format.value if kind.storage is None else str(kind.storage)


def _giver(value: Value, inputs: Collection[Value], form: str) -> Text:
    if value in inputs or value.producer is None:
        return Text("input {name} is fed as {format}", name=value.name, format=form)
    return Text("{node} gives {format}", node=_called(value.producer), format=form)


def _takers(value: Value, outputs: Mapping[Value, str], form: str) -> Text:
    names: list[str] = [_called(node) for node in value.readers]
    if value in outputs:
        names.insert(0, Text("output {at}", at=outputs[value]))
    shown, more = names[:_NAMED], len(names) - _NAMED
    if more > 0:
        shown.append(Text("{more} more", more=more))
    return plural(
        len(names),
        "{names} takes {format}",
        "{names} take {format}",
        names=_BETWEEN.join(shown),
        format=form,
    )


def _called(node: Node) -> str:
    """A node as users know it: operator and last source node, or its input's name."""
    for origin in reversed(node.origins):
        if origin.name:
            return f"{node.op} {origin.name}"
    operands = node.present_inputs
    if not operands:
        return node.op
    return Text("{op} of {name}", op=node.op, name=operands[0].name)

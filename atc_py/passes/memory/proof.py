"""A graph and its plan in the terms of the proof, which knows neither."""

from collections.abc import Iterator, Mapping, Sequence

from atc_py.ir import (
    Engine,
    Graph,
    Home,
    MemoryPlan,
    Node,
    PlacedNode,
    PlacedTensor,
    Placement,
    Value,
    prove,
)
from atc_py.target import JOINED_IN_PLACE, find_operator, is_view
from atc_py.text import Text


def unsound_places(
    graph: Graph, values: Sequence[Value], alignment: int, padding: int = 0
) -> Iterator[tuple[Node | None, Text]]:
    """Yield the faults of the plan of `graph`, with the node concerned, and keep its proof if sound.

    `graph` is in phase placed, and has those `values`. Offsets must be multiples of `alignment` bytes, and `padding` bytes
    follow each value.
    """
    graph.proof = None
    if graph.memory is None:
        yield None, Text("a graph of phase placed must have a memory plan, found none")
        return
    if graph.memory.alignment != alignment:
        found = graph.memory.alignment
        text = Text("the memory plan must be aligned to {n} bytes, found {found}")
        yield None, text.with_values(n=alignment, found=found)
    if graph.memory.padding != padding:
        found = graph.memory.padding
        text = Text("the memory plan must add {n} bytes to each value, found {found}")
        yield None, text.with_values(n=padding, found=found)
    missing = [value for value in values if value not in graph.memory.spots]
    for value in missing:
        yield value.producer, Text("the memory plan has no place for %{v}", v=value.name)
    if not missing:
        proof = prove(placement_of(graph, graph.memory, values))
        graph.proof = None if proof.faults else proof
        for position, message in proof.faults:
            yield None if position is None else values[position].producer, message


def placement_of(graph: Graph, plan: MemoryPlan, values: Sequence[Value]) -> Placement:
    number = {value: position for position, value in enumerate(values)}
    inputs, outputs = set(graph.inputs), set(graph.outputs)
    stored = {
        kind: (kind.stored_dims, kind.dtype.itemsize, str(kind.storage or ""))
        for kind in {value.type for value in values}
    }
    tensors = []
    for value in values:
        dims, itemsize, storage = stored[value.type]
        spot, source = plan.spots[value], _source(value, inputs)
        tensors.append(
            PlacedTensor(value.name, dims, itemsize, spot, source, value in outputs, storage)
        )
    nodes = [_placed(node, number) for node in graph.nodes]
    return Placement(tensors, nodes, plan.alignment, plan.arena, plan.bound, plan.padding)


def _source(value: Value, inputs: set[Value]) -> Home | None:
    if value.const is not None:
        return Home.WEIGHTS
    return Home.INPUT if value in inputs else None


def _placed(node: Node, number: Mapping[Value, int]) -> PlacedNode:
    row = find_operator(node.op)
    return PlacedNode(
        node.name,
        tuple(number[value] for value in node.present_inputs),
        tuple(number[value] for value in node.outputs),
        node.scope,
        is_view=is_view(node.op),
        is_join=node.op == JOINED_IN_PLACE,
        in_place=row is not None and row.in_place and node.engine is Engine.AICORE,
    )

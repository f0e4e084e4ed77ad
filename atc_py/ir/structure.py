"""Structure of a graph: the SSA rules, which hold in every phase.

Each check yields (node at fault or None, what is wrong) for all that it finds, and none relies
on what another one checks, so a broken graph is reported whole.
"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias, TypeVar

from atc_py.ir.graph import Graph
from atc_py.ir.nodes import Node, Value
from atc_py.text import Text

_Item = TypeVar("_Item")

Finding: TypeAlias = "tuple[Node | None, Text]"
"""The node at fault, None for the graph as a whole, and a sentence about it."""


def is_sound(graph: Graph) -> bool:
    """True if no check of this module finds a fault; one walk, where they take a dozen.

    It follows nodes in order, so that what it has met is what may be used, and compares the number
    of uses met with those recorded: each use met is recorded, so equal numbers are equal uses.
    False only asks for the checks, which name what is wrong and may still find nothing.
    """
    met = set(graph.inputs)
    if len(met) != len(graph.inputs) or any(value.producer or value.const for value in met):
        return False
    uses = 0
    for node in (*graph.nodes, graph.result):
        for position, operand in enumerate(node.inputs):
            if operand is None:
                continue
            if operand not in met:
                if operand.const is None or operand.producer is not None:
                    return False
                met.add(operand)
            if not operand.has_use(node, position):
                return False
            uses += 1
        for value in node.outputs:
            if value.producer is not node or value.const is not None or value in met:
                return False
            met.add(value)
    return uses == sum([value.use_count for value in met]) and (
        len(met) == len({value.name for value in met})
        and len(graph.nodes) == len({node.name for node in graph.nodes})
        and len(graph.outputs) == len(graph.output_names)
    )


def check_names(graph: Graph) -> Iterator[Finding]:
    """Yield names that two values or two nodes share, and nodes that occur twice in the graph."""
    for node in _repeated_items(graph.nodes):
        yield node, Text("occurs more than once among the graph's nodes")
    for value in _repeated_items(graph.inputs):
        text = Text("%{value} occurs more than once among the graph's inputs")
        yield None, text.with_values(value=value.name)
    values = list(dict.fromkeys(graph.values()))
    for name in _repeated_items(value.name for value in values):
        sharers = [value for value in values if value.name == name]
        text = Text("{n} values are called %{name}; only one may be")
        yield sharers[-1].producer, text.with_values(n=len(sharers), name=name)
    nodes = list(dict.fromkeys(graph.nodes))
    for name in _repeated_items(node.name for node in nodes):
        last = [node for node in nodes if node.name == name][-1]
        yield last, Text("another node has the same name")


def check_producers(graph: Graph) -> Iterator[Finding]:
    for value in graph.inputs:
        if value.producer is not None:
            text = Text("%{value} is its output and an input of the graph")
            yield value.producer, text.with_values(value=value.name)
        if value.const is not None:
            text = Text("%{value} is an input of the graph and has constant data")
            yield None, text.with_values(value=value.name)
    for node in graph.nodes:
        for value in node.outputs:
            if value.producer is not node:
                other = value.producer.name if value.producer else Text("no node")
                text = Text("its output %{value} names {other} as its producer")
                yield node, text.with_values(value=value.name, other=other)
            if value.const is not None:
                yield node, Text("its output %{value} has constant data", value=value.name)


def check_uses(graph: Graph) -> Iterator[Finding]:
    for value, uses in _uses_by_inputs(graph).items():
        recorded = dict.fromkeys(value.uses)
        for node, position in recorded:
            if (node, position) not in uses:
                text = Text("%{value} records a use as input {position} that is not there")
                yield node, text.with_values(value=value.name, position=position)
        for node, position in uses:
            if (node, position) not in recorded:
                text = Text("%{value} does not record its use as input {position}")
                yield node, text.with_values(value=value.name, position=position)


def _uses_by_inputs(graph: Graph) -> dict[Value, dict[tuple[Node, int], None]]:
    """Collect the uses of every value from the inputs of the nodes and of the graph's result."""
    uses: dict[Value, dict[tuple[Node, int], None]] = {value: {} for value in graph.values()}
    for node in (*graph.nodes, graph.result):
        for position, value in enumerate(node.inputs):
            if value is not None:
                uses.setdefault(value, {})[node, position] = None
    return uses


def check_order(graph: Graph) -> Iterator[Finding]:
    """Yield values that a node uses before an input, a constant or an earlier node provides them."""
    computed = {value for node in graph.nodes for value in node.outputs}
    known = set(graph.inputs)
    for node in graph.nodes:
        for value in dict.fromkeys(node.present_inputs):
            if value in known or value.const is not None:
                continue
            if value in computed:
                yield node, Text("uses %{value} before it is computed", value=value.name)
            else:
                text = Text("uses %{value}, which nothing in the graph computes")
                yield node, text.with_values(value=value.name)
        known.update(node.outputs)


def check_cycles(graph: Graph) -> Iterator[Finding]:
    stuck = _stuck_nodes(graph)
    walked: set[Node] = set()
    for start in stuck:
        path: dict[Node, None] = {}
        node = start
        while node not in walked:
            walked.add(node)
            path[node] = None
            node = next(producer for producer in node.producers if producer in stuck)
        if node in path:
            nodes = list(path)
            cycle = nodes[nodes.index(node) :]
            names = " -> ".join(member.name for member in [cycle[0], *reversed(cycle)])
            yield node, Text("is in a cycle: {names}", names=names)


def _stuck_nodes(graph: Graph) -> dict[Node, None]:
    inside = dict.fromkeys(graph.nodes)
    needs = {node: {p for p in node.producers if p in inside} for node in inside}
    users: dict[Node, list[Node]] = {node: [] for node in inside}
    for node, producers in needs.items():
        for producer in producers:
            users[producer].append(node)
    ready = [node for node, producers in needs.items() if not producers]
    while ready:
        done = ready.pop()
        for user in users[done]:
            needs[user].discard(done)
            if not needs[user]:
                ready.append(user)
    return {node: None for node, producers in needs.items() if producers}


def check_interface(graph: Graph) -> Iterator[Finding]:
    if len(graph.outputs) != len(graph.output_names):
        text = Text(
            "every output of the graph must have a name, found {n} outputs and {names} names"
        )
        yield None, text.with_values(n=len(graph.outputs), names=len(graph.output_names))
    known = {*graph.inputs, *(value for node in graph.nodes for value in node.outputs)}
    for value in dict.fromkeys(graph.outputs):
        if value not in known and value.const is None:
            yield None, Text("nothing in the graph computes its output %{value}", value=value.name)


def _repeated_items(items: Iterable[_Item]) -> list[_Item]:
    seen: set[_Item] = set()
    twice: dict[_Item, None] = {}
    for item in items:
        if item in seen:
            twice[item] = None
        seen.add(item)
    return list(twice)

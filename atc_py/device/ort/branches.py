"""Switch and Merge as If: nodes that run on one side of a condition become a branch.

A target graph has the nodes of both branches side by side. A Switch passes a value on, on one of two
sides; whatever reads a value of a side that is not taken does not run; a Merge takes the value that
is there. Sides of a value are the set of (condition, truth) under which it is alive. A Merge of two
values whose sides differ in one condition makes an If of it, in which a branch holds the nodes whose
sides are those of the If and that condition.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from onnx import GraphProto, NodeProto, helper

from atc_py.device.ort.node import NoFormError
from atc_py.onnx_graph.reading.nodes import subgraphs
from atc_py.text import Text


def reads_of(node: NodeProto) -> Iterator[str]:
    """Yield the names that a node and the nodes of its graphs read, empty where one is absent."""
    yield from node.input
    for graph in subgraphs(node):
        for inner in graph.node:
            yield from reads_of(inner)


_SIDES = 2

Sides: TypeAlias = "frozenset[tuple[str, bool]]"
"""Conditions under which a value is alive, by name, and how they hold."""


@dataclass(slots=True)
class WrittenOperator:
    """The nodes of one target operator."""

    op: str
    name: str  # the target node's name
    origin: tuple[int, ...]  # what tells the results of one source node from those of others
    reads: Sequence[str]  # names of values, empty where absent
    writes: Sequence[str]  # names of its results
    # what computes them; none of a Switch or a Merge
    nodes: list[NodeProto] = field(default_factory=list)


def with_branches(units: Sequence[WrittenOperator], outputs: Iterable[str]) -> list[NodeProto]:
    """The nodes of `units`, which are in order, with an If for each condition.

    `outputs` are the values that a run returns.
    """
    if not any(unit.op in {"Switch", "Merge"} for unit in units):
        return [node for unit in units for node in unit.nodes]
    branches = _Branches(units)
    for output in outputs:
        branches.require_alive(output)
    return branches.nodes()


@dataclass(slots=True, eq=False)
class _If:
    """Merges that become one If."""

    condition: str
    merges: list[WrittenOperator] = field(default_factory=list)  # the units; each is a result
    # values of each where the condition holds and where not
    sides: list[tuple[str, str]] = field(default_factory=list)
    # those whose results the values and the condition need
    after: set[_If] = field(default_factory=set)


class _Branches:
    """Sides of values, and the units of each set of sides."""

    def __init__(self, units: Sequence[WrittenOperator]) -> None:
        self._sides: dict[str, Sides] = {}
        self._same: dict[str, str] = {}
        self._units: dict[Sides, list[WrittenOperator]] = defaultdict(list)
        self._levels: dict[Sides, list[NodeProto]] = {}
        self._ifs: dict[tuple[object, ...], list[_If]] = defaultdict(list)
        self._if_of: dict[str, _If] = {}
        self._after: dict[str, frozenset[_If]] = {}
        for unit in units:
            if unit.op == "Switch":
                self._switch(unit)
            elif unit.op == "Merge":
                self._merge(unit)
            else:
                self._place(unit, self._around(unit.reads))

    def nodes(self) -> list[NodeProto]:
        return self._level(frozenset())

    def require_alive(self, value: str) -> None:
        """Check that `value` is computed whatever the conditions are."""
        if self._of(value):
            text = Text("output {value} is computed on one side of a condition only")
            raise NoFormError(text.with_values(value=repr(value)))

    def _of(self, value: str) -> Sides:
        return self._sides.get(value, frozenset())

    def _around(self, values: Iterable[str]) -> Sides:
        return frozenset[tuple[str, bool]]().union(*map(self._of, values))

    def _needed_ifs(self, values: Iterable[str]) -> frozenset[_If]:
        """The Ifs of which values are made, without those that others of them need."""
        return frozenset[_If]().union(*(self._after.get(value, frozenset()) for value in values))

    def _place(self, unit: WrittenOperator, sides: Sides) -> None:
        self._units[sides].append(unit)
        after = self._needed_ifs(unit.reads)
        for value in unit.writes:
            self._sides[value] = sides
            self._after[value] = after

    def _switch(self, unit: WrittenOperator) -> None:
        """Note that each output of a Switch is its data, on one side of its condition."""
        data, condition = unit.reads[0], self._real(unit.reads[1])
        around, after = self._around(unit.reads), self._needed_ifs(unit.reads)
        for truth, value in enumerate(unit.writes):
            self._same[value] = data
            self._sides[value] = around | {(condition, bool(truth))}
            self._after[value] = after

    def _merge(self, unit: WrittenOperator) -> None:
        alive = [value for value in unit.reads if not _is_dead(self._of(value))]
        if len(alive) < _SIDES:
            self._pass_on(unit, (alive or list(unit.reads))[0])
            return
        if len(alive) > _SIDES:
            raise NoFormError(Text("the two values of a Merge do not depend on one condition"))
        (one, other) = alive
        differing = {
            (condition, truth)
            for condition, truth in self._of(one)
            if (condition, not truth) in self._of(other)
        }
        if len(differing) != 1:
            raise NoFormError(Text("the two values of a Merge do not depend on one condition"))
        ((condition, truth),) = differing
        outer = self._of(one) - {(condition, truth)}
        if outer != self._of(other) - {(condition, not truth)}:
            raise NoFormError(Text("the two values of a Merge depend on several conditions"))
        found = self._joined((condition, outer, unit.origin), alive, condition)
        found.merges.append(unit)
        found.sides.append((one, other) if truth else (other, one))
        self._if_of[unit.writes[0]] = found
        self._place(unit, outer)
        self._after[unit.writes[0]] = frozenset({found})

    def _joined(self, key: tuple[object, ...], values: Sequence[str], condition: str) -> _If:
        """The If that a Merge of `values` becomes a result of, a new one where none can be.

        An If has all its results at once: none of them can go into another.
        """
        after = self._needed_ifs([*values, condition])
        for found in self._ifs[key]:
            if not _reaches(after, found):
                break
        else:
            found = _If(condition)
            self._ifs[key].append(found)
        found.after |= after
        return found

    def _pass_on(self, unit: WrittenOperator, value: str) -> None:
        """Have a Merge, of which one value is always dead, be the other."""
        made = helper.make_node("Identity", [value], [unit.writes[0]], unit.name)
        sides = self._of(value)
        self._place(
            WrittenOperator("Identity", unit.name, unit.origin, [value], unit.writes, [made]), sides
        )

    def _real(self, value: str) -> str:
        while value in self._same:
            value = self._same[value]
        return value

    def _level(self, sides: Sides) -> list[NodeProto]:
        """The nodes of one set of sides, an If where its first result is."""
        if sides not in self._levels:
            self._levels[sides] = self._written(sides)
        return self._levels[sides]

    def _written(self, sides: Sides) -> list[NodeProto]:
        made: list[tuple[list[NodeProto], set[str], set[str]]] = []
        done: set[_If] = set()
        for unit in self._units[sides]:
            if unit.op != "Merge":
                nodes = [self._renamed(node) for node in unit.nodes]
            elif self._if_of[unit.writes[0]] in done:
                continue
            else:
                found = self._if_of[unit.writes[0]]
                done.add(found)
                nodes = [self._branching(found, sides)]
            writes = {value for node in nodes for value in node.output}
            made.append((nodes, _read_by(nodes), writes))
        return _ordered(made)

    def _branching(self, found: _If, sides: Sides) -> NodeProto:
        name = found.merges[0].name
        graphs: dict[str, Any] = {}
        for truth, key in ((True, "then_branch"), (False, "else_branch")):
            values = [pair[0 if truth else 1] for pair in found.sides]
            graphs[key] = self._branch(f"{name}/{key}", values, sides | {(found.condition, truth)})
        outputs = [merge.writes[0] for merge in found.merges]
        return helper.make_node("If", [found.condition], outputs, name, **graphs)

    def _branch(self, name: str, values: Sequence[str], sides: Sides) -> GraphProto:
        nodes = self._level(sides)
        results = [self._real(value) for value in values]
        nodes = _needed(nodes, results)
        outputs = []
        for index, value in enumerate(results):
            output = f"{name}/{index}"
            nodes.append(helper.make_node("Identity", [value], [output], output))
            outputs.append(helper.make_empty_tensor_value_info(output))
        return helper.make_graph(nodes, name, [], outputs)

    def _renamed(self, node: NodeProto) -> NodeProto:
        """A node that reads what a Switch passes on instead of the output of the Switch."""
        for index, value in enumerate(node.input):
            if value in self._same:
                node.input[index] = self._real(value)
        for attribute in node.attribute:
            for inner in attribute.g.node:
                self._renamed(inner)
            for output in attribute.g.output:
                output.name = self._real(output.name)
        return node


def _is_dead(sides: Sides) -> bool:
    """True if nothing is alive there: a condition would have to hold and not to hold."""
    return any((condition, not truth) in sides for condition, truth in sides)


def _reaches(starts: Iterable[_If], wanted: _If) -> bool:
    """True if `wanted` is one of `starts` or of what those need."""
    seen: set[_If] = set()
    waiting = list(starts)
    while waiting:
        found = waiting.pop()
        if found is wanted:
            return True
        if found not in seen:
            seen.add(found)
            waiting += found.after
    return False


def _needed(nodes: Sequence[NodeProto], results: Iterable[str]) -> list[NodeProto]:
    needed = set(results)
    kept: list[NodeProto] = []
    for node in reversed(nodes):
        if not needed.isdisjoint(node.output):
            kept.append(node)
            needed.update(_read_by([node]))
    return kept[::-1]


def _read_by(nodes: Iterable[NodeProto]) -> set[str]:
    return {value for node in nodes for value in reads_of(node) if value}


def _ordered(made: Sequence[tuple[list[NodeProto], set[str], set[str]]]) -> list[NodeProto]:
    """The nodes with producers first; an If may stand before what another result needs."""
    owner = {value: index for index, (_, _, writes) in enumerate(made) for value in writes}
    found: list[NodeProto] = []
    state: dict[int, bool] = {}
    for root in range(len(made)):
        stack = [(root, False)]
        while stack:
            index, ready = stack.pop()
            if ready:
                state[index] = True
                found += made[index][0]
            elif index not in state:
                state[index] = False
                stack.append((index, True))
                before = {owner[value] for value in made[index][1] if value in owner}
                stack += [(each, False) for each in sorted(before, reverse=True) if each != index]
    return found

"""Switch and Merge as If: nodes that run on one side of a condition become a branch.

A target graph has the nodes of both branches side by side. A Switch passes a value on, on one of two
sides; whatever reads a value of a side that is not taken does not run; a Merge takes the value that
is there. Sides of a value are the set of (condition, truth) under which it is alive. A Merge of two
values whose sides differ in one condition makes an If of it, in which a branch holds the nodes whose
sides are those of the If and that condition.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from onnx import GraphProto, NodeProto, helper

from atc_py.export.node import NoFormError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Unit", "with_branches"]

Sides: TypeAlias = "frozenset[tuple[str, bool]]"
"""Conditions under which a value is alive, by name, and how they hold."""


@dataclass(slots=True)
class Unit:
    """The nodes of one target operator.

    Attributes:
        op: the target operator.
        name: the target node's name.
        origin: what tells the results of one source node from those of others.
        reads: names of values, empty where absent.
        writes: names of its results.
        nodes: what computes them; none of a Switch or a Merge.
    """

    op: str
    name: str
    origin: tuple[int, ...]
    reads: Sequence[str]
    writes: Sequence[str]
    nodes: list[NodeProto] = field(default_factory=list)


def with_branches(units: Sequence[Unit]) -> list[NodeProto]:
    """Return the nodes of `units`, which are in order, with an If for each condition.

    Raises:
        NoFormError: sides of a Merge do not differ in one condition.
    """
    if not any(unit.op in {"Switch", "Merge"} for unit in units):
        return [node for unit in units for node in unit.nodes]
    return _Branches(units).nodes()


@dataclass(slots=True)
class _If:
    """Merges that become one If."""

    condition: str
    merges: list[Unit] = field(default_factory=list)
    sides: list[tuple[str, str]] = field(default_factory=list)


class _Branches:
    """Sides of values, and the units of each set of sides."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._sides: dict[str, Sides] = {}
        self._same: dict[str, str] = {}
        self._units: dict[Sides, list[Unit]] = defaultdict(list)
        self._ifs: dict[tuple[object, ...], _If] = {}
        self._if_of: dict[str, _If] = {}
        for unit in units:
            if unit.op == "Switch":
                self._switch(unit)
            elif unit.op == "Merge":
                self._merge(unit)
            else:
                sides = frozenset[tuple[str, bool]]().union(*map(self._of, unit.reads))
                self._place(unit, sides)

    def nodes(self) -> list[NodeProto]:
        """Return the nodes that run whatever the conditions are."""
        return self._level(frozenset())

    def _of(self, value: str) -> Sides:
        return self._sides.get(value, frozenset())

    def _place(self, unit: Unit, sides: Sides) -> None:
        """Put a unit with those of its sides."""
        self._units[sides].append(unit)
        for value in unit.writes:
            self._sides[value] = sides

    def _switch(self, unit: Unit) -> None:
        """Note that each output of a Switch is its data, on one side of its condition."""
        data, condition = unit.reads[0], self._real(unit.reads[1])
        around = self._of(unit.reads[0]) | self._of(unit.reads[1])
        for truth, value in enumerate(unit.writes):
            self._same[value] = data
            self._sides[value] = around | {(condition, bool(truth))}

    def _merge(self, unit: Unit) -> None:
        """Note a Merge, and which value it takes on which side."""
        (one, other) = unit.reads
        differing = {
            (condition, truth)
            for condition, truth in self._of(one)
            if (condition, not truth) in self._of(other)
        }
        if len(differing) != 1:
            raise NoFormError("its two values do not differ in one condition")
        ((condition, truth),) = differing
        outer = (self._of(one) | self._of(other)) - {(condition, True), (condition, False)}
        key = (condition, outer, unit.origin)
        found = self._ifs.get(key)
        if found is None:
            found = self._ifs[key] = _If(condition)
        found.merges.append(unit)
        found.sides.append((one, other) if truth else (other, one))
        self._if_of[unit.writes[0]] = found
        self._place(unit, outer)

    def _real(self, value: str) -> str:
        """Return the value that a Switch passes on."""
        while value in self._same:
            value = self._same[value]
        return value

    def _level(self, sides: Sides) -> list[NodeProto]:
        """Return the nodes of one set of sides, an If where its first result is."""
        made: list[tuple[list[NodeProto], set[str], set[str]]] = []
        done: set[int] = set()
        for unit in self._units[sides]:
            if unit.op != "Merge":
                nodes = [self._renamed(node) for node in unit.nodes]
            elif id(self._if_of[unit.writes[0]]) in done:
                continue
            else:
                found = self._if_of[unit.writes[0]]
                done.add(id(found))
                nodes = [self._branching(found, sides)]
            writes = {value for node in nodes for value in node.output}
            made.append((nodes, _read_by(nodes), writes))
        return _ordered(made)

    def _branching(self, found: _If, sides: Sides) -> NodeProto:
        """Return an If with its branches."""
        name = found.merges[0].name
        graphs: dict[str, Any] = {}
        for truth, key in ((True, "then_branch"), (False, "else_branch")):
            values = [pair[0 if truth else 1] for pair in found.sides]
            graphs[key] = self._branch(f"{name}/{key}", values, sides | {(found.condition, truth)})
        outputs = [merge.writes[0] for merge in found.merges]
        return helper.make_node("If", [found.condition], outputs, name, **graphs)

    def _branch(self, name: str, values: Sequence[str], sides: Sides) -> GraphProto:
        """Return a branch: what its results need of the nodes on its side."""
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
        """Return a node that reads what a Switch passes on instead of the output of the Switch."""
        for index, value in enumerate(node.input):
            if value in self._same:
                node.input[index] = self._real(value)
        return node


def _needed(nodes: Sequence[NodeProto], results: Iterable[str]) -> list[NodeProto]:
    """Return those of `nodes`, in order, that the results need."""
    needed = set(results)
    kept: list[NodeProto] = []
    for node in reversed(nodes):
        if not needed.isdisjoint(node.output):
            kept.append(node)
            needed.update(_read_by([node]))
    return kept[::-1]


def _read_by(nodes: Iterable[NodeProto]) -> set[str]:
    """Return the names that nodes read, those in graphs inside included."""
    found: set[str] = set()
    for node in nodes:
        found.update(filter(None, node.input))
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found |= _read_by(attribute.g.node)
    return found


def _ordered(made: Sequence[tuple[list[NodeProto], set[str], set[str]]]) -> list[NodeProto]:
    """Return the nodes with producers first; an If may stand before what another result needs."""
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

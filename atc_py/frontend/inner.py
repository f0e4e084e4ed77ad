"""The branches of If nodes whose condition is not known: graphs of their own, looked into."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atc_py.diag import AtcError
from atc_py.frontend.contents import locate_contents
from atc_py.frontend.fold import fold_what_can_be
from atc_py.frontend.graph import ValueType, WorkGraph, inner_nodes
from atc_py.frontend.signatures import signature_faults
from atc_py.frontend.text import texts_of
from atc_py.frontend.validate import sort_nodes
from atc_py.frontend.window_types import known_type

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from onnx import GraphProto

    from atc_py.diag import Diagnostic
    from atc_py.frontend.graph import WorkNode
    from atc_py.frontend.tensors import TensorReader
    from atc_py.ir import ConstData

__all__ = ["Branch", "FoldedGraph", "fold_with_branches"]

_NOTHING = ValueType(0, None)


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """A branch of an If node.

    Attributes:
        name: the attribute that holds it.
        folded: its graph.
    """

    name: str
    folded: FoldedGraph


@dataclass(frozen=True, slots=True, eq=False)
class FoldedGraph:
    """A graph that is folded and inferred as far as it can be.

    Attributes:
        graph: the graph.
        branches: by the If nodes that are left.
        faults: what is wrong with the graph and its branches.
    """

    graph: WorkGraph
    branches: dict[WorkNode, tuple[Branch, ...]] = field(default_factory=dict)
    faults: tuple[Diagnostic, ...] = ()


def fold_with_branches(graph: WorkGraph, tensors: TensorReader, limit: int) -> FoldedGraph:
    """Fold `graph` as far as it can be, and look into the branches of the If nodes that are left.

    What branches hand out tells the types of what comes behind them. So branches are looked into in
    the order of their nodes, each once, and the graph is folded again before the first node that
    depends on what has been learnt since.
    """
    faults = fold_what_can_be(graph, tensors, limit)
    branches: dict[WorkNode, tuple[Branch, ...]] = {}
    bad: dict[WorkNode, list[Diagnostic]] = {}
    news: set[str] = set()
    while (node := _next_if(graph, branches)) is not None:
        if news and _depends(graph, node, news):
            faults, news = fold_what_can_be(graph, tensors, limit), set()
            continue
        branches[node], bad[node] = _look_into(graph, node, tensors, limit)
        told = _handed_out(node, branches[node])
        graph.pinned.update(told)
        news.update(told)
    if news:
        faults = fold_what_can_be(graph, tensors, limit)
    left = [node for node in graph.nodes if node in branches]
    inner = [fault for node in left for fault in bad[node]]
    return FoldedGraph(graph, {node: branches[node] for node in left}, (*faults, *inner))


def _next_if(graph: WorkGraph, known: Container[WorkNode]) -> WorkNode | None:
    """The first If node that nobody has looked into."""
    left = (each for each in graph.nodes if each.is_if and each not in known)
    return next((each for each in left if each not in graph.unsound), None)


def _depends(graph: WorkGraph, wanted: WorkNode, names: Iterable[str]) -> bool:
    """Whether a node reads one of `names`, or what is computed from them."""
    reached = set(names)
    for node in graph.nodes:
        reads = not reached.isdisjoint(node.reads)
        if node is wanted:
            return reads
        if reads:
            reached.update(node.writes)
    return False


def _look_into(
    graph: WorkGraph, node: WorkNode, tensors: TensorReader, limit: int
) -> tuple[tuple[Branch, ...], list[Diagnostic]]:
    """The branches of a node, and what is wrong with them."""
    found: list[Branch] = []
    faults: list[Diagnostic] = []
    for name, proto in _graphs(node):
        try:
            folded = _fold_branch(graph, node, proto, tensors, limit)
        except AtcError as error:
            faults += error.diagnostics
            continue
        found.append(Branch(name, folded))
        faults += folded.faults
    return tuple(found), faults


def _graphs(node: WorkNode) -> Iterator[tuple[str, GraphProto]]:
    """The branches of a node by the attributes that hold them."""
    for attribute in node.proto.attribute:
        if attribute.HasField("g"):
            yield attribute.name, attribute.g


def _fold_branch(
    outer: WorkGraph, node: WorkNode, proto: GraphProto, tensors: TensorReader, limit: int
) -> FoldedGraph:
    """One branch, given what is known around it.

    Raises:
        AtcError: where its nodes cannot be ordered, or its tensors cannot be read.
    """
    contents = locate_contents(proto, tensors, outer.path)
    nodes = inner_nodes(proto, node, outer.opsets)
    taken = {name: known_type(outer, name) or _NOTHING for name in node.captured}
    faults = {each: found for each in nodes if (found := signature_faults(each))}
    graph = WorkGraph(
        path=outer.path,
        opsets=outer.opsets,
        nodes=sort_nodes(nodes),
        inputs={name: type_ for name, type_ in taken.items() if name not in outer.consts},
        outputs=texts_of((value.name for value in proto.output), node.place),
        consts={**_captured_consts(outer, node), **contents.weights},
        foreign=dict(contents.foreign),
        kinds={name: kind for name, kind in outer.kinds.items() if name in taken},
        unsound=frozenset(faults),
    )
    folded = fold_with_branches(graph, tensors, limit)
    own = [fault for found in faults.values() for fault in found]
    return FoldedGraph(graph, folded.branches, (*own, *folded.faults))


def _captured_consts(outer: WorkGraph, node: WorkNode) -> dict[str, ConstData]:
    """The constants around a branch that it uses."""
    return {name: outer.consts[name] for name in node.captured if name in outer.consts}


def _handed_out(node: WorkNode, branches: tuple[Branch, ...]) -> dict[str, ValueType]:
    """Types of what an If node hands out, as far as both branches agree."""
    told: dict[str, ValueType] = {}
    for position, name in enumerate(node.outputs):
        types = [_output_type(branch, position) for branch in branches]
        if name and types:
            told[name] = _agreed(types)
    return {name: found for name, found in told.items() if found != _NOTHING}


def _output_type(branch: Branch, position: int) -> ValueType:
    """What is known of one output of a branch."""
    graph = branch.folded.graph
    if position >= len(graph.outputs):
        return _NOTHING
    return known_type(graph, graph.outputs[position]) or _NOTHING


def _agreed(types: list[ValueType]) -> ValueType:
    """What all of `types` have in common."""
    elements = {each.element for each in types}
    element = elements.pop() if len(elements) == 1 else 0
    dims = [each.dims for each in types]
    ranks = {None if each is None else len(each) for each in dims}
    if len(ranks) != 1 or None in ranks:
        return ValueType(element, None)
    known = [each for each in dims if each is not None]
    return ValueType(
        element,
        tuple(
            extents[0] if len(set(extents)) == 1 else None for extents in zip(*known, strict=True)
        ),
    )

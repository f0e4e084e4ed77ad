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
    from collections.abc import Iterator

    from onnx import GraphProto

    from atc_py.diag import Diagnostic
    from atc_py.frontend.graph import WorkNode
    from atc_py.frontend.tensors import TensorReader
    from atc_py.ir import ConstData

__all__ = ["Branch", "FoldedGraph", "fold_with_branches"]

_ROUNDS = 16
"""Looking into branches and folding around them in turn; a round can settle many If nodes."""

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
    """Fold `graph` as far as it can be, and look into the branches that are left.

    What branches hand out tells the types of what comes behind them, and those may tell more of
    other branches; both are done in turn until nothing changes.
    """
    found = _fold_once(graph, tensors, limit)
    for _ in range(_ROUNDS):
        pinned = _handed_out(found)
        if pinned == graph.pinned:
            break
        graph.pinned = pinned
        found = _fold_once(graph, tensors, limit)
    return found


def _fold_once(graph: WorkGraph, tensors: TensorReader, limit: int) -> FoldedGraph:
    """Fold the graph, and then the branches of what is left; each of them once."""
    faults = fold_what_can_be(graph, tensors, limit)
    branches: dict[WorkNode, tuple[Branch, ...]] = {}
    for node in graph.nodes:
        if not node.is_if or node in graph.unsound:
            continue
        inner: list[Branch] = []
        for name, proto in _graphs(node):
            try:
                folded = _fold_branch(graph, node, proto, tensors, limit)
            except AtcError as error:
                faults += error.diagnostics
                continue
            inner.append(Branch(name, folded))
            faults += folded.faults
        branches[node] = tuple(inner)
    return FoldedGraph(graph, branches, tuple(faults))


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
    folded = _fold_once(graph, tensors, limit)
    graph.pinned = _handed_out(folded)
    # Inner branches are not looked into again: each level twice would be 2^depth times.
    later = fold_what_can_be(graph, tensors, limit) if graph.pinned else []
    own = [fault for found in faults.values() for fault in found]
    return FoldedGraph(graph, folded.branches, (*own, *(later or folded.faults)))


def _captured_consts(outer: WorkGraph, node: WorkNode) -> dict[str, ConstData]:
    """The constants around a branch that it uses."""
    return {name: outer.consts[name] for name in node.captured if name in outer.consts}


def _handed_out(folded: FoldedGraph) -> dict[str, ValueType]:
    """Types of what If nodes hand out, as far as both branches agree."""
    pinned: dict[str, ValueType] = {}
    for node, branches in folded.branches.items():
        for position, name in enumerate(node.outputs):
            types = [_output_type(branch, position) for branch in branches]
            if name and types:
                pinned[name] = _agreed(types)
    return {name: found for name, found in pinned.items() if found != _NOTHING}


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

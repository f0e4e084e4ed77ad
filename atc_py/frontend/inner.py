"""The branches of If nodes whose condition is not known: graphs of their own, looked into."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_MODEL, UNKNOWN_SHAPE
from atc_py.frontend.contents import locate_contents
from atc_py.frontend.fold import fold_what_can_be
from atc_py.frontend.graph import ValueType, WorkGraph, inner_nodes
from atc_py.frontend.qdq.importing import import_quantised
from atc_py.frontend.signatures import signature_faults
from atc_py.frontend.tensors import element_name
from atc_py.frontend.text import texts_of
from atc_py.frontend.validate import sort_nodes
from atc_py.frontend.window_types import known_type
from atc_py.source import scope_name

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from onnx import GraphProto

    from atc_py.diag import Diagnostic
    from atc_py.frontend.graph import WorkNode
    from atc_py.frontend.tensors import TensorReader
    from atc_py.ir import ConstData
    from atc_py.source import QuantisedNode

__all__ = ["Branch", "FoldedGraph", "fold_with_branches"]

_NOTHING = ValueType(0, None)

_SAME_COUNT = "give the node and both branches one number of outputs, or export the model again"


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
        quantised: what became of the quantised layers of branches, which are imported on the way.
    """

    graph: WorkGraph
    branches: dict[WorkNode, tuple[Branch, ...]] = field(default_factory=dict)
    faults: tuple[Diagnostic, ...] = ()
    quantised: tuple[QuantisedNode, ...] = ()


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
    kept = {node: branches[node] for node in left}
    quantised = [
        each for found in kept.values() for branch in found for each in branch.folded.quantised
    ]
    return FoldedGraph(graph, kept, (*faults, *inner), tuple(quantised))


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
            folded = _fold_branch(graph, node, (name, proto), tensors, limit)
        except AtcError as error:
            faults += error.diagnostics
            continue
        found.append(Branch(name, folded))
        faults += folded.faults
    return tuple(found), [*faults, *_faults_of_results(graph, node, found)]


def _graphs(node: WorkNode) -> Iterator[tuple[str, GraphProto]]:
    """The branches of a node by the attributes that hold them."""
    for attribute in node.proto.attribute:
        if attribute.HasField("g"):
            yield attribute.name, attribute.g


def _fold_branch(
    outer: WorkGraph,
    node: WorkNode,
    branch: tuple[str, GraphProto],
    tensors: TensorReader,
    limit: int,
) -> FoldedGraph:
    """One branch, given what is known around it.

    Args:
        outer: the graph around it.
        node: the If.
        branch: the attribute that holds it, and its graph.
        tensors: reads its tensors.
        limit: bytes that folding one node may make.

    Raises:
        AtcError: where its nodes cannot be ordered, or its tensors cannot be read.
    """
    name, proto = branch
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
    scope = scope_name(name, node.name, node.index, "")
    here = [replace(each, scope=scope) for each in import_quantised(graph, tensors, limit)]
    folded = fold_with_branches(graph, tensors, limit)
    own = [fault for found in faults.values() for fault in found]
    inner = [replace(each, scope=f"{each.scope}, {scope}") for each in folded.quantised]
    return FoldedGraph(graph, folded.branches, (*own, *folded.faults), (*here, *inner))


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


def _faults_of_results(
    graph: WorkGraph, node: WorkNode, branches: list[Branch]
) -> Iterator[Diagnostic]:
    """What is wrong with the outputs of a node, given its branches."""
    count = len(node.outputs)
    for branch in branches:
        found = len(branch.folded.graph.outputs)
        if found != count:
            message = f"both branches must hand out {count}, as many as the node has outputs; "
            message += f"{branch.name} hands out {found}"
            place = replace(node.place, field=f"attribute {branch.name}")
            yield BAD_MODEL.diagnostic(message, place=place, help=_SAME_COUNT)
    for position, name in enumerate(node.outputs):
        types = {branch.name: _output_type(branch, position) for branch in branches}
        differences = list(_contradictions(node, name, types))
        if differences and name in graph.used_names():
            yield from differences


def _contradictions(
    node: WorkNode, name: str, types: Mapping[str, ValueType]
) -> Iterator[Diagnostic]:
    """How the branches differ in what they hand out as one output, as far as it is known."""
    place = replace(node.place, field=f"output {name!r}")
    elements = {at: element_name(each.element) for at, each in types.items() if each.element}
    if len(set(elements.values())) > 1:
        found = " and ".join(f"{each} in {at}" for at, each in elements.items())
        help_ = "cast what one of the branches hands out, so that both have one element type"
        yield BAD_MODEL.diagnostic(f"its output {name!r} is {found}", place=place, help=help_)
    ranks = {at: len(each.dims) for at, each in types.items() if each.dims is not None}
    if len(set(ranks.values())) > 1:
        found = " and ".join(f"rank {rank} in {at}" for at, rank in ranks.items())
        help_ = "let both branches hand out tensors of one rank"
        yield UNKNOWN_SHAPE.diagnostic(f"its output {name!r} has {found}", place=place, help=help_)


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

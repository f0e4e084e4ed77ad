"""Parts of a graph that may fold away once dims that are open are known.

A value settles if it is a function of shapes and constants alone: Shape and Size are constants as
soon as the shape that they read is known, and so is everything computed from them. A node vanishes
if all its results settle, or if only vanishing nodes need them.

Both sets may be too large, never too small: a node outside them that breaks a rule breaks it
whatever dims are chosen, while a node inside may still stay, for instance because its constant
would be too large.
"""

from collections.abc import Set as AbstractSet

import msgspec

from atc_py.onnx_graph.folding.evaluate import can_evaluate
from atc_py.onnx_graph.folding.fold import UNSIZED
from atc_py.onnx_graph.folding.fold_views import VIEW_FOLDS
from atc_py.onnx_graph.graph import Branch, FoldedGraph, OnnxGraph, OnnxNode

_SHAPES = frozenset({"Shape", "Size"})

_OWN_FOLDS = frozenset({"ConstantOfShape", *VIEW_FOLDS})
"""Operators that fold at every opset."""

_AS_LARGE = frozenset({"Cast", "Identity", "Neg", "Transpose"})
"""Operators whose result has as many elements along each axis as the first input."""

_NOTHING: frozenset[str] = frozenset()


class Vanishing(msgspec.Struct, frozen=True):
    """Parts of one graph that exist only while dims are open."""

    # names of values that are not constants yet and may become constants
    settling: AbstractSet[str]
    nodes: AbstractSet[OnnxNode]  # nodes that may fold away, or that nothing may need then
    # names from around the graph that its nodes or outputs need for certain
    needed: AbstractSet[str]


def vanishing(folded: FoldedGraph, around: AbstractSet[str] = _NOTHING) -> Vanishing:
    """Find the parts of a folded graph that may fold away once every dim is known.

    `around` are values of the graph around it that settle.
    """
    inner: dict[OnnxNode, list[Vanishing]] = {}
    settling = _settling_values(folded, around, inner)
    return _with_nodes(folded.graph, settling, inner)


def _settling_values(
    folded: FoldedGraph, around: AbstractSet[str], inner: dict[OnnxNode, list[Vanishing]]
) -> set[str]:
    """The values that settle; `inner` is given what becomes of branches."""
    graph = folded.graph
    settling, unsized = set(around), set[str]()
    if not around and not any(
        (not node.domain and (node.op_type in _SHAPES or node.is_if)) for node in graph.nodes
    ):
        return settling  # values settle from shapes on, from around the graph, or by a branch
    for node in graph.nodes:
        if node in graph.unsound or node.domain:
            continue
        branches = folded.branches.get(node, ())
        inner[node] = [vanishing(branch.folded, settling) for branch in branches]
        if node.is_if:
            settling.update(_settled_by_if(graph, node, branches, inner[node], settling))
        elif _node_settles(graph, node, settling, unsized):
            settling.update(node.writes)
        elif _is_unsized(node, unsized):
            unsized.update(node.writes)
    return settling


def _node_settles(
    graph: OnnxGraph, node: OnnxNode, settling: AbstractSet[str], unsized: AbstractSet[str]
) -> bool:
    """True if the results of a node other than If are constants with every dim known."""
    if node.op_type in _SHAPES:
        return bool(node.input_names) and node.input_names[0] not in unsized
    if not (node.op_type in _OWN_FOLDS or can_evaluate(node)):
        return False
    pending = [name for name in node.reads if name not in graph.consts]
    return bool(pending) and all(name in settling for name in pending)


def _is_unsized(node: OnnxNode, unsized: AbstractSet[str]) -> bool:
    """True if the shape of the results depends on values, not only on dims."""
    if node.op_type in UNSIZED:
        return True
    if node.op_type == "Gather":
        return node.input_name(1) in unsized
    return node.op_type in _AS_LARGE and node.input_name(0) in unsized


def _settled_by_if(
    graph: OnnxGraph,
    node: OnnxNode,
    branches: tuple[Branch, ...],
    inner: list[Vanishing],
    settling: AbstractSet[str],
) -> set[str]:
    """The results of an If that are constants if the branch taken returns constants."""
    if not _is_decided(graph, node, settling):
        return set()
    return {
        name
        for branch, fate in zip(branches, inner, strict=True)
        for name, result in zip(node.output_names, branch.folded.graph.outputs, strict=False)
        if name and (result in fate.settling or result in branch.folded.graph.consts)
    }


def _is_decided(graph: OnnxGraph, node: OnnxNode, settling: AbstractSet[str]) -> bool:
    """True if the dims together decide which branch an If takes."""
    condition = node.input_names[0] if node.input_names else ""
    return condition in settling or condition in graph.consts


def _with_nodes(
    graph: OnnxGraph, settling: set[str], inner: dict[OnnxNode, list[Vanishing]]
) -> Vanishing:
    needed = {name for name in graph.outputs if name not in settling}
    gone: set[OnnxNode] = set()
    for node in reversed(graph.nodes):
        if needed.isdisjoint(node.writes):
            gone.add(node)
        elif node.is_if and node in inner and _is_decided(graph, node, settling):
            gone.add(node)
            needs = [branch.needed for branch in inner[node]] or [{*node.captured}]
            needed.update(set(needs[0]).intersection(*needs[1:]))
        else:
            needed.update(node.reads)
        if settling:
            needed.difference_update(settling)
    made = {name for node in graph.nodes for name in node.writes}
    return Vanishing(settling, gone, needed - made)

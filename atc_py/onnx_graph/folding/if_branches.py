"""The branches of If nodes whose condition is not known: graphs of their own, folded too."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from onnx import GraphProto

from atc_py.diag import BAD_MODEL, UNKNOWN_SHAPE, AtcError, Diagnostic
from atc_py.onnx_graph.folding.fold import fold_graph
from atc_py.onnx_graph.graph import Branch, FoldedGraph, OnnxGraph, OnnxNode, ValueType
from atc_py.onnx_graph.reading.attributes import broken_nodes
from atc_py.onnx_graph.reading.contents import locate_contents, sort_nodes
from atc_py.onnx_graph.reading.nodes import inner_nodes, texts_of
from atc_py.onnx_graph.reading.tensors import TensorReader, element_name, known_type
from atc_py.onnx_graph.rewriting.qdq import import_quantized
from atc_py.onnx_graph.source import scope_name
from atc_py.onnx_graph.typing.infer import infer_between
from atc_py.system.structs import replace
from atc_py.text import Text

_NOTHING = ValueType(0, None)

_FOLDINGS = 24
"""Limit on foldings of a graph whose If nodes depend on one another."""

_NO_INPUTS = Text("let the branch use values of the graph around it by their names")
_SAME_COUNT = Text(
    "give the node and both branches the same number of outputs, or export the model again"
)


def fold_branches(graph: OnnxGraph, tensors: TensorReader, limit: int) -> FoldedGraph:
    """Fold `graph` as `fold_with_branches` does.

    The outputs of branches determine the types of later nodes. So branches are folded in
    the order of their nodes, each once, and the graph is folded again before the first node that
    depends on types learned since. After _FOLDINGS of these, only types are carried on
    from one If to the next.
    """
    return _BranchWalk(graph, tensors, limit).fold()


class _BranchWalk:
    """The walk over the If nodes of one graph."""

    def __init__(self, graph: OnnxGraph, tensors: TensorReader, limit: int) -> None:
        self._graph = graph
        self._tensors = tensors
        self._limit = limit
        self._branches: dict[OnnxNode, tuple[Branch, ...]] = {}
        self._faults: dict[OnnxNode, list[Diagnostic]] = {}
        self._results: dict[OnnxNode, list[Diagnostic]] = {}
        self._news: set[str] = set()
        self._used: set[str] = set()

    def fold(self) -> FoldedGraph:
        faults = self._fold()
        foldings = 1
        while self._walk(carrying=foldings >= _FOLDINGS) or self._news:
            faults = self._fold()
            foldings += 1
        left = [node for node in self._graph.nodes if node in self._branches]
        inner = [fault for node in left for fault in self._faults[node]]
        results = [fault for node in left for fault in self._results[node]]
        kept = {node: self._branches[node] for node in left}
        folded = [branch.folded for branches in kept.values() for branch in branches]
        own = [] if self._graph.always_runs else [*faults, *results]
        chosen = (*own, *(fault for branch in folded for fault in branch.chosen))
        quantized = [layer for branch in folded for layer in branch.quantized]
        every = (*faults, *inner, *results)
        return FoldedGraph(self._graph, kept, every, tuple(quantized), chosen)

    def _fold(self) -> list[Diagnostic]:
        self._news.clear()
        faults = fold_graph(self._graph, self._tensors, self._limit)
        if any(node.is_if for node in self._graph.nodes):
            self._used = self._graph.used_names()
        return faults

    def _walk(self, *, carrying: bool) -> bool:
        """Fold the branches of If nodes in order; return True if one must wait for new types.

        None must wait if `carrying`, which passes new types on to the nodes that depend on them.
        """
        dependent: set[str] = set()
        for node in self._graph.nodes:
            depends = not dependent.isdisjoint(node.reads)
            if depends:
                dependent.update(node.writes)
            if not node.is_if or node in self._branches or node in self._graph.unsound:
                if depends and carrying and node not in self._branches:
                    infer_between(self._graph, [node])
                continue
            if depends and not carrying:
                return True
            dependent.update(self._look_into(node))
        return False

    def _look_into(self, node: OnnxNode) -> set[str]:
        """Fold the branches of one node; return the names of its results whose types are known now."""
        graph = self._graph
        branches, faults = _look_into(graph, node, self._tensors, self._limit)
        self._branches[node] = branches
        self._faults[node] = faults
        self._results[node] = list(_faults_of_results(node, branches, self._used))
        learned = _types_of_outputs(node, self._branches[node])
        graph.pinned.update(learned)
        graph.types.update(learned)
        self._news.update(learned)
        return set(learned)


def _look_into(
    graph: OnnxGraph, node: OnnxNode, tensors: TensorReader, limit: int
) -> tuple[tuple[Branch, ...], list[Diagnostic]]:
    branches: list[Branch] = []
    faults: list[Diagnostic] = []
    for name, proto in node.graphs.items():
        try:
            folded = _fold_branch(graph, node, (name, proto), tensors, limit)
        except AtcError as error:
            faults += error.diagnostics
            continue
        branches.append(Branch(name, folded))
        faults += folded.faults
    return tuple(branches), faults


def _fold_branch(
    outer: OnnxGraph,
    node: OnnxNode,
    branch: tuple[str, GraphProto],
    tensors: TensorReader,
    limit: int,
) -> FoldedGraph:
    """One branch, given what is known around it."""
    name, proto = branch
    nodes = inner_nodes(proto, node, outer.opsets)
    contents = locate_contents(proto, nodes, tensors, outer.path)
    _refuse_inputs(node, name, proto, contents.names)
    taken = {name: known_type(outer, name) or _NOTHING for name in node.captured}
    faults = broken_nodes(nodes)
    graph = OnnxGraph(
        path=outer.path,
        opsets=outer.opsets,
        nodes=sort_nodes(nodes),
        inputs={name: type_ for name, type_ in taken.items() if name not in outer.consts},
        outputs=texts_of((value.name for value in proto.output), node.place),
        consts={
            **({name: outer.consts[name] for name in node.captured if name in outer.consts}),
            **contents.weights,
        },
        foreign=dict(contents.foreign),
        kinds={name: outer.kinds[name] for name in taken if name in outer.kinds},
        unsound=frozenset(faults),
        always_runs=False,
        quant_bias=outer.quant_bias,
    )
    scope = scope_name(name, node.name, node.index, "")
    here = [replace(layer, scope=scope) for layer in import_quantized(graph, tensors, limit)]
    folded = fold_branches(graph, tensors, limit)
    own = [fault for own_faults in faults.values() for fault in own_faults]
    inner = [replace(layer, scope=f"{layer.scope}, {scope}") for layer in folded.quantized]
    every = (*own, *folded.faults)
    return FoldedGraph(graph, folded.branches, every, (*here, *inner), folded.chosen)


def _refuse_inputs(
    node: OnnxNode, name: str, proto: GraphProto, initializers: Sequence[str]
) -> None:
    fed = [value.name for value in proto.input if value.name not in set(initializers)]
    if fed:
        message = Text(
            "{name} of an If takes no inputs, found {count}, the first {fed}",
            name=name,
            count=len(fed),
            fed=repr(fed[0]),
        )
        place = node.place.with_field(f"attribute {name}")
        raise BAD_MODEL.error(message, place=place, help=_NO_INPUTS)


def _types_of_outputs(node: OnnxNode, branches: tuple[Branch, ...]) -> dict[str, ValueType]:
    """The types of an If node's outputs, as far as both branches agree."""
    learned: dict[str, ValueType] = {}
    for position, name in enumerate(node.output_names):
        types = [_output_type(branch, position) for branch in branches]
        if name and types:
            learned[name] = _common_type(types)
    return {name: known for name, known in learned.items() if known != _NOTHING}


def _output_type(branch: Branch, position: int) -> ValueType:
    graph = branch.folded.graph
    if position >= len(graph.outputs):
        return _NOTHING
    return known_type(graph, graph.outputs[position]) or _NOTHING


def _faults_of_results(
    node: OnnxNode, branches: Sequence[Branch], used: Collection[str]
) -> Iterator[Diagnostic]:
    count = len(node.output_names)
    for branch in branches:
        actual = len(branch.folded.graph.outputs)
        if actual != count:
            message = Text(
                "both branches must have {count} outputs, as many as the node; ", count=count
            )
            message += Text("{branch} has {actual}", branch=branch.name, actual=actual)
            place = node.place.with_field(f"attribute {branch.name}")
            yield BAD_MODEL.diagnostic(message, place=place, help=_SAME_COUNT)
    for position, name in enumerate(node.output_names):
        types = {branch.name: _output_type(branch, position) for branch in branches}
        differences = list(_contradictions(node, name, types))
        if differences and name in used:
            yield from differences


def _contradictions(
    node: OnnxNode, name: str, types: Mapping[str, ValueType]
) -> Iterator[Diagnostic]:
    """Yield the differences between the types that the branches return as one output."""
    place = node.place.with_field(Text("output {at}", at=repr(name)))
    elements = {at: element_name(known.element) for at, known in types.items() if known.element}
    if len(set(elements.values())) > 1:
        seen = " and ".join(f"{element} in {at}" for at, element in elements.items())
        help_ = Text("cast the output of one of the branches, so that both have one element type")
        yield BAD_MODEL.diagnostic(
            Text("its output {name} is {actual}", name=repr(name), actual=seen),
            place=place,
            help=help_,
        )
    ranks = {at: len(known.dims) for at, known in types.items() if known.dims is not None}
    if len(set(ranks.values())) > 1:
        seen = " and ".join(f"rank {rank} in {at}" for at, rank in ranks.items())
        help_ = Text("make both branches return tensors of the same rank")
        yield UNKNOWN_SHAPE.diagnostic(
            Text("its output {name} has {actual}", name=repr(name), actual=seen),
            place=place,
            help=help_,
        )


def _common_type(types: list[ValueType]) -> ValueType:
    elements = {type_.element for type_ in types}
    element = elements.pop() if len(elements) == 1 else 0
    dims = [type_.dims for type_ in types]
    ranks = {None if shape is None else len(shape) for shape in dims}
    if len(ranks) != 1 or None in ranks:
        return ValueType(element, None)
    known = [shape for shape in dims if shape is not None]
    return ValueType(
        element,
        tuple(
            lengths[0] if len(set(lengths)) == 1 else None for lengths in zip(*known, strict=True)
        ),
    )

"""Origins of errors: each layer's error beside the largest error among its inputs.

A layer whose error is more than INTRODUCED_FACTOR times the largest error of what it reads
introduced it; any other layer passed it on, and has the root of the input with the largest error. Lost values
count as infinite errors. Steps without a counterpart pass on the largest error that they read, and
so do operators that only move values, such as a Slice, whatever share of the error its part has,
unless a step that computes and was not measured stands before them.
A sum or mean whose terms cancel has a large error relative to its value and a small one relative
to its terms, which is all that a float can promise; the magnitude of the terms is recorded for such
a layer unless it is an output of the model. Where the small difference matters, its readers fail.
Comparing ratios costs nothing; running each kernel again on exact inputs would show the same for
overflow, underflow and cancellation, at the price of a second run.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from atc_py.compare.matching import Matching
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.package.schema import OmModel, OmNode
from atc_py.results.cann_nodes import CannNode, CannSemantics
from atc_py.results.judgment import QuantizedGrid
from atc_py.results.layer import INTRODUCED_FACTOR, NOISE, ErrorOrigin, Figures, Layer
from atc_py.system.structs import replace
from atc_py.target import Unit, find_operator

_MEANS = frozenset({"ReduceMean", "ReduceMeanD"})
_SUMS = frozenset({"ReduceSum", "ReduceSumD"})
"""Target operators that add up one input."""


def trace_origins(
    model: OmModel,
    matching: Matching,
    figures: Mapping[int, Figures],
    sources: Sequence[OnnxNode],
    grids: Mapping[int, QuantizedGrid],
    semantics: CannSemantics | None = None,
) -> tuple[Layer, ...]:
    """The layers in the order of execution, each with the origin of its error.

    `figures` are by tensor, `grids` those of the tensors that hold quantized values; `semantics`
    are the nodes that compute what CANN makes of them.
    """
    makers = {name: source for source in sources for name in source.output_names}
    tracer = _Tracer()
    causes = _Causes(semantics)
    outputs = {port.tensor for port in model.outputs}
    for index, node in enumerate(model.nodes):
        reached = tracer.inherited(node)
        deviating = causes.reaching(node)
        for tensor in node.outputs:
            if tensor in figures:
                value = matching.values[tensor]
                plain = _layer(model, index, tensor, makers.get(value), value, figures[tensor])
                plain = replace(plain, grid=grids.get(tensor), deviating=deviating)
                if tensor not in outputs:
                    plain = replace(plain, summed=_term_magnitude(node, tensor, figures))
                tracer.add(tensor, plain, reached)
            else:
                tracer.hand_on(tensor, reached, computed=not _passes_unchanged(node.op))
                causes.hand_on(tensor, deviating)
    return tuple(tracer.layers)


class _Causes:
    """Nodes that deviate on CANN, among a step's own and those before it that were not measured."""

    def __init__(self, semantics: CannSemantics | None) -> None:
        nodes = () if semantics is None else semantics.nodes
        self._by_place = {(each.node, each.name): each for each in nodes}
        self._before: dict[int, tuple[CannNode, ...]] = {}

    def reaching(self, node: OmNode) -> tuple[CannNode, ...]:
        before = [each for tensor in node.inputs for each in self._before.get(tensor, ())]
        places = ((each.index, each.name) for each in node.origins)
        own = [self._by_place[place] for place in places if place in self._by_place]
        return tuple(dict.fromkeys((*before, *own)))

    def hand_on(self, tensor: int, deviating: tuple[CannNode, ...]) -> None:
        """Record a tensor that was not measured; what reads it may show its error first."""
        self._before[tensor] = deviating


class _Reached(NamedTuple):
    """Error that reaches a node: the largest, its root, and where the failing layers began."""

    error: float
    root: int | None
    start: int | None
    steps: int = 0
    hidden: bool = False
    """Whether a step that was not measured computed since; the error may be larger than known."""


class _Tracer:
    """Errors of tensors and their origins, collected in the order of execution."""

    def __init__(self) -> None:
        self.layers: list[Layer] = []
        self._known: dict[int, _Reached] = {}

    def inherited(self, node: OmNode) -> _Reached:
        reached = [self._known[tensor] for tensor in node.inputs if tensor in self._known]
        worst = max(reached, key=lambda each: each.error, default=_Reached(0.0, None, None))
        starts = [each.start for each in reached if each.start is not None]
        hidden = any(each.hidden for each in reached)
        return worst._replace(start=min(starts, default=None), hidden=hidden)

    def hand_on(self, tensor: int, reached: _Reached, *, computed: bool) -> None:
        """Record a tensor that was not measured; it passes on the error that it read.

        `computed` says whether the node that made it did more than move values.
        """
        self._known[tensor] = reached._replace(hidden=reached.hidden or computed)

    def add(self, tensor: int, layer: Layer, reached: _Reached) -> None:
        here = len(self.layers)
        origin, root, steps = ErrorOrigin.PASSED_ON, reached.root, reached.steps + 1
        if layer.error <= NOISE:
            origin, root, steps = ErrorOrigin.NONE, None, 0
        elif root is None or (
            layer.error > INTRODUCED_FACTOR * reached.error
            and (reached.hidden or not _passes_unchanged(layer.op))
        ):
            origin, root, steps = ErrorOrigin.INTRODUCED, here, 0
        # A row of failing layers keeps its first position; a layer that passes ends the row.
        start = None
        if layer.faults:
            start = here if reached.start is None else reached.start
        self._known[tensor] = _Reached(layer.error, root, start, steps)
        traced = replace(layer, origin=origin, root=root, start=start, steps=steps)
        self.layers.append(replace(traced, before=reached.root))


def _passes_unchanged(op: str) -> bool:
    row = find_operator(op)
    return row is not None and row.unit in {Unit.MOVE, Unit.LOCAL}


def _term_magnitude(node: OmNode, tensor: int, figures: Mapping[int, Figures]) -> float | None:
    """The magnitude that a sum or mean would have if no terms canceled; None for others.

    By Cauchy's inequality the mean of |x| is at most the root of the mean of x^2.
    """
    read = figures.get(node.inputs[0]) if node.inputs else None
    if read is None or node.op not in _MEANS | _SUMS:
        return None
    terms = read.elements / max(figures[tensor].elements, 1) if node.op in _SUMS else 1.0
    return read.magnitude * terms


def _layer(
    model: OmModel,
    index: int,
    tensor: int,
    source: OnnxNode | None,
    value: str,
    figures: Figures,
) -> Layer:
    node, facts = model.nodes[index], model.tensors[tensor]
    return Layer(
        index=index,
        tensor=tensor,
        node=node.name,
        op=node.op,
        dtype=facts.dtype,
        shape=tuple(facts.shape),
        source=value if source is None else source.name or value,
        source_op="" if source is None else source.op_type,
        source_at=None if source is None else source.index,
        value=value,
        is_float="float" in facts.dtype,
        figures=figures,
        origin=ErrorOrigin.NONE,
        root=None,
        rolled_back="float" in facts.dtype and _was_quantized(node),
    )


def _was_quantized(node: OmNode) -> bool:
    """True for a convolution that came with an AscendDequant, which reads sums of int8."""
    origins = {origin.op_type for origin in node.origins}
    return node.op.startswith(("Conv2D", "DepthwiseConv2D")) and "AscendDequant" in origins

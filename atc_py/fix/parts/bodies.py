"""Graphs inside of control-flow nodes as rules write them out, and sequences whose tensors are known."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import NamedTuple, TypeAlias

import numpy as np

from atc_py.diag import AtcError
from atc_py.fix.context import RuleContext
from atc_py.fix.facts import MOST_NODES
from atc_py.fix.unfit import UnfitError, require
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.rewriting.graph_body import inner_graph, nodes_written_out
from atc_py.onnx_graph.running.loop_trace import LoopTrace, trace_loop
from atc_py.onnx_graph.source import SourceNode, SourceTensor


def body_of(ctx: RuleContext, attribute: str, node: OnnxNode | None = None) -> OnnxGraph:
    """A graph that the node holds, or another `node` around that of `ctx`."""
    around, holder = ctx.around, node or ctx.node
    require(attribute in holder.graphs, "the node has {attribute}", attribute=attribute)
    try:
        graph = holder.graphs[attribute]
        return inner_graph(holder, graph, around.graph.opsets, around.tensors)
    except (AtcError, ValueError):
        raise UnfitError("its graphs have plain tensors") from None


def _whole_numbers(ctx: RuleContext) -> dict[str, int]:
    """The constants around the node's graphs that are one int64 each."""
    consts = ctx.around.graph.consts
    results = {name: consts[name] for name in ctx.node.captured if name in consts}
    return {
        name: int(const.numpy().reshape(-1)[0])
        for name, const in results.items()
        if const.dtype.numpy == np.int64 and const.shape in {(), (1,)}
    }


def trace(
    ctx: RuleContext, most: int, *, going: bool, first: int, wanted: Sequence[str] = ()
) -> LoopTrace | None:
    """The steps of a Loop, one more than `most` at most; None where no constants decide them.

    `going` is the condition before the first step, `first` the position of the first state among
    the inputs; `wanted` are values of the body.
    """
    states = [
        None if tensor is None or tensor.const is None else tensor.const.numpy()
        for tensor in ctx.node.inputs[first:]
    ]
    body, consts, tensors = body_of(ctx, "body"), ctx.around.graph.consts, ctx.around.tensors
    known = {name: consts[name] for name in ctx.node.captured if name in consts}
    return trace_loop(body, tensors, known, states, most, condition=going, wanted=wanted)


MOST_STEPS = 512
"""Steps of a Scan or Loop that are written out at most."""

MOST_COUNTED = 16_384
"""Steps of a Loop that are counted at most."""

FIRST_STATE = 2
"""Inputs of a Loop before its states: the trip count and the condition."""


def starts_true(ctx: RuleContext) -> bool:
    return ctx.tensor(1) is None or bool(ctx.constant(1).reshape(-1)[0])


def loop_steps(ctx: RuleContext, most: int = MOST_STEPS) -> int:
    """The runs of the body of a Loop; one more than `most` for more."""
    trips = most + 1
    if ctx.tensor(0) is not None:
        trips = max(0, min(trips, int(ctx.constant(0).reshape(-1)[0])))
    result = trace(ctx, trips - 1, going=starts_true(ctx), first=FIRST_STATE)
    require(result is not None, "constants decide the number of steps")
    return trips if result is None else min(result.steps, trips)


def check_room(ctx: RuleContext, attribute: str, steps: int, node: OnnxNode | None = None) -> None:
    """Refuse a graph that a node holds, as `body_of` has it, that would become too many nodes."""
    size = nodes_written_out((node or ctx.node).graphs[attribute], _whole_numbers(ctx))
    require(
        steps * (size + 1) <= ctx.around.room, "the model does not grow beyond its limit of nodes"
    )


def stack(ctx: RuleContext, parts: Sequence[str], axis: int, *, backward: bool = False) -> str:
    """Write values of all steps along a new axis, the last one first if `backward`."""
    rows = [ctx.unsqueeze(part, [axis]) for part in (reversed(parts) if backward else parts)]
    return ctx.concat(rows, axis)


Element: TypeAlias = "Callable[[], str]"

_PASSED_ON = frozenset({"Identity", "Optional", "OptionalGetElement"})
_CHANGED = frozenset({"SequenceErase", "SequenceInsert"})


class _Maker(NamedTuple):
    """The node that makes a value, of ONNX's own domain, and the value's position."""

    node: OnnxNode
    position: int


def _maker_of(ctx: RuleContext, name: str) -> _Maker | None:
    node = ctx.producer(name)
    return None if node is None or node.domain else _Maker(node, node.output_names.index(name))


def elements_of(ctx: RuleContext, name: str) -> list[Element]:
    """Writers of the tensors of the sequence called `name`, in order."""
    changes: list[SourceNode] = []
    maker = _source(ctx, name)
    while maker is not None and maker.node.op_type in _CHANGED:
        changes.append(maker.node)
        maker = _source(ctx, _name(maker.node, 0))
    known = maker is not None and maker.node.op_type in _MAKERS
    require(known, "nodes of the model make the sequence")
    elements = [] if maker is None else _MAKERS[maker.node.op_type](ctx, maker)
    for change in reversed(changes):
        count = len(elements)
        if change.op_type == "SequenceInsert":
            elements.insert(_place(change, 2, count, count), partial(_name, change, 1))
        else:
            elements.pop(_place(change, 1, count, count - 1))
    return elements


class SplitTensor(NamedTuple):
    """A tensor whose parts of one element are a sequence, in order."""

    name: str
    rank: int
    axis: int
    without: bool  # whether the parts are without the axis


def split_tensor(ctx: RuleContext, name: str) -> SplitTensor | None:
    """The tensor that the sequence called `name` was split from; None if it was changed."""
    maker = _source(ctx, name)
    if maker is None or maker.node.op_type != "SplitToSequence":
        return None
    node = maker.node
    data, axis = node.inputs[0], node.attributes.get("axis", 0)
    if data is None or data.dims is None or not isinstance(axis, int) or len(node.inputs) > 1:
        return None
    rank, without = len(data.dims), not node.attributes.get("keepdims", 1)
    return SplitTensor(data.name, rank, axis % rank, without)


def optional_value(ctx: RuleContext) -> str:
    """The name of the value of the optional that the node reads; "" if it has none."""
    given = ctx.tensor(0)
    if given is None or given.dtype is not None:
        return ctx.name(0)
    maker = _maker_of(ctx, given.name)
    while maker is not None and maker.node.op_type == "Identity":
        maker = _maker_of(ctx, _name(maker.node, 0))
    made = maker is not None and maker.node.op_type == "Optional"
    require(made, "a node of the model makes the optional")
    return "" if maker is None else _name(maker.node, 0)


def place_in(tensor: SourceTensor | None, default: int, count: int, last: int) -> int:
    """A constant place up to `last` in a sequence; one below 0 is counted from the end."""
    at = default
    if tensor is not None:
        const = tensor.const
        require(const is not None, "the place in the sequence is constant")
        at = int(const.numpy().reshape(-1)[0]) if const is not None else 0
        at += count if at < 0 else 0
    require(0 <= at <= last, "the place is in the sequence")
    return at


def _place(node: SourceNode, position: int, count: int, last: int) -> int:
    given = node.inputs[position] if position < len(node.inputs) else None
    return place_in(given, last, count, last)


def _source(ctx: RuleContext, name: str) -> _Maker | None:
    maker = _maker_of(ctx, name)
    while maker is not None and maker.node.op_type in _PASSED_ON:
        maker = _maker_of(ctx, _name(maker.node, 0))
    return maker


def _name(node: SourceNode, position: int) -> str:
    result = node.inputs[position] if position < len(node.inputs) else None
    return "" if result is None else result.name


def _mapped(ctx: RuleContext, maker: _Maker) -> list[Element]:
    """The results of the body of SequenceMap, which runs once for each tensor.

    Of further sequences every run gets the tensor at the same place, of tensors the whole.
    """
    body = body_of(ctx, "body", maker.node)
    first = elements_of(ctx, _name(maker.node, 0))
    check_room(ctx, "body", len(first), maker.node)
    columns = [first]
    for tensor in maker.node.inputs[1:]:
        name = "" if tensor is None else tensor.name
        whole = tensor is not None and tensor.dtype is not None
        same: list[Element] = [partial(str, name)] * len(first)
        column = same if whole else elements_of(ctx, name)
        require(len(column) == len(first), "the sequences are of one length")
        columns.append(column)

    def result(at: int) -> str:
        return ctx.inline(body, [column[at]() for column in columns])[maker.position]

    return [partial(result, at) for at in range(len(first))]


def _split(ctx: RuleContext, maker: _Maker) -> list[Element]:
    node = maker.node
    data = node.inputs[0]
    dims = None if data is None else data.dims
    axis, keep = node.attributes.get("axis", 0), node.attributes.get("keepdims", 1)
    known = "the dim that is split is known"
    require(isinstance(axis, int) and dims, known)
    if not isinstance(axis, int) or not dims:
        return []
    require(-len(dims) <= axis < len(dims) and dims[axis] is not None, known)
    size = dims[axis] or 0
    given = node.inputs[1] if len(node.inputs) > 1 else None
    require(size <= MOST_NODES, "the new form is not too large")
    parts = [1] * size
    if given is not None:
        require(given.const is not None, "the split is constant")
        # ONNX ignores keepdims where a split is given; onnxruntime squeezes the parts of a scalar one.
        require(keep or given.dims, "keepdims is 1 where the split is one number")
        parts = _parts(given, size)
    require(sum(parts) == size, "the parts have the size of the axis")
    starts = list(accumulate(parts, initial=0))[:-1]
    without = given is None and not keep
    return [
        partial(_part, ctx, _name(node, 0), axis % len(dims), (start, start + size), without)
        for start, size in zip(starts, parts, strict=True)
    ]


def _parts(given: SourceTensor, size: int) -> list[int]:
    """The sizes of the parts: those given, or equal ones of which the last may be smaller."""
    if given.const is None:
        return []
    numbers = given.const.numpy()
    if given.dims:
        return [int(number) for number in numbers]
    part = int(numbers)
    require(part > 0, "the parts have elements")
    return [min(part, size - start) for start in range(0, size, part)]


def _part(ctx: RuleContext, name: str, axis: int, bounds: tuple[int, int], without: bool) -> str:
    part = ctx.slice(name, axis, *bounds)
    return ctx.squeeze(part, [axis]) if without else part


_MAKERS: dict[str, Callable[[RuleContext, _Maker], list[Element]]] = {
    "SequenceConstruct": lambda _ctx, maker: [
        partial(_name, maker.node, at) for at in range(len(maker.node.inputs))
    ],
    "SequenceEmpty": lambda _ctx, _maker: [],
    "SequenceMap": _mapped,
    "SplitToSequence": _split,
}

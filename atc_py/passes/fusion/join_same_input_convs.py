"""Convolutions of one input that differ in their filters alone become one."""

from collections.abc import Sequence

import numpy as np

from atc_py.ir import DeferredConst, Graph, Node, TensorType, Value
from atc_py.passes.base import PassContext
from atc_py.passes.fusion.matching import Match, MissError, RewritePass, listed_readers
from atc_py.target.soc import Isa

_OF_CHANNELS = 1
_WHOLE_BLOCKS = 16
_FILTER, _BIAS = 1, 2
_TAKEN_BY = {Isa.V100, Isa.V200, Isa.V300}
"""The guide to CANN's rules names 310P, 310B and 910; its sources of 2021 know no exception."""


class JoinSameInputConvsPass(RewritePass):
    """Relu(Conv(x, w_i)) for i = 0, 1 ... = SplitVD(Relu(Conv(x, concat(w_i)))).

    Each branch goes on to a convolution, and that one alone to a Relu, as CANN's pass has it. Kernels,
    strides, padding and dilations are the same, there is one group, all branches have a bias or none,
    and their channels add up to whole blocks of 16. Each sum has the terms that it had.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        return super().run(graph, context) if context.soc.isa in _TAKEN_BY else 0

    def rewrite(self, match: Match) -> None:
        first = match.anchor
        relu = _relu_of_branch(first)
        x = first.present_inputs[0]
        others = [each for each in x.consumers if each is not first and _is_like(each, first)]
        branches = [(first, relu), *((each, _relu_of_branch(each)) for each in others)]
        match.require(
            len(branches) > 1, "another convolution like it must read %{x}", first, x=x.name
        )
        for conv, after in branches:
            match.keep(conv)
            match.keep(after)
        match.require_known_dims(*(conv.output for conv, _ in branches))
        channels = [int(conv.output.type.shape[_OF_CHANNELS]) for conv, _ in branches]
        match.require(
            sum(channels) % _WHOLE_BLOCKS == 0,
            "channels must add up to a multiple of 16, found {channels}",
            channels=sum(channels),
        )
        match.require_one_precision()
        _write(match, [conv for conv, _ in branches], [after for _, after in branches], channels)


def _relu_of_branch(conv: Node) -> Node:
    """The Relu of a branch: Conv2D, Relu, Conv2D, Relu, each read by the next alone.

    The first three are the pattern of CANN's pass, which a miss of the last one says.
    """
    relu = _only_reader(conv, "Relu")
    _only_reader(_only_reader(relu, "Conv2D"), "Relu", matched=True)
    return relu


def _only_reader(node: Node, op: str, *, matched: bool = False) -> Node:
    readers = node.output.consumers
    if len(readers) != 1 or readers[0].op != op:
        miss = MissError(
            "only {op} may read %{x}, found {found}",
            node,
            op=op,
            x=node.output.name,
            found=listed_readers(readers),
        )
        miss.matched = matched
        raise miss
    return readers[0]


def _is_like(node: Node, first: Node) -> bool:
    """True if `node` is a branch of its own that one convolution with `first` can compute."""
    if node.op != first.op or not _is_plain(node) or not _is_plain(first):
        return False
    kernels = [each.present_inputs[_FILTER].type for each in (node, first)]
    alike = (
        node.attributes == first.attributes
        and len(node.present_inputs) == len(first.present_inputs)
        and kernels[0].dims[_OF_CHANNELS:] == kernels[1].dims[_OF_CHANNELS:]
        and kernels[0].dtype is kernels[1].dtype
        and node.present_inputs[0] is first.present_inputs[0]
    )
    if not alike:
        return False
    try:
        _relu_of_branch(node)
    except MissError:
        return False
    return True


def _is_plain(conv: Node) -> bool:
    """True for floats, one group and constants alone beside the data."""
    constants = conv.present_inputs[_FILTER:]
    return (
        conv.output.type.dtype.is_float
        and conv.attributes.get("groups", 1) == 1
        and len(conv.present_inputs) == len(conv.inputs) <= _BIAS + 1
        and all(value.const is not None for value in constants)
    )


def _write(match: Match, convs: list[Node], relus: list[Node], channels: list[int]) -> None:
    graph, first = match.graph, convs[0]
    sides = zip(*(conv.present_inputs[_FILTER:] for conv in convs), strict=True)
    inputs = [first.present_inputs[0], *(_joined(graph, values) for values in sides)]
    dims = list(first.output.type.dims)
    dims[_OF_CHANNELS] = sum(channels)
    type_ = TensorType(first.output.type.dtype, tuple(dims))
    name = f"{first.output.name}.joined"
    origins = [*convs, *relus]
    merged = tuple(sorted({o for node in origins for o in node.origins}, key=lambda o: o.index))
    conv = graph.add_node(first.op, inputs, [(name, type_)], first.attributes, merged)
    relu = graph.add_node("Relu", [conv.output], [(f"{name}.relu", type_)], {}, merged)
    split = graph.add_node(
        "SplitVD",
        [relu.output],
        [(f"{each.output.name}.part", each.output.type) for each in relus],
        {"size_splits": tuple(channels), "split_dim": _OF_CHANNELS, "num_split": len(channels)},
        merged,
    )
    for old, part in zip(relus, split.outputs, strict=True):
        old.output.replace_by(part)
    for node in (*relus, *convs):
        node.drop_inputs()
        match.dead.append(node)


def _joined(graph: Graph, values: Sequence[Value]) -> Value:
    """Filters or biases of several convolutions, one after the other."""
    sources = [value.const for value in values if value.const is not None]
    total = sum(source.shape[0] for source in sources)
    shape = (total, *sources[0].shape[1:])
    data = DeferredConst(
        sources[0].dtype,
        shape,
        sources,
        lambda *arrays: np.concatenate(arrays),
        "joined along the outputs",
    )
    return graph.constant(f"{values[0].name}.joined", data)

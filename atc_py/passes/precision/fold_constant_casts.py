"""Casts and views of constants become constants of the other dtype or shape."""

from collections.abc import Iterator

import msgspec
import numpy as np

from atc_py.diag import INFINITY_CLIPPED
from atc_py.ir import CLIP_LIMITS, CastConst, Graph, Node, OpaqueConst, narrows, reshaped_const
from atc_py.passes.base import Pass, PassContext
from atc_py.target import VIEWS, Unit, find_operator
from atc_py.tensor.const_data import ConstData
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import element_count
from atc_py.text import COLON, Text, plural


class FoldConstantCastsPass(Pass):
    """Cast(const) = const', worked out when it is written; a view of a constant is one of its shape.

    Floats are clamped to finite values unless the user does not want weights clipped, or they bound
    others: a bound beyond the dtype's range bounds nothing. What becomes of infinities is reported.
    Casts of floats to integers are left to the device, which has its own results beyond their range.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        graph.sort()
        count = _fold_views(graph)
        if context.controls.clip_weights:
            for each in clipped_infinities(graph):
                message = each.observed + COLON + each.lack
                place = context.place(each.node)
                context.sink.add(INFINITY_CLIPPED.diagnostic(message, place=place))
        matches = [node for node in graph.nodes if _is_constant_cast(node)]
        for node in matches:
            source, old = node.inputs[0], node.output
            if source is None or source.const is None:
                continue
            clip = context.controls.clip_weights and is_clipped(node)
            data = CastConst(source.const, old.type.dtype, clip=clip)
            old.replace_by(graph.constant(source.name, data, like=old.type))
        graph.remove_nodes(matches)
        return count + len(matches) + _fold_views(graph)


def _fold_views(graph: Graph) -> int:
    """Put constants in place of views of constants; producers come first."""
    folded = []
    for node in graph.nodes:
        source = node.input(0)
        if source is None or source.const is None or not _is_closed_view(node):
            continue
        data = reshaped_const(source.const, node.output.type.shape)
        node.output.replace_by(graph.constant(source.name, data, like=node.output.type))
        folded.append(node)
    graph.remove_nodes(folded)
    return len(folded)


def _is_closed_view(node: Node) -> bool:
    return node.op in VIEWS and len(node.outputs) == 1 and not node.output.type.is_open


def _is_constant_cast(node: Node) -> bool:
    value = node.input(0)
    if node.op != "Cast" or value is None or value.const is None:
        return False
    return not (value.type.dtype.is_float and node.output.type.dtype.is_integer)


_MOST_BYTES = 64 * 2**20
"""Larger constants are not read for this: masks are smaller."""


class ClippedInfinities(msgspec.Struct, frozen=True):
    """A constant with infinities that become finite numbers.

    Attributes:
        node: the first node that reads it.
        name: of the constant.
        count: how many of its elements are infinite.
        dtype: the narrower float that it becomes.
    """

    node: Node
    name: str
    count: int
    dtype: DType

    @property
    def lack(self) -> Text:
        there = f"{CLIP_LIMITS[self.dtype]:.5g}"
        return Text(
            "the weight clip makes infinities of constant {name} ±{there} in {dtype}",
            name=repr(self.name),
            there=there,
            dtype=self.dtype.value,
        )

    @property
    def observed(self) -> Text:
        return plural(self.count, "{n} infinity", "{n} infinities")


def is_clipped(cast: Node) -> bool:
    """True if a Cast of a constant narrows floats that are clamped by default.

    What bounds others is not: a bound beyond the dtype's range bounds nothing.
    """
    source, result = cast.input(0), cast.output
    if source is None or source.const is None or not narrows(source.type.dtype, result.type.dtype):
        return False
    uses = result.uses
    return not uses or not all(node.op == "ClipByValue" and at for node, at in uses)


def clipped_infinities(graph: Graph) -> Iterator[ClippedInfinities]:
    """Yield the constants of a typed graph whose infinities the clip makes finite.

    Weights of the cube's operators are not looked at, nor is what is larger than any mask.
    """
    for cast in graph.nodes:
        source = cast.input(0)
        if cast.op != "Cast" or source is None or source.const is None or not is_clipped(cast):
            continue
        readers = [node for node, _ in cast.output.uses if not _is_cube(node)]
        count = count_infinities(source.const) if readers else 0
        if count:
            yield ClippedInfinities(readers[0], source.name, count, cast.output.type.dtype)


def _is_cube(node: Node) -> bool:
    row = find_operator(node.op)
    return row is not None and row.unit is Unit.CUBE


def count_infinities(data: ConstData) -> int:
    """Number of infinite elements of a constant; 0 for one that is not read."""
    large = data.dtype.itemsize * element_count(data.shape) > _MOST_BYTES
    if large or not data.dtype.is_float or isinstance(data, OpaqueConst):
        return 0
    count = int(np.isinf(data.numpy()).sum())
    data.release()
    return count

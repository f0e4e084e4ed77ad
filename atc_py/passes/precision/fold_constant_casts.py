"""Casts of constants, and movements of their elements, become constants."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.diag import INFINITY_CLIPPED
from atc_py.ir import CLIP_LIMITS, CastConst, Graph, Node, OpaqueConst, Value, moved_const, narrows
from atc_py.passes.base import Pass, PassContext
from atc_py.target import VIEWS, Unit, unit_of
from atc_py.target.stored_nodes import numbers_of
from atc_py.tensor.const_data import ConstData
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import element_count
from atc_py.text import COLON, Text, plural


class FoldConstantCastsPass(Pass):
    """Cast(const) = const', worked out when it is written; so are views, ExpandD and their like.

    Floats are clamped to finite values unless the user does not want weights clipped, or they bound
    others: a bound beyond the dtype's range bounds nothing. What becomes of infinities is reported.
    Casts of floats to integers are left to the device, which has its own results of fractions and
    beyond the range, unless all floats are integers that the dtype holds.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        graph.sort()
        if context.controls.clip_weights:
            for each in clipped_infinities(graph):
                message = each.observed + COLON + each.lack
                place = context.place(each.node)
                context.sink.add(INFINITY_CLIPPED.diagnostic(message, place=place))
        folded = []
        for node in graph.nodes:  # producers first: what a Cast reads may be folded before it
            source, result = node.input(0), node.outputs[0]
            if source is None or source.const is None:
                continue
            data = _folded(node, source.const, clip=context.controls.clip_weights)
            if data is not None:
                result.replace_by(graph.constant(source.name, data, like=result.type))
                folded.append(node)
        graph.remove_nodes(folded)
        return len(folded)


def _folded(node: Node, data: ConstData, *, clip: bool) -> ConstData | None:
    """The result of `node` on a constant; None where the device works it out."""
    result = node.outputs[0].type
    if node.op == "Cast":
        to_integers = data.dtype.is_float and result.dtype.is_integer
        if to_integers and not _are_integers(data, result.dtype):
            return None
        return CastConst(data, result.dtype, clip=clip and is_clipped(node))
    move = None if result.is_open or len(node.outputs) > 1 else _movement(node)
    return None if move is None else moved_const(data, result.shape, move, node.op)


_Movement = Callable[[NDArray[Any]], NDArray[Any]]


def _movement(node: Node) -> _Movement | None:
    """The places to which an operator of known dims brings elements of its first input."""
    shape = node.outputs[0].type.shape
    if node.op in VIEWS:
        return lambda array: array.reshape(shape)
    if node.op == "ExpandD":
        return partial(np.broadcast_to, shape=shape)
    if node.op == "TransposeD":
        return partial(np.transpose, axes=numbers_of(node.attributes["perm"]))
    if node.op == "StridedSliceD":
        return _slice(node)
    return None


def _slice(node: Node) -> _Movement | None:
    """A slice forward from one place within the dims to another."""
    numbers = [numbers_of(node.attributes[name]) for name in ("begin", "end", "strides")]
    dims = node.present_inputs[0].type.shape
    parts = list(zip(*numbers, dims, strict=True))
    if not all(0 <= begin <= end <= dim and step > 0 for begin, end, step, dim in parts):
        return None
    index = tuple(slice(begin, end, step) for begin, end, step, _ in parts)
    return lambda array: array[index]


_MOST_BYTES = 64 * 2**20
"""Larger constants are not read for this: masks are smaller."""


def _are_integers(data: ConstData, dtype: DType) -> bool:
    large = data.dtype.itemsize * element_count(data.shape) > _MOST_BYTES
    if large or isinstance(data, OpaqueConst):
        return False
    numbers = data.numpy().astype(np.float64)
    data.release()
    signs = 0 if dtype.value.startswith("u") else 1
    low, high = -signs * 2.0 ** (dtype.bits - 1), 2.0 ** (dtype.bits - signs)
    held = (numbers >= low) & (numbers < high) & (numbers == np.floor(numbers))
    return bool(held.all())


class ClippedInfinities(msgspec.Struct, frozen=True):
    """A constant with infinities that become finite numbers."""

    node: Node  # the first node that reads it
    name: str
    count: int  # how many of its elements are infinite
    dtype: DType  # the narrower float that it becomes

    @property
    def lack(self) -> Text:
        there = f"{CLIP_LIMITS[self.dtype]:.5g}"
        return Text(
            "the weight clip turns infinities of the constant {name} into ±{there} in {dtype}",
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
    if source is None or not narrows(source.type.dtype, result.type.dtype):
        return False
    uses = result.uses
    return not uses or not all(node.op == "ClipByValue" and at for node, at in uses)


def clipped_infinities(graph: Graph) -> Iterator[ClippedInfinities]:
    """Yield the constants of a typed graph whose infinities the clip makes finite.

    Weights of the cube's operators are not looked at, nor is what is larger than any mask.
    """
    for cast in graph.nodes:
        if cast.op != "Cast" or not is_clipped(cast):
            continue
        source = _before_movements(cast.present_inputs[0])
        readers = [node for node, _ in cast.output.uses if unit_of(node.op) is not Unit.CUBE]
        count = 0 if source.const is None or not readers else count_infinities(source.const)
        if count:
            yield ClippedInfinities(readers[0], source.name, count, cast.output.type.dtype)


def _before_movements(value: Value) -> Value:
    """The value whose elements `value` has at other places, or some of them."""
    maker = value.producer
    while maker is not None and (maker.op in VIEWS or maker.op in _MOVES):
        value = maker.present_inputs[0]
        maker = value.producer
    return value


_MOVES = frozenset({"ExpandD", "StridedSliceD", "TransposeD"})


def count_infinities(data: ConstData) -> int:
    """Number of infinite elements of a constant; 0 for one that is not read."""
    large = data.dtype.itemsize * element_count(data.shape) > _MOST_BYTES
    if large or not data.dtype.is_float or isinstance(data, OpaqueConst):
        return 0
    count = int(np.isinf(data.numpy()).sum())
    data.release()
    return count

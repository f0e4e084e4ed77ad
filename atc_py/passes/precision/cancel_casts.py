"""Casts that change nothing, alone or in pairs, leave the graph."""

from collections.abc import Iterator

from atc_py.ir import Graph, Node, Value
from atc_py.passes.base import Pass, PassContext
from atc_py.tensor.dtypes import DType

_SIGNIFICAND = {DType.FLOAT16: 11, DType.BFLOAT16: 8, DType.FLOAT32: 24, DType.FLOAT64: 53}
"""Bits that a float holds of a number, the leading one included."""

_HOLDS = {
    DType.FLOAT32: frozenset({DType.FLOAT16, DType.BFLOAT16}),
    DType.FLOAT64: frozenset({DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32}),
}
"""The floats of which another holds every value."""


class CancelCastsPass(Pass):
    """Cast(x: A to A) = x, and Cast(Cast(x: A to B) to A) = x where B holds every value of A.

    A Cast of the model meets the dtype that a kernel takes anyway. The other way round, float32 to
    float16 and back, the pair rounds, and stays.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        """Remove all of them; returns how many casts went."""
        for node in _producers_first(graph):
            source = _same_as(node)
            if source is not None:
                node.output.replace_by(source)
        idle = list(_idle_casts(graph))
        count = 0
        while idle:
            graph.remove_nodes(idle)
            count += len(idle)
            idle = list(_idle_casts(graph))
        return count


def _producers_first(graph: Graph) -> list[Node]:
    """The casts, each after those that it reads."""
    graph.sort()
    return [node for node in graph.nodes if node.op == "Cast"]


def _same_as(node: Node) -> Value | None:
    """The value of which a Cast gives every element again, or None."""
    source = node.present_inputs[0]
    dtype = node.output.type.dtype
    if source.type.dtype is dtype:
        return source
    before = source.producer
    if before is None or before.op != "Cast":
        return None
    first = before.present_inputs[0]
    returns = first.type.dtype is dtype and _holds(source.type.dtype, dtype)
    return first if returns else None


def _holds(wide: DType, narrow: DType) -> bool:
    """True if `wide` has every value of `narrow`."""
    if narrow.is_float:
        return narrow in _HOLDS.get(wide, ())
    if narrow is DType.BOOL:
        return True
    signed, bits = _is_signed(narrow), narrow.bits
    if wide.is_float:
        return bits - signed <= _SIGNIFICAND[wide]
    if not wide.is_integer:
        return False
    room = wide.bits - (_is_signed(wide) and not signed)
    return room >= bits and (_is_signed(wide) or not signed)


def _is_signed(dtype: DType) -> bool:
    """True if an integer dtype has negative numbers."""
    return str(dtype.value).startswith("int")


def _idle_casts(graph: Graph) -> Iterator[Node]:
    """Yield the casts whose results nothing uses."""
    for node in graph.nodes:
        if node.op == "Cast" and not node.output.is_used:
            yield node

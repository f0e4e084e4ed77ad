"""Says which values are images or volumes: NCHW and NCDHW spread from operators that need them."""

from collections.abc import Iterator

from atc_py.ir import Graph, Node, Value
from atc_py.passes.base import Pass, PassContext
from atc_py.target import Unit, find_operator, unit_of
from atc_py.target.stored_nodes import IMAGE_RANK, VOLUME_RANK
from atc_py.tensor.dtypes import Format

_FORMATS = {IMAGE_RANK: Format.NCHW, VOLUME_RANK: Format.NCDHW}
"""The format that the rank of a value leaves for it."""


class AssignFormatsPass(Pass):
    """NCHW for data and filters of operators with a data_format, spread over elementwise nodes.

    A value that is NCHW makes the rank-4 inputs and outputs of nodes that keep axes (casts,
    arithmetic, concatenation) NCHW too, in both directions, until nothing changes. NCDHW spreads
    alike over values of rank 5. All other values are ND.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        marked: set[Value] = set()
        pending = [value for node in graph.nodes for value in _seeds(node)]
        while pending:
            value = pending.pop()
            if value in marked:
                continue
            marked.add(value)
            value.type = value.type.with_format(_FORMATS[value.type.rank])
            pending.extend(_neighbors(value))
        return len(marked)


def _seeds(node: Node) -> list[Value]:
    row = find_operator(node.op)
    named = None if row is None else row.attribute("data_format")
    if named is None:
        return []
    values = (*node.present_inputs, *node.outputs)
    return [
        each
        for each in values
        if each.type.rank in _FORMATS and _FORMATS[each.type.rank].value == named.default
    ]


def _neighbors(value: Value) -> Iterator[Value]:
    nodes = [*value.consumers, *([value.producer] if value.producer is not None else [])]
    for node in nodes:
        keeps_axes = node.op not in {"Aipp", "TransposeD"}
        if keeps_axes and unit_of(node.op) in {Unit.VECTOR, Unit.MOVE}:
            around = (*node.present_inputs, *node.outputs)
            yield from (each for each in around if each.type.rank == value.type.rank)

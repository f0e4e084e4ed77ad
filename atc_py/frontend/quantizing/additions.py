"""The Add after a product of matrices whose constant is the product's bias in all but name."""

from collections.abc import Mapping

import msgspec
from onnx import TensorProto

from atc_py.frontend.folding.graph import WorkGraph, WorkNode
from atc_py.frontend.typing.known_type import known_type


class Addition(msgspec.Struct, frozen=True, eq=False):
    """An Add of a constant with a number for each output channel.

    Attributes:
        node: the Add.
        position: of the constant among its operands.
    """

    node: WorkNode
    position: int

    @property
    def constant(self) -> str:
        """Name of the constant."""
        return self.node.inputs[self.position]


def additions_after(graph: WorkGraph) -> Mapping[str, Addition]:
    """Return the additions that alone read a value, by its name."""
    counts: dict[str, int] = {}
    found: dict[str, Addition] = {}
    for node in graph.nodes:
        for name in node.reads:
            counts[name] = counts.get(name, 0) + 1
        position = _constant_at(graph, node)
        if position is not None:
            found[node.inputs[1 - position]] = Addition(node, position)
    return {
        name: each
        for name, each in found.items()
        if counts[name] == 1 and name not in graph.outputs
    }


def _constant_at(graph: WorkGraph, node: WorkNode) -> int | None:
    """Return the position of the only constant among an Add's operands, a list of float32."""
    if node.domain or node.op_type != "Add" or node in graph.unsound:
        return None
    at = [position for position, name in enumerate(node.inputs) if name in graph.consts]
    if len(at) != 1 or len(graph.consts[node.inputs[at[0]]].shape) != 1:
        return None
    known = known_type(graph, node.inputs[at[0]])
    return at[0] if known is not None and known.element == TensorProto.FLOAT else None

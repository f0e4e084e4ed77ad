"""Results of nodes on a few numbers, kept while one graph is folded.

Every block of a network computes the same shapes from shapes, and ONNX's reference takes a third of
a millisecond for each node, however small.
"""

from collections.abc import Hashable, Mapping
from typing import TypeAlias

from atc_py.ir import ConstData, DenseConst
from atc_py.onnx_graph.folding.graph import WorkNode

_MOST_BYTES = 1024
"""Bytes of all inputs, and of all results, up to which results are kept."""

_Kept: TypeAlias = "tuple[DenseConst, ...]"


class SmallResults:
    """Results by what they depend on: the operator, its attributes, and the data of the inputs."""

    def __init__(self) -> None:
        self._known: dict[Hashable, _Kept] = {}

    def key(self, node: WorkNode, consts: Mapping[str, ConstData], size: int) -> Hashable | None:
        """Return what the results of a node depend on; None if they are not kept.

        Args:
            node: a node of ONNX's own domain.
            consts: its inputs by name.
            size: bytes of the inputs.
        """
        if size > _MOST_BYTES or node.captured:
            return None
        attributes = tuple(each.SerializeToString() for each in node.proto.attribute)
        inputs = tuple(_data(consts[name]) if name else None for name in node.inputs)
        return node.op_type, node.opset, attributes, inputs, tuple(map(bool, node.outputs))

    def get(self, key: Hashable | None, node: WorkNode) -> dict[str, ConstData] | None:
        """The results that are known under a key, by the names of a node."""
        known = None if key is None else self._known.get(key)
        if known is None:
            return None
        return {
            name: DenseConst(each.numpy()) for name, each in zip(node.writes, known, strict=True)
        }

    def put(self, key: Hashable | None, results: Mapping[str, DenseConst]) -> None:
        """Keep the results of a node, in the order of its outputs."""
        kept = tuple(results.values())
        if key is not None and sum(each.numpy().nbytes for each in kept) <= _MOST_BYTES:
            self._known[key] = kept


def _data(const: ConstData) -> Hashable:
    return const.dtype, const.shape, const.numpy().tobytes()

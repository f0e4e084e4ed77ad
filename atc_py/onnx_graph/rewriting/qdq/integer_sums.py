"""int32 sums in a graph: which layer they are of, and what is added to its products.

With codes a and b and zero points za and zb, the sum of (a - za) * (b - zb) is the product of the
codes, less za times the sums of b, less zb times the sums of a, plus K * za * zb. Sums of a tensor
that is computed stand in a graph as a product with a constant matrix that holds one number.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.ir import ConstData
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.attributes import INTEGER_POOLS
from atc_py.onnx_graph.typing.rules.quantized import is_integer_layer

_MOST_TERMS = 4
"""The product, what makes up for two zero points, and a constant."""

_REQUANTIZE = frozenset({"AscendDequant", "AscendRequant"})

_MOVES = frozenset(
    {
        "Concat",
        "Flatten",
        "Identity",
        "Reshape",
        "Slice",
        "Split",
        "Squeeze",
        "Transpose",
        "Unsqueeze",
    }
)
"""Movement that the compiler follows from a layer to the node that scales its sums."""


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """int32 sums of one layer."""

    layer: OnnxNode
    added: NDArray[np.int64] | None = None  # what is added to its sums, int64; None for nothing
    left: int = 0  # zero point of a computed left operand that the graph makes up for
    right: int = 0  # zero point of a computed right operand that the graph makes up for
    depth: int = 0  # number of products in a sum, where a zero point tells it; else 0
    # the layer and the nodes that make up for zero points
    nodes: tuple[OnnxNode, ...] = field(default=())

    @property
    def is_alone(self) -> bool:
        """True if no product in the graph makes up for a zero point."""
        return not self.depth


class SumsReader:
    """Finds the sums that nodes dequantize or requantize."""

    def __init__(self, graph: OnnxGraph, known: Mapping[str, ConstData]) -> None:
        self._graph = graph
        self._known = known
        self.found: dict[str, Sums] = {}  # by the name of the value that is dequantized
        self.absorbed: set[OnnxNode] = set()  # nodes in one of these, that nothing else needs
        self._outputs = frozenset(graph.outputs)
        self._looked: set[str] = set()
        for node in graph.nodes:
            if node.op_type in _REQUANTIZE and node.input_names:
                self._find_sums(node.input_names[0])

    def _find_sums(self, name: str) -> None:
        """Find the sums that are the value called `name`, all of whose readers requantize it."""
        if name in self._looked or name in self._outputs:
            return
        self._looked.add(name)
        readers = self._graph.uses(name)
        if not all(
            reader.op_type in _REQUANTIZE and reader.input_names[0] == name for reader in readers
        ):
            return
        sums = self._sums(name)
        if sums is not None:
            self.found[name] = sums
            self.absorbed.update(sums.nodes)

    def scaled(self) -> set[str]:
        """The values that, moved or not, only dequantizing and requantizing nodes read.

        The compiler folds the offset of the data into a layer whose sums are such a value.
        """
        scaled: set[str] = set()
        lost: set[str | None] = set(self._outputs)
        for node in reversed(self._graph.nodes):
            for name in node.writes:
                readers = self._graph.uses(name)
                read = [sums for reader in readers for sums in self._read_as(name, reader)]
                if not lost.isdisjoint(read) or None in read:
                    lost.add(name)
                elif name not in lost and readers:
                    scaled.add(name)
        return scaled

    def _read_as(self, name: str, reader: OnnxNode) -> list[str | None]:
        """The moved sums that a node makes of sums; None stands for anything else."""
        if reader.op_type in _REQUANTIZE and reader.input_names[0] == name:
            return []
        moves = not reader.domain and (
            reader.op_type in _MOVES
            or (reader.op_type == "Add" and any(name in self._known for name in reader.input_names))
        )
        return list(reader.writes) if moves else [None]

    def _sums(self, name: str, most: int = _MOST_TERMS) -> Sums | None:
        """The sums that are the value called `name`, with at most `most` terms."""
        node = self._graph.producer(name)
        if node is None or node.domain or not most:
            return None
        if is_integer_layer(self._graph, node):
            return Sums(node, nodes=(node,))
        if node.op_type not in {"Add", "Sub"}:
            return None
        left, right = node.input_names
        if node.op_type == "Add":
            left, right = (right, left) if left in self._known else (left, right)
        if not self._graph.is_read_once(left):
            return None
        before = self._sums(left, most - 1)
        if before is None or before.layer.op_type in INTEGER_POOLS:
            return None
        if node.op_type == "Sub":
            after = self._less(before, right)
        elif right in self._known and before.added is None:
            added = self._known[right].numpy().astype(np.int64)
            after = replace(before, added=added)
        else:
            after = None
        return None if after is None else replace(after, nodes=(*after.nodes, node))

    def _less(self, sums: Sums, name: str) -> Sums | None:
        """`sums` less a product with a matrix that holds a zero point."""
        part = self._graph.producer(name)
        if part is None or not self._graph.is_read_once(name) or sums.layer.op_type != "MatMul":
            return None
        if part.op_type != "MatMul" or sums.added is not None:
            return None
        (a, b), (left, right) = sums.layer.input_names, part.input_names
        nodes = (*sums.nodes, part)
        if right == b and not sums.left:
            zero, depth = _one_number(self._known.get(left), axis=-1)
            return None if not depth else replace(sums, left=zero, depth=depth, nodes=nodes)
        if left == a and not sums.right:
            zero, depth = _one_number(self._known.get(right), axis=-2)
            return None if not depth else replace(sums, right=zero, depth=depth, nodes=nodes)
        return None


def _one_number(const: ConstData | None, axis: int) -> tuple[int, int]:
    """The one number in a row (axis -1) or column (axis -2), and its length; 0 if none."""
    if const is None or len(const.shape) != len(("row", "column")) or const.shape[-3 - axis] != 1:
        return 0, 0
    numbers: NDArray[Any] = const.numpy()
    if not numbers.size or (numbers != numbers.flat[0]).any():
        return 0, 0
    return int(numbers.flat[0]), const.shape[axis]

"""Nodes that may run on codes in place of real numbers with the same results.

Quantization works element by element, and so commutes with movement. It never decreases, so that it
commutes with MaxPool as well: the code of the largest number is the largest code. It does not with
sums and means, such as AveragePool.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from atc_py.onnx_graph.folding.graph import WorkGraph, WorkNode
from atc_py.onnx_graph.reading.tensors import known_type

_ALL_MOVED = frozenset(
    {
        "Concat",
        "DepthToSpace",
        "Flatten",
        "Identity",
        "Reshape",
        "SpaceToDepth",
        "Squeeze",
        "Tile",
        "Transpose",
        "Unsqueeze",
    }
)
"""Movement of all elements, none of which is quantized in vain."""

_SELECTING = frozenset({"Slice", "Split"})
"""Movement of a part of the elements: other nodes must read the rest in the same way."""

_POOLS = frozenset({"GlobalMaxPool", "MaxPool"})

Scale = TypeVar("Scale")


def nodes_on_codes(
    graph: WorkGraph, layers: Iterable[tuple[WorkNode, str, Scale]], *, pools: bool
) -> dict[WorkNode, Scale]:
    """The nodes that can run on codes, with the codes' numbers.

    Args:
        graph: the graph.
        layers: nodes that read codes: node, data, and the numbers of its codes.
        pools: whether MaxPool may run on codes.
    """
    known = {node: (data, scale) for node, data, scale in layers}
    kinds = _ALL_MOVED | _SELECTING | (_POOLS if pools else frozenset())
    left_out: set[WorkNode] = set()
    while True:
        found, asked = _found(graph, known, kinds, left_out)
        wasteful = {node for node in found if _is_wasteful(graph, node, found, asked)}
        if not wasteful:
            return found
        left_out |= wasteful


def data_of(node: WorkNode) -> tuple[str, ...]:
    """The inputs whose elements a moving node's result consists of."""
    return node.inputs if node.op_type == "Concat" else node.inputs[:1]


def _found(
    graph: WorkGraph,
    layers: Mapping[WorkNode, tuple[str, Scale]],
    kinds: Collection[str],
    left_out: Collection[WorkNode],
) -> tuple[dict[WorkNode, Scale], Mapping[str, Sequence[tuple[WorkNode, Scale]]]]:
    """Nodes all of whose results are read as equal codes, and who asks for codes by value."""
    counts: dict[str, int] = defaultdict(int)
    for node in graph.nodes:
        for name in node.reads:
            counts[name] += 1
    asked: dict[str, list[tuple[WorkNode, Scale]]] = defaultdict(list)
    found: dict[WorkNode, Scale] = {}
    for node in reversed(graph.nodes):
        if node in layers:
            data, scale = layers[node]
            asked[data].append((node, scale))
            continue
        if node.domain or node.op_type not in kinds or node in left_out or node in graph.unsound:
            continue
        if len(node.writes) != 1 and node.op_type not in _SELECTING:
            continue
        scales = [scale for name in node.writes for _, scale in asked[name]]
        whole = all(
            len(asked[name]) == counts[name] and counts[name] and name not in graph.outputs
            for name in node.writes
        )
        if not whole or len(set(scales)) != 1:
            continue
        found[node] = scales[0]
        for name in data_of(node):
            asked[name].append((node, scales[0]))
    return found, asked


def _is_wasteful(
    graph: WorkGraph,
    node: WorkNode,
    found: Mapping[WorkNode, Scale],
    asked: Mapping[str, Sequence[tuple[WorkNode, Scale]]],
) -> bool:
    """True if codes of more elements would be made than are read."""
    if node.op_type not in _SELECTING:
        return False
    data = node.inputs[0]
    alike = [reader for reader, scale in asked[data] if scale == found[node]]
    if any(reader not in found for reader in alike):
        return False  # a layer reads the codes of all elements anyway
    read = _elements(graph, [data])
    made = _elements(graph, [name for reader in alike for name in reader.writes])
    return read is None or made is None or made < read


def _elements(graph: WorkGraph, names: Iterable[str]) -> int | None:
    """Return how many elements values have together, per row of a batch that is open.

    None where that is not known.
    """
    total = 0
    for name in names:
        known = known_type(graph, name)
        dims = None if known is None else known.dims
        if dims is None or None in dims[1:]:
            return None
        total += math.prod(dim for dim in dims if dim is not None)
    return total

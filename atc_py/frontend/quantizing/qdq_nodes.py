"""QuantizeLinear and DequantizeLinear put into a float graph, where layers are to be int8.

Each data tensor of a layer gets one pair, which all layers share that read the tensor. Weights
become int8 codes and a DequantizeLinear. Quantization commutes with operators that move or join
elements, so a pair is also put before those whose every reader quantizes in the same way: these
then run on int8, and results are the same.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from atc_py.frontend.reading.attributes import numeric_attributes
from atc_py.frontend.rewriting.qdq.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from atc_py.frontend.folding.graph import WorkGraph, WorkNode
    from atc_py.frontend.quantizing.layers import FloatLayer

__all__ = ["Int8Layer", "TensorScale", "put_qdq", "takes_bias"]

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


class TensorScale(msgspec.Struct, frozen=True):
    """Numbers of a tensor's int8 codes: a real number is (code - offset) * scale."""

    scale: float
    offset: int


class Int8Layer(msgspec.Struct, frozen=True, eq=False):
    """A layer with the numbers of its int8 form.

    Attributes:
        layer: the layer.
        data: of the tensor that it reads; layers that read one tensor have the same.
        codes: int8 codes of the weights.
        scale: float32 scales of the weights: one, or one per index along the layer's axis.
        bias: float32 numbers in place of the layer's bias; None where that stays.
    """

    layer: FloatLayer
    data: TensorScale
    codes: NDArray[np.int8]
    scale: NDArray[np.float32]
    bias: NDArray[np.float32] | None = None


def takes_bias(graph: WorkGraph, layer: FloatLayer) -> bool:
    """Return True if a layer can get another bias.

    Not a product, and not a Gemm whose addend is computed or differs from row to row.
    """
    if layer.kind == "MatMul":
        return False
    if layer.kind != "Gemm" or not layer.bias:
        return True
    const = graph.consts.get(layer.bias)
    if const is None or numeric_attributes(layer.node).get("beta", 1.0) == 0:
        return False
    return const.shape in {(), (1,), (1, 1), (layer.channels,), (1, layer.channels)}


def put_qdq(graph: WorkGraph, layers: Sequence[Int8Layer]) -> None:
    """Put QuantizeLinear and DequantizeLinear into `graph`, whose opset has them per channel."""
    _QdqWriter(graph, layers).run()


class _QdqWriter:
    """Writes one graph anew."""

    def __init__(self, graph: WorkGraph, layers: Sequence[Int8Layer]) -> None:
        self._graph = graph
        self._writer = Writer(graph)
        self._layers = {each.layer.node: each for each in layers}
        self._moved = _scales_before_movement(graph, self._layers)
        self._pairs: dict[tuple[str, TensorScale], str] = {}

    def run(self) -> None:
        """Go through the nodes, producers first."""
        for node in self._graph.nodes:
            if node in self._layers:
                self._write_layer(self._layers[node])
            elif node in self._moved:
                self._write_moved(node, self._moved[node])
            else:
                self._writer.keep(node)
        self._writer.finish()

    def _write_layer(self, found: Int8Layer) -> None:
        """Write a layer that reads dequantized codes."""
        node, writer = found.layer.node, self._writer
        weights = self._weights(found)
        inputs = [self._pair(node, found.layer.data, found.data), weights, *node.inputs[2:]]
        if found.bias is not None:
            name = writer.const(f"{node.outputs[0]}/bias", found.bias)
            inputs = [*inputs[:2], name]
        writer.again(node, node.op_type, inputs, node.outputs, with_own=True)

    def _write_moved(self, node: WorkNode, scale: TensorScale) -> None:
        """Write a node that moves codes."""
        data = _data(node)
        inputs = [*(self._pair(node, name, scale) for name in data), *node.inputs[len(data) :]]
        self._writer.again(node, node.op_type, inputs, node.outputs, with_own=True)

    def _pair(self, node: WorkNode, name: str, found: TensorScale) -> str:
        """Return a tensor quantized and dequantized again, once for all that read it so."""
        key = (name, found)
        if key not in self._pairs:
            writer = self._writer
            scale = writer.const(f"{name}/scale", np.array(found.scale, np.float32))
            zero = writer.const(f"{name}/zero_point", np.array(found.offset, np.int8))
            codes = writer.op(
                node, "QuantizeLinear", [name, scale, zero], writer.fresh(f"{name}/quantized")
            )
            self._pairs[key] = writer.op(
                node, "DequantizeLinear", [codes, scale, zero], writer.fresh(f"{name}/dequantized")
            )
        return self._pairs[key]

    def _weights(self, found: Int8Layer) -> str:
        """Return the name of dequantized weights."""
        writer, node, name = self._writer, found.layer.node, found.layer.weight
        scale = np.asarray(found.scale, np.float32)
        zeros = np.zeros(scale.shape, np.int8)
        inputs = [
            writer.const(f"{name}/codes", found.codes),
            writer.const(f"{name}/scale", scale),
            writer.const(f"{name}/zero_point", zeros),
        ]
        attributes: dict[str, Any] = {"axis": found.layer.axis} if scale.ndim else {}
        output = writer.fresh(f"{name}/dequantized")
        return writer.op(node, "DequantizeLinear", inputs, output, **attributes)


def _scales_before_movement(
    graph: WorkGraph, layers: Mapping[WorkNode, Int8Layer]
) -> dict[WorkNode, TensorScale]:
    """Return the nodes that can move codes in place of real numbers, with the codes' numbers."""
    readers: dict[str, int] = defaultdict(int)
    for node in graph.nodes:
        for name in node.reads:
            readers[name] += 1
    asked: dict[str, list[TensorScale]] = defaultdict(list)
    found: dict[WorkNode, TensorScale] = {}
    for node in reversed(graph.nodes):
        if node in layers:
            asked[layers[node].layer.data].append(layers[node].data)
            continue
        if node.domain or node.op_type not in _ALL_MOVED or len(node.writes) != 1:
            continue
        output = node.outputs[0]
        scales = asked[output]
        alike = len(set(scales)) == 1 and len(scales) == readers[output]
        if not alike or output in graph.outputs or node in graph.unsound:
            continue
        found[node] = scales[0]
        for name in _data(node):
            asked[name].append(scales[0])
    return found


def _data(node: WorkNode) -> tuple[str, ...]:
    """Return the inputs whose elements a moving node's result consists of."""
    return node.inputs if node.op_type == "Concat" else node.inputs[:1]

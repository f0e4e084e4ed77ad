"""QuantizeLinear and DequantizeLinear put into a float graph, where layers are to be int8.

Each data tensor of a layer gets one pair, which all layers share that read the tensor. Weights
become int8 codes and a DequantizeLinear. Quantization commutes with operators that move or join
elements, so a pair is also put before those whose every reader quantizes in the same way: these
then run on int8, and results are the same.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.onnx_graph.folding.graph import WorkGraph, WorkNode
from atc_py.onnx_graph.reading.attributes import numeric_attributes
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.quantizing.layers.layers import FloatLayer
from atc_py.quantizing.layers.moved_codes import data_of, nodes_on_codes


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
        bias: float32 numbers in place of the layer's bias; of a MatMul, what the constant of the Add
            after it gets besides; None where that stays.
    """

    layer: FloatLayer
    data: TensorScale
    codes: NDArray[np.int8]
    scale: NDArray[np.float32]
    bias: NDArray[np.float32] | None = None


def takes_bias(graph: WorkGraph, layer: FloatLayer) -> bool:
    """True if a layer can get another bias.

    Not a product that no Add of a constant follows, and not a Gemm whose addend is computed or
    differs from row to row.
    """
    if layer.kind == "MatMul":
        return layer.addition is not None
    if layer.kind != "Gemm" or not layer.bias:
        return True
    const = graph.consts.get(layer.bias)
    if const is None or numeric_attributes(layer.node).get("beta", 1.0) == 0:
        return False
    return const.shape in {(), (1,), (1, 1), (layer.channels,), (1, layer.channels)}


def put_qdq(graph: WorkGraph, layers: Sequence[Int8Layer], *, pools: bool = False) -> None:
    """Put QuantizeLinear and DequantizeLinear into `graph`, whose opset has them per channel.

    Args:
        graph: the graph.
        layers: the layers.
        pools: whether MaxPool reads codes like movement does; results are the same.
    """
    _QdqWriter(graph, layers, pools=pools).run()


class _QdqWriter:
    """Writes one graph anew."""

    def __init__(self, graph: WorkGraph, layers: Sequence[Int8Layer], *, pools: bool) -> None:
        self._graph = graph
        self._writer = Writer(graph)
        self._layers = {each.layer.node: each for each in layers}
        self._raised = {
            each.layer.addition.node: each
            for each in layers
            if each.layer.addition is not None and each.bias is not None
        }
        asked = [(each.layer.node, each.layer.data, each.data) for each in layers]
        self._moved = nodes_on_codes(graph, asked, pools=pools)
        self._pairs: dict[tuple[str, TensorScale], str] = {}

    def run(self) -> None:
        """Go through the nodes, producers first."""
        for node in self._graph.nodes:
            if node in self._layers:
                self._write_layer(self._layers[node])
            elif node in self._moved:
                self._write_moved(node, self._moved[node])
            elif node in self._raised:
                self._write_addition(node, self._raised[node])
            else:
                self._writer.keep(node)
        self._writer.finish()

    def _write_layer(self, found: Int8Layer) -> None:
        node, writer = found.layer.node, self._writer
        weights = self._weights(found)
        inputs = [self._pair(node, found.layer.data, found.data), weights, *node.inputs[2:]]
        if found.bias is not None and found.layer.kind != "MatMul":
            name = writer.const(f"{node.outputs[0]}/bias", found.bias)
            inputs = [*inputs[:2], name]
        writer.again(node, node.op_type, inputs, node.outputs, with_own=True)

    def _write_addition(self, node: WorkNode, found: Int8Layer) -> None:
        """Write the Add after a product whose error it makes up for."""
        addition = found.layer.addition
        if addition is None or found.bias is None:
            raise TypeError("it is an addition with a correction")
        inputs = list(node.inputs)
        const = self._graph.consts[addition.constant]
        raised = (np.array(const.numpy(), np.float64) + found.bias).astype(np.float32)
        const.release()
        inputs[addition.position] = self._writer.const(f"{addition.constant}/corrected", raised)
        self._writer.again(node, "Add", inputs, node.outputs, with_own=True)

    def _write_moved(self, node: WorkNode, scale: TensorScale) -> None:
        data = data_of(node)
        inputs = [*(self._pair(node, name, scale) for name in data), *node.inputs[len(data) :]]
        self._writer.again(node, node.op_type, inputs, node.outputs, with_own=True)

    def _pair(self, node: WorkNode, name: str, found: TensorScale) -> str:
        """A tensor quantized and dequantized again, once for all that read it so."""
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

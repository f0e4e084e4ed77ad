"""QuantizeLinear and DequantizeLinear put into a float graph, where layers are to be int8.

Each data tensor of a layer gets one pair, which all layers share that read the tensor. Weights
become int8 codes and a DequantizeLinear. Quantization commutes with operators that move or join
elements, so a pair is also put before those whose every reader quantizes in the same way: these
then run on int8, and results are the same.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.tensors import known_type
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.value_range import ActivationScale
from atc_py.quantizing.layers.layers import FloatLayer

# Quantization works element by element, and so commutes with movement. It never decreases, so that it
# commutes with MaxPool as well: the code of the largest number is the largest code. It does not with
# sums and means: AveragePool is a layer, whose sums are dequantized.

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
    graph: OnnxGraph, layers: Iterable[tuple[OnnxNode, str, Scale]], *, pools: bool
) -> dict[OnnxNode, Scale]:
    """The nodes that can run on codes, with the codes' numbers; MaxPool if `pools`.

    `layers` read codes: node, data, and the numbers of its codes.
    """
    known = {node: (data, scale) for node, data, scale in layers}
    kinds = _ALL_MOVED | _SELECTING | (_POOLS if pools else frozenset())
    left_out: set[OnnxNode] = set()
    while True:
        result, asked = _find_moved(graph, known, kinds, left_out)
        wasteful = {node for node in result if _is_wasteful(graph, node, result, asked)}
        if not wasteful:
            return result
        left_out |= wasteful


def data_of(node: OnnxNode) -> tuple[str, ...]:
    """The inputs whose elements a moving node's result consists of."""
    return node.input_names if node.op_type == "Concat" else node.input_names[:1]


def _find_moved(
    graph: OnnxGraph,
    layers: Mapping[OnnxNode, tuple[str, Scale]],
    kinds: Collection[str],
    left_out: Collection[OnnxNode],
) -> tuple[dict[OnnxNode, Scale], Mapping[str, Sequence[tuple[OnnxNode, Scale]]]]:
    """Nodes all of whose results are read as equal codes, and who asks for codes by value."""
    asked: dict[str, list[tuple[OnnxNode, Scale]]] = defaultdict(list)
    results: dict[OnnxNode, Scale] = {}
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
            asked[name] and len(asked[name]) == len(graph.uses(name)) and name not in graph.outputs
            for name in node.writes
        )
        if not whole or len(set(scales)) != 1:
            continue
        results[node] = scales[0]
        for name in data_of(node):
            asked[name].append((node, scales[0]))
    return results, asked


def _is_wasteful(
    graph: OnnxGraph,
    node: OnnxNode,
    found: Mapping[OnnxNode, Scale],
    asked: Mapping[str, Sequence[tuple[OnnxNode, Scale]]],
) -> bool:
    """True if codes of more elements would be made than are read."""
    if node.op_type not in _SELECTING:
        return False
    data = node.input_names[0]
    alike = [reader for reader, scale in asked[data] if scale == found[node]]
    if any(reader not in found for reader in alike):
        return False  # a layer reads the codes of all elements anyway
    read = _elements(graph, [data])
    made = _elements(graph, [name for reader in alike for name in reader.writes])
    return read is None or made is None or made < read


def _elements(graph: OnnxGraph, names: Iterable[str]) -> int | None:
    """The number of elements of values together, per row of a batch that is open.

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


class Int8Layer(msgspec.Struct, frozen=True, eq=False):
    """A layer with the numbers of its int8 form, and where they come from."""

    layer: FloatLayer
    data: ActivationScale  # of the tensor that it reads; layers that read one tensor have the same
    codes: NDArray[np.int8]  # int8 codes of the weights
    # float32 scales of the weights: one, or one per index along the layer's axis
    scale: NDArray[np.float32]
    # float32 numbers in place of the layer's bias; of a MatMul, what the constant of the Add after
    # it gets besides; None where that stays
    bias: NDArray[np.float32] | None = None
    # by how much that bias lowers the squared error of the layer's result, in dB
    bias_gain: float | None = None
    # of a form for trials, what its data are divided by before, in a shape that broadcasts
    factors: NDArray[Any] | None = None
    # values of its data in all samples; None where the numbers do not come from these
    histogram: Histogram | None = None

    @property
    def name(self) -> str:
        return self.layer.name

    @property
    def tensor(self) -> str:
        return self.layer.data

    @property
    def result(self) -> str:
        return self.layer.node.output_names[0]


def takes_bias(graph: OnnxGraph, layer: FloatLayer) -> bool:
    """True if a layer can get another bias.

    Not a pool, a product that no Add of a constant follows, and not a Gemm whose addend is computed
    or differs from row to row.
    """
    if layer.is_pool:
        return False
    if layer.kind == "MatMul":
        return layer.addition is not None
    if layer.kind != "Gemm" or not layer.bias:
        return True
    const = graph.consts.get(layer.bias)
    if const is None or layer.node.number("beta", 1.0) == 0:
        return False
    return const.shape in {(), (1,), (1, 1), (layer.channels,), (1, layer.channels)}


def put_qdq(graph: OnnxGraph, layers: Collection[Int8Layer], *, pools: bool = False) -> None:
    """Put QuantizeLinear and DequantizeLinear into `graph`, whose opset has them per channel.

    With `pools` MaxPool reads codes like movement does; results are the same.
    """
    _QdqWriter(graph, layers, pools=pools).run()


class _QdqWriter:
    def __init__(self, graph: OnnxGraph, layers: Collection[Int8Layer], *, pools: bool) -> None:
        self._graph = graph
        self._writer = Writer(graph)
        self._layers = {layer.layer.node: layer for layer in layers}
        self._raised = {
            layer.layer.addition.node: layer
            for layer in layers
            if layer.layer.addition is not None and layer.bias is not None
        }
        asked = [(layer.layer.node, layer.layer.data, layer.data) for layer in layers]
        self._moved = nodes_on_codes(graph, asked, pools=pools)
        self._pairs: dict[tuple[str, ActivationScale], str] = {}

    def run(self) -> None:
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

    def _write_layer(self, layer: Int8Layer) -> None:
        node, writer = layer.layer.node, self._writer
        inputs = [self._pair(node, layer.layer.data, layer.data)]
        if not layer.layer.is_pool:
            inputs += [self._weights(layer), *node.input_names[2:]]
        if layer.bias is not None and layer.layer.kind != "MatMul":
            name = writer.const(f"{node.output_names[0]}/bias", layer.bias)
            inputs = [*inputs[:2], name]
        writer.again(node, node.op_type, inputs, node.output_names, with_own=True)

    def _write_addition(self, node: OnnxNode, layer: Int8Layer) -> None:
        """Write the Add after a product whose error it makes up for."""
        addition = layer.layer.addition
        if addition is None or layer.bias is None:
            raise TypeError("it is an addition with a correction")
        inputs = list(node.input_names)
        const = self._graph.consts[addition.constant]
        raised = (np.array(const.numpy(), np.float64) + layer.bias).astype(np.float32)
        const.release()
        inputs[addition.position] = self._writer.const(f"{addition.constant}/corrected", raised)
        self._writer.again(node, "Add", inputs, node.output_names, with_own=True)

    def _write_moved(self, node: OnnxNode, scale: ActivationScale) -> None:
        data = data_of(node)
        inputs = [*(self._pair(node, name, scale) for name in data), *node.input_names[len(data) :]]
        self._writer.again(node, node.op_type, inputs, node.output_names, with_own=True)

    def _pair(self, node: OnnxNode, name: str, found: ActivationScale) -> str:
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

    def _weights(self, layer: Int8Layer) -> str:
        writer, node, name = self._writer, layer.layer.node, layer.layer.weight
        scale = np.asarray(layer.scale, np.float32)
        zeros = np.zeros(scale.shape, np.int8)
        inputs = [
            writer.const(f"{name}/codes", layer.codes),
            writer.const(f"{name}/scale", scale),
            writer.const(f"{name}/zero_point", zeros),
        ]
        attributes: dict[str, Any] = {"axis": layer.layer.axis} if scale.ndim else {}
        output = writer.fresh(f"{name}/dequantized")
        return writer.op(node, "DequantizeLinear", inputs, output, **attributes)

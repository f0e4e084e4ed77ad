"""Tensors whose channels can be scaled without a change of results: what makes and what reads them.

If each channel c of a tensor is divided by f_c where it is made, and the weights that read the
channel are multiplied by f_c, the network computes what it did. Between both there may be functions
with f(s x) = s f(x) for s > 0, channel by channel. Makers are layers, and the factor and addend of a
normalization.
"""

from collections import defaultdict

import msgspec
import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.tensors import known_type
from atc_py.quantizing.layers.layer_constants import LayerConstants, over_axis, over_outputs
from atc_py.quantizing.layers.layers import FloatLayer, FoundLayers
from atc_py.system.structs import replace

_HOMOGENEOUS = frozenset(
    {
        "AveragePool",
        "GlobalAveragePool",
        "GlobalMaxPool",
        "Identity",
        "LeakyRelu",
        "MaxPool",
        "Relu",
    }
)
_BY_ELEMENT = frozenset({"Identity", "LeakyRelu", "Relu"})
_WEIGHTS, _BIAS = 1, 2


class BalanceSite(msgspec.Struct, frozen=True, eq=False):
    """A tensor whose channels can be scaled."""

    tensor: str  # the tensor that layers read
    axis: int  # the axis of its channels: 1 of images, -1 of the data of products
    maker: FloatLayer | None  # the layer that makes it; None where a normalization does
    # the operands of a normalization that are divided, as (node, position)
    scaled: tuple[tuple[OnnxNode, int], ...]
    readers: tuple[FloatLayer, ...]

    @property
    def channels(self) -> int:
        return input_channels(self.readers[0])


def balance_sites(graph: OnnxGraph, found: FoundLayers) -> list[BalanceSite]:
    read_by: dict[str, list[FloatLayer]] = defaultdict(list)
    for layer in found.layers:
        if not layer.is_pool:
            read_by[layer.data].append(layer)
    search = _Search(graph, found)
    sites = (
        search.site(name, layers)
        for name, layers in read_by.items()
        if len(layers) == len(graph.uses(name)) and name not in graph.outputs
    )
    return [site for site in sites if site is not None]


def input_channels(layer: FloatLayer) -> int:
    """The number of input channels of a layer, all groups together; 0 of a pool."""
    if layer.is_pool:
        return 0
    at = _input_axis(layer)
    return layer.shape[at] * (layer.groups if layer.kind == "Conv" else 1)


def input_weights(layer: FloatLayer, weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """Weights as [input channels of all groups, everything else]."""
    if layer.kind == "Conv" and layer.groups > 1:
        grouped = weights.reshape(layer.groups, -1, *weights.shape[1:])
        moved = np.moveaxis(grouped, 2, 1)
        return moved.reshape(layer.groups * weights.shape[1], -1)
    moved = np.moveaxis(weights, _input_axis(layer), 0)
    return moved.reshape(moved.shape[0], -1)


def apply_factors(
    constants: LayerConstants, site: BalanceSite, factors: NDArray[np.float32]
) -> None:
    """Divide the channels of a tensor by `factors` where it is made, and make up for that."""
    exact = factors.astype(np.float64)
    if site.maker is not None:
        weights = constants.read(site.maker.node, _WEIGHTS)
        if weights is not None:
            scaled = weights / over_outputs(site.maker, exact)
            constants.put(site.maker.node, _WEIGHTS, scaled.astype(np.float32))
    for node, position in site.scaled:
        array = constants.read(node, position)
        if array is not None:
            constants.put(node, position, (array / exact).astype(np.float32))
    for layer in site.readers:
        weights = constants.read(layer.node, _WEIGHTS)
        if weights is not None:
            times = (weights * over_inputs(layer, exact)).astype(np.float32)
            constants.put(layer.node, _WEIGHTS, times)


def scaled_values(graph: OnnxGraph, site: BalanceSite) -> list[str]:
    """The values that have other numbers once a tensor is balanced: it, and what leads to it."""
    ends = {node for node, _ in site.scaled}
    if site.maker is not None:
        ends = {site.maker.node}
    results: list[str] = []
    name: str | None = site.tensor
    while name is not None:
        results.append(name)
        node = graph.producer(name)
        reads = () if node is None else node.reads
        ends.discard(node)
        before = (read for read in reads if graph.producer(read) and read not in graph.consts)
        name = next(before, None) if ends else None
    return results


class _Search:
    def __init__(self, graph: OnnxGraph, found: FoundLayers) -> None:
        self._graph = graph
        self._layers = {layer.node: layer for layer in found.layers if not layer.is_pool}

    def site(self, name: str, readers: list[FloatLayer]) -> BalanceSite | None:
        channels = {input_channels(reader) for reader in readers}
        axes = {1 if reader.kind in {"Conv", "ConvTranspose"} else -1 for reader in readers}
        if len(channels) != 1 or len(axes) != 1:
            return None
        axis = axes.pop()
        node = self._graph.producer(name)
        passed = _HOMOGENEOUS if axis == 1 else _BY_ELEMENT
        while node is not None and not node.domain and node.op_type in passed:
            if len(node.writes) != 1 or not self._graph.is_read_once(node.input_names[0]):
                return None
            node = self._graph.producer(node.input_names[0])
        if node is None:
            return None
        count = channels.pop()
        if node in self._layers:
            return self._of_layer(name, axis, self._layers[node], readers, count)
        if axis != -1:
            return None
        site = self._of_sum(name, node, readers, count)
        scaled = () if site else self._norm_operands(node, count)
        return BalanceSite(name, -1, None, scaled, tuple(readers)) if scaled else site

    def _of_layer(
        self, name: str, axis: int, layer: FloatLayer, readers: list[FloatLayer], count: int
    ) -> BalanceSite | None:
        made_along = 1 if layer.kind in {"Conv", "ConvTranspose"} else -1
        if made_along != axis or layer.channels != count:
            return None
        scaled: tuple[tuple[OnnxNode, int], ...] = ()
        if layer.bias:
            const = self._graph.consts.get(layer.bias)
            if const is None or const.shape[-1:] != (count,):
                return None
            scaled = ((layer.node, _BIAS),)
        return BalanceSite(name, axis, layer, scaled, tuple(readers))

    def _of_sum(
        self, name: str, node: OnnxNode, readers: list[FloatLayer], count: int
    ) -> BalanceSite | None:
        """A tensor that a layer makes, and an Add after it, as a site."""
        at = self._vector_at(node, count) if node.op_type == "Add" and not node.domain else None
        if at is None or not self._graph.is_read_once(node.input_names[1 - at]):
            return None
        maker = self._graph.producer(node.input_names[1 - at])
        if maker not in self._layers:
            return None
        result = self._of_layer(name, -1, self._layers[maker], readers, count)
        return None if result is None else replace(result, scaled=(*result.scaled, (node, at)))

    def _norm_operands(self, node: OnnxNode, count: int) -> tuple[tuple[OnnxNode, int], ...]:
        """The factor and the addend of a normalization that ends with `node`; () for none."""
        if not node.domain and node.op_type == "LayerNormalization" and len(node.writes) == 1:
            results = [
                (node, at) for at in (1, 2) if at < len(node.input_names) and node.input_names[at]
            ]
            return (
                tuple(results) if all(self._is_vector(*result, count) for result in results) else ()
            )
        if node.domain or node.op_type not in {"Add", "Mul"}:
            return ()
        at = self._vector_at(node, count)
        if at is None:
            return ()
        if node.op_type == "Mul":
            return ((node, at),)
        before = node.input_names[1 - at]
        maker = self._graph.producer(before)
        if (
            maker is None
            or not self._graph.is_read_once(before)
            or maker.op_type not in {"Add", "Mul"}
        ):
            return ()
        rest = self._norm_operands(maker, count)
        return (*rest, (node, at)) if rest else ()

    def _vector_at(self, node: OnnxNode, count: int) -> int | None:
        """The position of the operand of Add or Mul that is a number for each channel."""
        return next((at for at in (0, 1) if self._is_vector(node, at, count)), None)

    def _is_vector(self, node: OnnxNode, position: int, count: int) -> bool:
        """True if an operand is a float32 constant with a number for each channel."""
        name = node.input_names[position]
        const = self._graph.consts.get(name)
        known = known_type(self._graph, name)
        is_float = known is not None and known.element == TensorProto.FLOAT
        return const is not None and const.shape == (count,) and is_float


def _input_axis(layer: FloatLayer) -> int:
    return 1 - layer.axis


def over_inputs(layer: FloatLayer, factors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Factors, one for each input channel, in a shape that broadcasts over the weights."""
    return over_axis(layer, factors, _input_axis(layer), "Conv")

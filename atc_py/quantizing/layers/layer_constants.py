"""New constants for operands of nodes, such as those into which a BatchNormalization is folded.

w' = w * g,    b' = (b - mean) * g + beta,    g = gamma / sqrt(variance + epsilon)
"""

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.quantizing.layers.layers import FloatLayer
from atc_py.system.structs import replace


class LayerConstants:
    """Constants by the operand that they are for, while a graph is rewritten.

    A constant that several nodes read is replaced for one of them alone.
    """

    def __init__(self, graph: OnnxGraph) -> None:
        self._graph = graph
        self._arrays: dict[tuple[OnnxNode, int], NDArray[Any]] = {}
        self._outputs: dict[OnnxNode, tuple[str, ...]] = {}

    def read(self, node: OnnxNode, position: int) -> NDArray[Any] | None:
        """An operand as an array; None where it is absent or not constant."""
        array = self._arrays.get((node, position))
        if array is not None:
            return array
        name = node.input_names[position] if position < len(node.input_names) else ""
        const = self._graph.consts.get(name)
        return None if const is None else np.array(const.numpy())

    def put(self, node: OnnxNode, position: int, array: NDArray[Any]) -> None:
        self._arrays[node, position] = array

    def rename(self, node: OnnxNode, outputs: tuple[str, ...]) -> None:
        self._outputs[node] = outputs

    def apply(self, gone: Collection[OnnxNode] = ()) -> None:
        """Write the graph anew, without the nodes of `gone`."""
        writer = Writer(self._graph)
        changed = {node for node, _ in self._arrays} | self._outputs.keys()
        for node in self._graph.nodes:
            if node in gone:
                continue
            if node not in changed:
                writer.keep(node)
                continue
            inputs = list(node.input_names)
            for position in range(max(len(inputs), 3)):
                array = self._arrays.get((node, position))
                if array is not None:
                    inputs += [""] * (position + 1 - len(inputs))
                    base = inputs[position] or f"{node.output_names[0]}/bias"
                    inputs[position] = writer.const(f"{base}/prepared", array)
            outputs = self._outputs.get(node, node.output_names)
            # Its results may have other names from now on.
            name = node.name or node.output_names[0]
            origin = replace(node, name=name, origin=node.place)
            writer.again(origin, node.op_type, inputs, outputs, with_own=True)
        writer.finish()


_FOLDED_INTO = frozenset({"Conv", "ConvTranspose"})
_WEIGHTS, _BIAS = 1, 2
_EPSILON = 1e-5


def fold_norms(
    graph: OnnxGraph, layers: Iterable[FloatLayer], skipped: Collection[str] = ()
) -> int:
    """Fold BatchNormalization into the convolutions before it; return how many were folded.

    `layers` are those of `graph`; none is folded into the convolutions named in `skipped`.
    """
    makers = {layer.node.output_names[0]: layer for layer in layers}
    constants, gone = LayerConstants(graph), set()
    for node in graph.nodes:
        if node.domain or node.op_type != "BatchNormalization" or len(node.writes) != 1:
            continue
        layer = makers.get(node.input_names[0])
        alone = graph.is_read_once(node.input_names[0])
        if layer is None or not alone or layer.kind not in _FOLDED_INTO or layer.name in skipped:
            continue
        if _fold(constants, layer, node):
            gone.add(node)
    constants.apply(gone)
    return len(gone)


def over_outputs(layer: FloatLayer, factors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Factors, one for each output channel, in a shape that broadcasts over the weights.

    Of a transposed convolution in groups they differ between groups: the first axis has the inputs
    of one group after the other.
    """
    return over_axis(layer, factors, layer.axis, "ConvTranspose")


def over_axis(
    layer: FloatLayer, factors: NDArray[np.float64], axis: int, by_group: str
) -> NDArray[np.float64]:
    """Factors, one for each channel, in a shape that broadcasts over the weights of a layer.

    `factors` has one group after the other, `axis` is that of the channels. An operator `by_group`
    has the channels of one group alone on that axis, and the groups one after the other on axis 0.
    """
    rank = len(layer.shape)
    if layer.kind == by_group and layer.groups > 1:
        rows = np.repeat(factors.reshape(layer.groups, -1), layer.shape[0] // layer.groups, axis=0)
        return rows.reshape(*rows.shape, *[1] * (rank - 2))
    shape = [1] * rank
    shape[axis] = -1
    return factors.reshape(shape)


def _fold(constants: LayerConstants, layer: FloatLayer, node: OnnxNode) -> bool:
    """False where the numbers of the BatchNormalization are computed or not finite."""
    numbers = [constants.read(node, position) for position in range(1, 5)]
    weights, bias = constants.read(layer.node, _WEIGHTS), constants.read(layer.node, _BIAS)
    if weights is None or any(number is None for number in numbers):
        return False
    gamma, beta, mean, variance = (np.asarray(number, np.float64) for number in numbers)
    epsilon = node.number("epsilon", _EPSILON)
    if gamma.shape != (layer.channels,):
        return False
    with np.errstate(all="ignore"):
        factors = gamma / np.sqrt(variance + epsilon)
        moved = (0.0 if bias is None else bias.astype(np.float64)) - mean
        folded = (weights * over_outputs(layer, factors)).astype(np.float32)
        added = (moved * factors + beta).astype(np.float32)
    if not (np.isfinite(folded).all() and np.isfinite(added).all()):
        return False
    constants.put(layer.node, _WEIGHTS, folded)
    constants.put(layer.node, _BIAS, added)
    constants.rename(layer.node, node.output_names)
    return True

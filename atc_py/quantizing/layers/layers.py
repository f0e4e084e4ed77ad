"""The layers of a float model that have an int8 form, and why the others have none.

The kinds are those that CANN's quantizer takes: Conv and ConvTranspose, Gemm, MatMul with constant
weights on the right, and AveragePool. Weights have one scale per output channel for all of them but
AveragePool, whose weights are 1.
"""

from collections import Counter
from collections.abc import Mapping

import msgspec
from onnx import TensorProto

from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.nodes import nodes_within, subgraphs
from atc_py.onnx_graph.reading.tensors import known_type
from atc_py.onnx_graph.rewriting.qdq.layers import is_integer_volume
from atc_py.onnx_graph.rewriting.qdq.parameters import Reason
from atc_py.tensor.shapes import Shape
from atc_py.text import Text


class Addition(msgspec.Struct, frozen=True, eq=False):
    """An Add of a constant with a number for each output channel."""

    node: OnnxNode
    position: int  # of the constant among its operands

    @property
    def constant(self) -> str:
        return self.node.input_names[self.position]


def additions_after(graph: OnnxGraph) -> Mapping[str, Addition]:
    """The additions that alone read a value, by its name."""
    results: dict[str, Addition] = {}
    for node in graph.nodes:
        position = _constant_at(graph, node)
        if position is not None:
            results[node.input_names[1 - position]] = Addition(node, position)
    return {name: result for name, result in results.items() if graph.is_read_once(name)}


def _constant_at(graph: OnnxGraph, node: OnnxNode) -> int | None:
    """The position of the only constant among an Add's operands, a list of float32."""
    if node.domain or node.op_type != "Add" or node in graph.unsound:
        return None
    at = [position for position, name in enumerate(node.input_names) if name in graph.consts]
    if len(at) != 1 or len(graph.consts[node.input_names[at[0]]].shape) != 1:
        return None
    known = known_type(graph, node.input_names[at[0]])
    return at[0] if known is not None and known.element == TensorProto.FLOAT else None


COMPUTED_WEIGHTS = Text("it multiplies two tensors that are computed at run time")
CONSTANT_DATA = Text("its data is constant")
NOT_FLOAT32 = Text("its weights are not float32")
STACKED_WEIGHTS = Text("its weights are not a matrix")
TRANSPOSED_DATA = Text("its data is transposed")


KINDS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
"""Operators of layers with weights that can be quantized."""

_POOL = "AveragePool"
_MOST_STRIDE = 63
_MATRIX, _IMAGE, _VOLUME = 2, 4, 5
_DATA, _WEIGHTS, _BIAS = 0, 1, 2
"""Positions among the inputs."""


class FloatLayer(msgspec.Struct, frozen=True, eq=False):
    """A layer that can be quantized."""

    node: OnnxNode
    name: str  # name of the node, or of its result where the node has none; no other layer has it
    data: str  # the tensor that it reads
    weight: str = ""  # the constant that holds its weights; "" for a pool
    bias: str = ""  # the constant that holds its bias, "" where it has none
    axis: int = 0  # the axis of the output channels in the weights
    groups: int = 1  # number of groups of a convolution
    shape: Shape = (1,)  # the shape of the weights; that of the one weight 1 of a pool
    # of a MatMul, the Add after it whose constant has a number for each output channel; None for
    # none
    addition: Addition | None = None

    @property
    def kind(self) -> str:
        return self.node.op_type

    @property
    def is_pool(self) -> bool:
        return self.kind == _POOL

    @property
    def is_deep(self) -> bool:
        """True for a convolution of volumes, whose data have no offset on int8."""
        return self.kind == "Conv" and len(self.shape) == _VOLUME

    @property
    def channels(self) -> int:
        return self.shape[self.axis] * (self.groups if self.kind == "ConvTranspose" else 1)


class FoundLayers(msgspec.Struct, frozen=True, eq=False):
    """Layers of a model."""

    layers: tuple[FloatLayer, ...]  # those that can be quantized, producers first
    left: tuple[tuple[OnnxNode, Text], ...]  # the other nodes of KINDS, each with the reason


def find_layers(graph: OnnxGraph) -> FoundLayers:
    layers: list[FloatLayer] = []
    left: list[tuple[OnnxNode, Text]] = []
    names: set[str] = set()
    additions = additions_after(graph)
    for node in graph.nodes:
        if node.domain or node in graph.unsound:
            continue
        if node.op_type == _POOL and _is_integer_pool(graph, node):
            layers.append(FloatLayer(node, layer_name(node, names), node.input_names[_DATA]))
        if node.op_type not in KINDS:
            continue
        layer = _layer(graph, node, names, additions)
        if isinstance(layer, FloatLayer):
            layers.append(layer)
        else:
            left.append((node, layer))
    return FoundLayers(tuple(layers), tuple(left))


def _is_integer_pool(graph: OnnxGraph, node: OnnxNode) -> bool:
    """True for a pool of images that has a form on int8, but for one over all of an image.

    CANN pools floats for the latter.
    """
    known = known_type(graph, node.input_names[0])
    if known is None or known.element != TensorProto.FLOAT or node.input_names[0] in graph.consts:
        return False
    dims, size = known.dims or (), node.integers("kernel_shape")
    if len(dims) != _IMAGE or None in dims[1:] or max(node.integers("dilations"), default=1) > 1:
        return False
    return tuple(size) != dims[2:] and max(node.integers("strides"), default=1) <= _MOST_STRIDE


def layer_name(node: OnnxNode, taken: set[str]) -> str:
    """A name for a layer that none of `taken` is, and add it to these."""
    base = name = node.name or node.output_names[0]
    if name in taken:
        base = name = node.output_names[0]
    count = 1
    while name in taken:
        count += 1
        name = f"{base}_{count}"
    taken.add(name)
    return name


def _layer(
    graph: OnnxGraph, node: OnnxNode, names: set[str], additions: Mapping[str, Addition]
) -> FloatLayer | Text:
    weight = node.input_names[_WEIGHTS]
    const = graph.consts.get(weight)
    if const is None:
        return COMPUTED_WEIGHTS
    if node.input_names[_DATA] in graph.consts:
        return CONSTANT_DATA
    known = known_type(graph, weight)
    if known is None or known.element != TensorProto.FLOAT:
        return NOT_FLOAT32
    axis = _axis(node, const.shape)
    if isinstance(axis, Text):
        return axis
    bias = node.input_names[_BIAS] if len(node.input_names) > _BIAS else ""
    if bias and node.op_type != "Gemm" and bias not in graph.consts:
        return Reason.COMPUTED_BIAS
    addition = additions.get(node.output_names[0]) if node.op_type == "MatMul" else None
    if addition is not None and graph.consts[addition.constant].shape != const.shape[axis:]:
        addition = None
    return FloatLayer(
        node=node,
        name=layer_name(node, names),
        data=node.input_names[_DATA],
        weight=weight,
        bias=bias,
        axis=axis,
        groups=node.integer("group", 1),
        shape=const.shape,
        addition=addition,
    )


def _axis(node: OnnxNode, shape: Shape) -> int | Text:
    """The axis of the output channels in weights of that shape, or a reason."""
    if node.op_type in {"Conv", "ConvTranspose"}:
        if len(shape) >= _VOLUME and not is_integer_volume(node):
            return Reason.VOLUMES
        return 1 if node.op_type == "ConvTranspose" else 0
    if len(shape) != _MATRIX:
        return STACKED_WEIGHTS
    if node.op_type == "Gemm":
        if node.integer("transA"):
            return TRANSPOSED_DATA
        return 0 if node.integer("transB") else 1
    return 1


def layers_in_bodies(graph: OnnxGraph) -> list[tuple[OnnxNode, dict[str, int]]]:
    """The nodes whose own graphs have layers, with how many of each operator."""
    results = []
    for node in graph.nodes:
        inside = (inner for graph in subgraphs(node.proto) for inner in nodes_within(graph.node))
        counts = Counter(
            inner.op_type for inner in inside if not inner.domain and inner.op_type in KINDS
        )
        if counts:
            results.append((node, dict(sorted(counts.items()))))
    return results

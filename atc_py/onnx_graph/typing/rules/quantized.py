"""Types of quantized nodes, which ONNX does not define: Ascend's operators, and layers on int8.

An operator of Ascend's family keeps the shape of its first input, so inference is shown a Cast in
its place. Layers on int8 are Conv, ConvTranspose, Gemm and MatMul as ONNX has them, but for dtypes:
their sums are int32.
"""

from collections.abc import Sequence

from onnx import TensorProto, helper

from atc_py.onnx_graph.folding.graph import ValueType, WorkGraph, WorkNode
from atc_py.onnx_graph.reading.attributes import numeric_attributes
from atc_py.onnx_graph.typing.known_type import known_type
from atc_py.onnx_graph.typing.type_rules import Override, Question, Refinement, Shown, type_rule
from atc_py.tensor.dtypes import DType

_LAYERS = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})

_FLOATS = {0: TensorProto.FLOAT, 1: TensorProto.FLOAT16}
"""What the attribute dtype of CANN's operators counts."""

_QUANTIZED = {"INT8": TensorProto.INT8, "INT16": TensorProto.INT16, "INT4": TensorProto.INT4}

_FIXED = {
    "AscendRequant": (TensorProto.INT8,),
    "AscendRequantS16": (TensorProto.INT8, TensorProto.INT16),
    "AscendDequantS16": (TensorProto.INT16,),
}
_SCALING = frozenset({"AscendDequant", "AscendRequant", "AscendDequantS16"})
_CHOSEN = frozenset({"AscendQuant", "AscendDequant", "AscendAntiQuant"})

ASCEND_OPERATORS = _CHOSEN | _FIXED.keys()
"""The six operators of Ascend's family."""


def is_ascend(node: WorkNode) -> bool:
    """True for one of the six operators, in whatever domain, with sensible attributes."""
    known = node.op_type in ASCEND_OPERATORS
    return known and bool(node.inputs and node.inputs[0] and _elements(node))


def _elements(node: WorkNode) -> tuple[int, ...]:
    """ONNX's numbers of the outputs' element types; empty where an attribute is odd."""
    if node.op_type in _FIXED:
        return _FIXED[node.op_type]
    if node.op_type == "AscendQuant":
        given = (each.s for each in node.proto.attribute if each.name == "dst_type")
        element = _QUANTIZED.get(next(given, b"INT8").decode("utf-8", "replace"))
    else:
        dtype = numeric_attributes(node).get("dtype", 0)
        element = _FLOATS.get(dtype) if isinstance(dtype, int) else None
    return () if element is None else (element,)


def may_be_integer(node: WorkNode, dtypes: Sequence[DType | None]) -> bool:
    """True if a node with inputs of these dtypes is meant as a layer on int8."""
    return not node.domain and node.op_type in _LAYERS and DType.INT8 in dtypes[:2]


def is_integer_layer(graph: WorkGraph, node: WorkNode) -> bool:
    """True if a node is a layer whose data and weights are int8."""
    if node.domain or node.op_type not in _LAYERS or len(node.inputs) < len(("X", "W")):
        return False
    known = (known_type(graph, name) for name in node.inputs[:2])
    return all(each is not None and each.element == TensorProto.INT8 for each in known)


@type_rule(*ASCEND_OPERATORS, before=True, custom=True, when=lambda asked: is_ascend(asked.node))
def _ascend(asked: Question) -> Shown | Override:
    """Show casts in its place; about a node alone, return what these would give."""
    elements = _elements(asked.node)
    if asked.alone:
        x = asked.type(0)
        dims = None if x is None else x.dims
        return Override(asked.outputs(*(ValueType(element, dims) for element in elements)))
    return Shown(
        tuple(
            helper.make_node("Cast", [asked.node.inputs[0]], [name], to=element)
            for name, element in zip(asked.node.outputs, elements, strict=False)
            if name
        )
    )


@type_rule(*_LAYERS, before=True, when=lambda asked: asked.alone)
def _layer_as_of_floats(asked: Question) -> Shown | None:
    """Show a layer on int8 with float inputs, which onnx insists on about a node alone."""
    if not is_integer_layer(asked.graph, asked.node):
        return None
    return Shown((asked.node.plain,), reads=TensorProto.FLOAT, gives=TensorProto.INT32)


@type_rule(*_LAYERS, when=lambda asked: not asked.alone)
def _integer_sums(asked: Question) -> Refinement | None:
    """The dtype of a layer's sums where ONNX's rule, that of the data, is not right."""
    element = sum_element(asked)
    if element is None:
        return None
    known = {name: asked.graph.types.get(name) for name in asked.node.writes}
    return Refinement(
        {name: ValueType(element, each.dims) for name, each in known.items() if each is not None}
    )


def sum_element(asked: Question) -> int | None:
    """The element type of a layer's result; None where ONNX's rule is right.

    int8 data by float weights is a fault, which is reported at the layer. So that it is not
    reported again, the result is what its readers want: int32 where they scale sums, else that
    float.
    """
    if is_integer_layer(asked.graph, asked.node):
        return TensorProto.INT32
    data, weights = asked.type(0), asked.type(1)
    if data is None or weights is None or data.element != TensorProto.INT8:
        return None
    if weights.element not in _FLOATS.values():
        return None
    scaled = any(
        each.op_type in _SCALING and not set(each.inputs[:1]).isdisjoint(asked.node.outputs)
        for each in asked.graph.nodes
    )
    return TensorProto.INT32 if scaled else weights.element

"""Types of nodes that ONNX does not define: Ascend's operators, layers on int8, custom operators.

An operator of Ascend's family keeps the shape of its first input, so inference is shown a Cast in
its place. Layers on int8 are AveragePool, Conv, ConvTranspose, Gemm and MatMul as ONNX has them, but
for dtypes: their sums are int32. Of custom operators counts what the file states of a result, which is held
against the inputs where the node is lowered; what it leaves open is worked out here.
"""

from onnx.onnx_pb import TensorProto

from atc_py.onnx_graph.folding.fold_views import ints_of
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode, ValueType
from atc_py.onnx_graph.reading.attributes import (
    ASCEND_OPERATORS,
    INTEGER_LAYERS,
    INTEGER_POOLS,
)
from atc_py.onnx_graph.reading.tensors import dtype_of_element, element_of_dtype, known_type
from atc_py.onnx_graph.source.custom_results import (
    CUSTOM_RESULTS,
    ContradictionError,
    Given,
    custom_results,
)
from atc_py.onnx_graph.typing.type_rules import (
    Contradiction,
    Override,
    Question,
    Refinement,
    Shown,
    type_rule,
)
from atc_py.tensor.shapes import Dims
from atc_py.text import Text

_FLOATS = {0: TensorProto.FLOAT, 1: TensorProto.FLOAT16}
"""What the attribute dtype of CANN's operators counts."""

_QUANTIZED = {"INT8": TensorProto.INT8, "INT16": TensorProto.INT16, "INT4": TensorProto.INT4}

_FIXED = {
    "AscendRequant": (TensorProto.INT8,),
    "AscendRequantS16": (TensorProto.INT8, TensorProto.INT16),
    "AscendDequantS16": (TensorProto.INT16,),
}
_SCALING = frozenset({"AscendDequant", "AscendRequant", "AscendDequantS16"})

_OPERANDS = {**dict.fromkeys(INTEGER_LAYERS, 2), **dict.fromkeys(INTEGER_POOLS, 1)}
"""Inputs that are int8 in a layer on int8, by operator."""


def is_ascend(node: OnnxNode) -> bool:
    """True for one of the six operators, in whatever domain, with sensible attributes."""
    known = node.op_type in ASCEND_OPERATORS
    return known and bool(node.input_names and node.input_names[0] and _elements(node))


def _elements(node: OnnxNode) -> tuple[int, ...]:
    """ONNX's numbers of the outputs' element types; empty where an attribute is odd."""
    if node.op_type in _FIXED:
        return _FIXED[node.op_type]
    if node.op_type == "AscendQuant":
        element = _QUANTIZED.get(node.text("dst_type", "INT8"))
    else:
        element = _FLOATS.get(node.integer("dtype"))
    return () if element is None else (element,)


def is_integer_layer(graph: OnnxGraph, node: OnnxNode) -> bool:
    """True if a node is a layer whose data, and weights where it has some, are int8."""
    operands = _OPERANDS.get(node.op_type, 0)
    if node.domain or not operands or len(node.input_names) < operands:
        return False
    known = (known_type(graph, name) for name in node.input_names[:operands])
    return all(value is not None and value.element == TensorProto.INT8 for value in known)


@type_rule(*ASCEND_OPERATORS, before=True, custom=True, when=lambda asked: is_ascend(asked.node))
def _ascend(asked: Question) -> Shown | Override:
    """Show casts in its place; about a node alone, return what these would give."""
    elements = _elements(asked.node)
    if asked.alone:
        x = asked.type(0)
        dims = None if x is None else x.dims
        return Override(asked.outputs(*(ValueType(element, dims) for element in elements)))
    from onnx import helper

    return Shown(
        tuple(
            helper.make_node("Cast", [asked.node.input_names[0]], [name], to=element)
            for name, element in zip(asked.node.output_names, elements, strict=False)
            if name
        )
    )


@type_rule(*_OPERANDS, before=True, when=lambda asked: asked.alone)
def _layer_as_of_floats(asked: Question) -> Shown | None:
    """Show a layer on int8 with float inputs, which onnx insists on about a node alone."""
    if not is_integer_layer(asked.graph, asked.node):
        return None
    return Shown((asked.node.plain,), reads=TensorProto.FLOAT, gives=TensorProto.INT32)


@type_rule(*INTEGER_LAYERS)
def _packed_weights(asked: Question) -> Contradiction | None:
    """Refuse weights of 4 bits in the deploy form of Ascend's quantizer, which says so nowhere.

    Two neighbors along the axis of the input channels share a byte, so that it is half as long.
    """
    data, weights = asked.type(0), asked.type(1)
    if data is None or weights is None or weights.element != TensorProto.INT8:
        return None
    if data.element not in _CODES or not data.dims or not weights.dims:
        return None
    channels, held = _input_channels(asked.node, data.dims, weights.dims)
    if channels is None or held is None or channels != 2 * held:
        return None
    return Contradiction(
        Text(
            "weights of {op_type} for {channels} input channels have {held} elements along "
            "that axis: the form of Ascend's quantizer with two 4-bit weights in a byte is not "
            "supported; quantize to 8 bits",
            op_type=asked.node.op_type,
            channels=channels,
            held=held,
        )
    )


_CODES = (TensorProto.INT8, TensorProto.INT4)


def _input_channels(node: OnnxNode, data: Dims, weights: Dims) -> tuple[int | None, int | None]:
    """The channels of a layer's data and those that its weights are for; None if unknown."""
    if node.op_type in {"Conv", "ConvTranspose"}:
        group = node.integer("group", 1) if node.op_type == "Conv" else 1
        held = weights[1 if node.op_type == "Conv" else 0] if len(weights) > 1 else None
        return data[1] if len(data) > 1 else None, None if held is None else held * group
    transposed = node.op_type == "Gemm" and node.integer("transB")
    return data[-1], weights[-1] if transposed else weights[max(len(weights) - 2, 0)]


@type_rule(*_OPERANDS, when=lambda asked: not asked.alone)
def _integer_sums(asked: Question) -> Refinement | None:
    """The dtype of a layer's sums where ONNX's rule, that of the data, is not right."""
    element = sum_element(asked)
    if element is None:
        return None
    known = {name: asked.graph.types.get(name) for name in asked.node.writes}
    return Refinement(
        {name: ValueType(element, value.dims) for name, value in known.items() if value is not None}
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
        reader.op_type in _SCALING
        and not set(reader.input_names[:1]).isdisjoint(asked.node.output_names)
        for reader in asked.graph.nodes
    )
    return TensorProto.INT32 if scaled else weights.element


@type_rule(*CUSTOM_RESULTS, custom=True, when=lambda asked: asked.node.schema is None)
def _custom(asked: Question) -> Refinement | Contradiction | None:
    """The types that the file states of the results, joined with what the inputs tell."""
    inputs = [_given(asked, position) for position in range(len(asked.node.input_names))]
    if any(asked.has(at) and given is None for at, given in enumerate(inputs)):
        return None
    try:
        results = custom_results(asked.node.op_type, inputs, asked.node.plain_attributes)
    except ContradictionError as error:
        return (
            Contradiction(
                Text("{op_type} {reason}", op_type=asked.node.op_type, reason=error.reason)
            )
            if asked.alone
            else None
        )
    inferred = asked.outputs(
        *(ValueType(element_of_dtype(result), dims) for result, dims in results)
    )
    return Refinement(
        {name: _joined(asked.graph.types.get(name), known) for name, known in inferred.items()}
    )


def _given(asked: Question, position: int) -> Given | None:
    """All that is known of an input; None where that is not enough, or it is absent."""
    known = asked.type(position)
    dtype = None if known is None else dtype_of_element(known.element)
    if known is None or known.dims is None or dtype is None:
        return None
    return Given(dtype, known.dims, ints_of(asked.const(position)))


def _joined(stated: ValueType | None, inferred: ValueType) -> ValueType:
    """The type that the file states, and the inferred one where that is open."""
    if stated is None:
        return inferred
    return ValueType(stated.element or inferred.element, _joined_dims(stated.dims, inferred.dims))


def _joined_dims(stated: Dims | None, inferred: Dims | None) -> Dims | None:
    """The dims of two shapes that do not contradict each other; else those stated."""
    if stated is None or inferred is None:
        return inferred if stated is None else stated
    pairs = list(zip(stated, inferred, strict=False))
    contradictory = any(None not in pair and pair[0] != pair[1] for pair in pairs)
    if len(stated) != len(inferred) or contradictory:
        return stated
    return tuple(mine if theirs is None else theirs for mine, theirs in pairs)

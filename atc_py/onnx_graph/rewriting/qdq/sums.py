"""MatMulInteger and ConvInteger: layers on int8 whose int32 sums the model reads itself.

The compiler folds zero points only into sums that are dequantized. So the zero points
of these layers are folded into their biases here, or added after them.
"""

import numpy as np
from numpy.typing import NDArray

from atc_py.onnx_graph.folding.graph import WorkNode
from atc_py.onnx_graph.reading.tensors import dtype_of_element
from atc_py.onnx_graph.rewriting.qdq.layers import QuantizedLayer, bias_name, looks_around
from atc_py.onnx_graph.rewriting.qdq.parameters import Parameters
from atc_py.onnx_graph.rewriting.qdq.products import Product, ProductOperand, computed_operand
from atc_py.onnx_graph.rewriting.qdq.reasons import (
    BOTH_CONSTANT,
    COMPUTED_PARAMETERS,
    COMPUTED_WEIGHTS,
    NO_WORD,
    UNKNOWN_KIND,
    NoCounterpartError,
)
from atc_py.onnx_graph.rewriting.qdq.tensors import Codes, KnownTensors
from atc_py.onnx_graph.rewriting.qdq.weights import prepared
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.onnx_graph.typing.known_type import known_type
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType

_SUMS = frozenset({"ConvInteger", "MatMulInteger"})


def is_sum(node: WorkNode) -> bool:
    """True if a node gives int32 sums of int8 or uint8."""
    return not node.domain and node.op_type in _SUMS


def rewrite_sum(writer: Writer, tensors: KnownTensors, node: WorkNode) -> None:
    """Rewrite MatMulInteger or ConvInteger.

    Raises:
        NoCounterpartError: it has no integer form.
    """
    is_product = node.op_type == "MatMulInteger"
    left = _codes(writer, tensors, node, 0, axis=0)
    right = _codes(writer, tensors, node, 1, axis=-1 if is_product else 0)
    if left.parameters.axis is not None:
        raise NoCounterpartError(NO_WORD)
    if left.stored.const is not None and right.stored.const is not None:
        raise NoCounterpartError(BOTH_CONSTANT)
    if is_product:
        _rewrite_product(writer, node, left, right)
    else:
        _rewrite_convolution(writer, tensors, node, left, right)


def _rewrite_product(writer: Writer, node: WorkNode, left: Codes, right: Codes) -> None:
    operands = [
        computed_operand(writer, name, codes)
        if codes.stored.const is None
        else _known_operand(writer, codes)
        for name, codes in zip(node.inputs, (left, right), strict=False)
    ]
    Product(writer, node, operands[0], operands[1]).write(node.outputs[0])


def _known_operand(writer: Writer, codes: Codes) -> ProductOperand:
    """A constant operand; its zero point is the part that its codes cannot express."""
    axis = max(len(codes.stored.const.shape) - 1, 0) if codes.stored.const else 0
    weights = prepared(writer, codes, axis)
    codes_only = replace(weights, offset=np.zeros((), np.int64))
    return ProductOperand(weights.name, weights.shape, weights.offset, codes_only)


def _rewrite_convolution(
    writer: Writer, tensors: KnownTensors, node: WorkNode, data: Codes, filters: Codes
) -> None:
    if data.stored.const is not None:
        raise NoCounterpartError(BOTH_CONSTANT)
    if filters.stored.const is None:
        raise NoCounterpartError(COMPUTED_WEIGHTS)
    weights = prepared(writer, filters, 0)
    if weights.offset.any():
        raise NoCounterpartError(NO_WORD)
    bias = QuantizedLayer(writer, tensors, data, weights).bias("", folded=True)
    name = tensors.zero_adjusted(data) if looks_around(node) else data.stored.name
    y = node.outputs[0]
    writer.again(
        node, "Conv", [name, weights.name, *bias_name(writer, y, bias)], [y], with_own=True
    )


def _codes(
    writer: Writer, tensors: KnownTensors, node: WorkNode, position: int, axis: int
) -> Codes:
    """An operand as codes of scale 1.

    Raises:
        NoCounterpartError: its zero point is not constant, or its dtype not known.
    """
    x, graph = node.inputs[position], writer.graph
    zero = _zero_point(writer, node, position + 2, axis)
    known = known_type(graph, x)
    kind = dtype_of_element(known.element) if known is not None else None
    if kind not in {DType.INT8, DType.UINT8}:
        raise NoCounterpartError(UNKNOWN_KIND)
    parameters = Parameters(
        scale=np.ones(zero.shape, np.float32),
        zero=zero,
        axis=axis if zero.ndim else None,
        kind=kind,
        real=DType.FLOAT32,
    )
    if zero.ndim and (known is None or not parameters.fits(known.dims or ())):
        raise NoCounterpartError(NO_WORD)
    return Codes(tensors.held(node, x, parameters), parameters.signed, node)


def _zero_point(writer: Writer, node: WorkNode, position: int, axis: int) -> NDArray[np.int64]:
    """A zero point: a scalar, or one per channel along `axis`."""
    name = node.inputs[position] if position < len(node.inputs) else ""
    if not name:
        return np.zeros((), np.int64)
    const = writer.graph.consts.get(name)
    if const is None:
        raise NoCounterpartError(COMPUTED_PARAMETERS)
    zero = const.numpy().astype(np.int64)
    if zero.ndim > 1 and zero.size not in {1, zero.shape[axis]}:
        raise NoCounterpartError(NO_WORD)
    return zero.reshape(() if zero.size == 1 else -1)

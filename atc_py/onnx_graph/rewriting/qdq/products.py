"""MatMul on int8, of two tensors or of a tensor and weights; MatMulInteger and ConvInteger.

With zero points a and b, the sum of (A - a) * (B - b) over k is A @ B, less b times the sums of A's
rows, less a times the sums of B's columns, plus K * a * b; b may be one number per column. Sums of a
tensor that is computed are products with a matrix that holds the zero points of the other. a times
the sums of weights is left to the compiler, which folds it in as it does for other layers, unless
the graph's biases are folded already. An offset that weights have besides is left to the word of
AscendDequant.

The compiler folds zero points only into sums that are dequantized. So those of MatMulInteger and
ConvInteger, whose int32 sums the model reads itself, are folded into biases here, or added after
them.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.onnx_graph.graph import Dims, OnnxNode
from atc_py.onnx_graph.reading.tensors import dtype_of_element, known_type
from atc_py.onnx_graph.rewriting.qdq.layers import QuantizedLayer, bias_name, dequant, looks_around
from atc_py.onnx_graph.rewriting.qdq.parameters import NoCounterpartError, Parameters, Reason
from atc_py.onnx_graph.rewriting.qdq.tensors import Codes, KnownTensors
from atc_py.onnx_graph.rewriting.qdq.weights import Weights, prepared, scale_words, within_int32
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.options.compile_options import QuantBias
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_SUMS = Text("its sums of zero points")
_MATRIX = 2


class ProductOperand(msgspec.Struct, frozen=True, eq=False):
    """One side of a product."""

    name: str  # its int8 codes
    dims: Dims  # its shape as far as it is known
    # its zero point where the product must make up for it, else 0; of a right operand perhaps one
    # per column
    zero: NDArray[np.int64]
    weights: Weights | None = None  # what it is where it is constant


def rewrite_product(writer: Writer, tensors: KnownTensors, node: OnnxNode) -> None:
    operands = []
    for name in node.input_names[:2]:
        codes = tensors.codes.get(name)
        if codes is None or codes.parameters.kind is not DType.INT8:
            raise tensors.not_codes(name, Reason.OPERAND_NOT_QUANTIZED)
        operands.append(codes)
    left, right = operands
    if left.stored.const is not None and right.stored.const is not None:
        raise NoCounterpartError(Reason.BOTH_CONSTANT)
    if left.parameters.axis is not None:
        raise NoCounterpartError(Reason.DATA_PER_CHANNEL)
    if left.stored.const is None:
        a = computed_operand(writer, node.input_names[0], left)
    else:
        a = known_operand(prepared(writer, left, 0))
    b = _right_operand(writer, node, right)
    scales = left.parameters.scale.astype(np.float64) * right.parameters.scale
    offset = b.weights.offset if b.weights else np.zeros((), np.int64)
    words = scale_words(np.asarray(scales), offset)
    known = known_type(writer.graph, node.output_names[0])
    result = None if known is None else known.dims
    left_alone = b.weights is not None and writer.graph.quant_bias is QuantBias.UNFOLDED
    if left_alone:
        a = replace(a, name=tensors.zero_adjusted(left))
    product = Product(writer, node, a, b, left_alone=left_alone)
    y, real = node.output_names[0], left.parameters.real
    if words.size == 1 or _ends_with_channels(result, words.size):
        sums = product.write(writer.fresh(f"{y}/int32"))
        dequant(writer, node, sums, words, real, y)
        return
    flat = product.flattened(result)
    sums = flat.write(writer.fresh(f"{y}/int32"))
    rows = writer.fresh(f"{y}/rows")
    dequant(writer, node, sums, words, real, rows)
    dims = [-1 if dim is None else dim for dim in result or ()]
    shape = writer.const(f"{y}/shape", np.array(dims, np.int64))
    writer.op(node, "Reshape", [rows, shape], y)


class Product(msgspec.Struct, frozen=True, eq=False):
    """The product of two operands; nothing is written until all of it can be written."""

    writer: Writer  # where nodes go
    node: OnnxNode  # what they stand for
    a: ProductOperand  # left
    b: ProductOperand  # right
    # whether the zero point of `a` is left to the compiler, `b` being constant
    left_alone: bool = False

    def write(self, output: str) -> str:
        """Write the sums, as int32, under the name `output`."""
        known = self._known_part()
        a, b, terms = self.a, self.b, []
        if a.zero.any() and b.weights is None:
            row = np.full((1, self._depth()), a.zero, np.int8)
            terms.append([self.writer.const(f"{a.name}/zeros", row), b.name])
        if b.zero.any() and a.weights is None:
            columns = np.full((self._depth(), b.zero.size), b.zero, np.int8)
            terms.append([a.name, self.writer.const(f"{b.name}/zeros", columns)])
        writer, rest = self.writer, len(terms) + (known is not None)
        names = [output if not rest else writer.fresh(f"{output}/product")]
        writer.op(self.node, "MatMul", [self.a.name, self.b.name], names[0])
        for inputs in terms:
            rest -= 1
            part = writer.op(self.node, "MatMul", inputs, writer.fresh(f"{output}/part"))
            names.append(output if not rest else writer.fresh(f"{output}/less"))
            writer.op(self.node, "Sub", [names[-2], part], names[-1])
        if known is not None:
            writer.op(self.node, "Add", [names[-1], writer.const(f"{output}/bias", known)], output)
        return output

    def flattened(self, result: Dims) -> Product:
        """The product with all rows of the left operand stacked in one matrix."""
        weights = self.b.weights
        if weights is None or len(weights.shape) != _MATRIX:
            raise NoCounterpartError(Reason.STACKED_WEIGHTS)
        if result is None:
            raise NoCounterpartError(Reason.UNKNOWN_RANK)
        if 0 in result:
            raise NoCounterpartError(Reason.EMPTY_RESULT)
        if list(result).count(None) > 1:
            raise NoCounterpartError(Reason.OPEN_RESULT)
        shape = self.writer.const(f"{self.a.name}/rows", np.array([-1, weights.shape[0]]))
        name = self.writer.fresh(f"{self.a.name}/matrix")
        self.writer.op(self.node, "Reshape", [self.a.name, shape], name)
        a = ProductOperand(name, (None, weights.shape[0]), self.a.zero, None)
        return replace(self, a=a)

    def _known_part(self) -> NDArray[np.int32] | None:
        """The addend that does not depend on computed operands."""
        a, b = self.a, self.b
        total = np.zeros((), np.int64)
        if a.zero.any() and b.zero.any():
            total = total + self._depth() * a.zero * b.zero
        if a.zero.any() and b.weights is not None:
            shape = b.weights.shape
            if len(shape) > _MATRIX:
                self._depth()
            total = total - a.zero * b.weights.sums(
                (max(len(shape) - 2, 0),), keepdims=len(shape) > _MATRIX
            )
        if b.zero.any() and a.weights is not None:
            self._depth()
            total = total - b.zero * a.weights.sums((len(a.weights.shape) - 1,), keepdims=True)
        part = within_int32(_SUMS, total)
        return part if total.any() and not self.left_alone else None

    def _depth(self) -> int:
        """The dim that the product sums over; operands are matrices or stacks of them."""
        a, b = self.a.dims, self.b.dims
        if a is None or b is None:
            raise NoCounterpartError(Reason.UNKNOWN_RANK)
        if min(len(a), len(b)) < _MATRIX:
            raise NoCounterpartError(Reason.VECTOR)
        depth = a[-1] if a[-1] is not None else b[-2]
        if depth is None:
            raise NoCounterpartError(Reason.OPEN_LENGTH)
        return depth


def _right_operand(writer: Writer, node: OnnxNode, codes: Codes) -> ProductOperand:
    if codes.stored.const is not None:
        axis = max(len(codes.stored.const.shape) - 1, 0)
        weights = prepared(writer, codes, axis)
        zero = np.zeros((), np.int64)
        return ProductOperand(weights.name, weights.shape, zero, weights)
    if codes.parameters.axis is not None:
        raise NoCounterpartError(Reason.DATA_PER_CHANNEL)
    return computed_operand(writer, node.input_names[1], codes)


def known_operand(weights: Weights) -> ProductOperand:
    """A constant operand; its zero point is the part that its codes cannot express."""
    codes_only = replace(weights, offset=np.zeros_like(weights.offset))
    return ProductOperand(weights.name, weights.shape, weights.offset, codes_only)


def computed_operand(writer: Writer, name: str, codes: Codes) -> ProductOperand:
    known = known_type(writer.graph, name)
    dims = None if known is None else known.dims
    return ProductOperand(codes.stored.name, dims, codes.parameters.zero)


def _ends_with_channels(dims: Dims, count: int) -> bool:
    """True if that many words would apply to the last axis of a tensor.

    AscendDequant looks for channels along axis 1 of three axes and more, and then along the last.
    """
    if dims is None:
        return False
    return len(dims) <= _MATRIX or dims[1] not in {None, count}


_SUM_OPERATORS = frozenset({"ConvInteger", "MatMulInteger"})


def is_sum(node: OnnxNode) -> bool:
    """True if a node gives int32 sums of int8 or uint8."""
    return not node.domain and node.op_type in _SUM_OPERATORS


def rewrite_sum(writer: Writer, tensors: KnownTensors, node: OnnxNode) -> None:
    """Rewrite MatMulInteger or ConvInteger."""
    is_product = node.op_type == "MatMulInteger"
    left = _sum_codes(writer, tensors, node, 0, axis=0)
    right = _sum_codes(writer, tensors, node, 1, axis=-1 if is_product else 0)
    if left.parameters.axis is not None:
        raise NoCounterpartError(Reason.NO_WORD)
    if left.stored.const is not None and right.stored.const is not None:
        raise NoCounterpartError(Reason.BOTH_CONSTANT)
    if is_product:
        operands = [
            computed_operand(writer, name, codes)
            if codes.stored.const is None
            else known_operand(prepared(writer, codes, max(len(codes.stored.const.shape) - 1, 0)))
            for name, codes in zip(node.input_names, (left, right), strict=False)
        ]
        Product(writer, node, operands[0], operands[1]).write(node.output_names[0])
    else:
        _rewrite_convolution(writer, tensors, node, left, right)


def _rewrite_convolution(
    writer: Writer, tensors: KnownTensors, node: OnnxNode, data: Codes, filters: Codes
) -> None:
    if data.stored.const is not None:
        raise NoCounterpartError(Reason.BOTH_CONSTANT)
    if filters.stored.const is None:
        raise NoCounterpartError(Reason.COMPUTED_WEIGHTS)
    weights = prepared(writer, filters, 0)
    if weights.offset.any():
        raise NoCounterpartError(Reason.NO_WORD)
    bias = QuantizedLayer(writer, tensors, data, weights).bias("", folded=True)
    name = tensors.zero_adjusted(data) if looks_around(node) else data.stored.name
    y = node.output_names[0]
    writer.again(
        node, "Conv", [name, weights.name, *bias_name(writer, y, bias)], [y], with_own=True
    )


def _sum_codes(
    writer: Writer, tensors: KnownTensors, node: OnnxNode, position: int, axis: int
) -> Codes:
    """An operand as codes of scale 1."""
    x, graph = node.input_names[position], writer.graph
    zero = _zero_point(writer, node, position + 2, axis)
    known = known_type(graph, x)
    kind = dtype_of_element(known.element) if known is not None else None
    if kind not in {DType.INT8, DType.UINT8}:
        raise NoCounterpartError(Reason.UNKNOWN_KIND)
    parameters = Parameters(
        scale=np.ones(zero.shape, np.float32),
        zero=zero,
        axis=axis if zero.ndim else None,
        kind=kind,
        real=DType.FLOAT32,
    )
    if zero.ndim and (known is None or not parameters.fits(known.dims or ())):
        raise NoCounterpartError(Reason.NO_WORD)
    return Codes(tensors.held(node, x, parameters), parameters.signed, node)


def _zero_point(writer: Writer, node: OnnxNode, position: int, axis: int) -> NDArray[np.int64]:
    """A zero point: a scalar, or one per channel along `axis`."""
    name = node.input_name(position)
    if not name:
        return np.zeros((), np.int64)
    const = writer.graph.consts.get(name)
    if const is None:
        raise NoCounterpartError(Reason.COMPUTED_PARAMETERS)
    zero = const.numpy().astype(np.int64)
    if zero.ndim > 1 and zero.size not in {1, zero.shape[axis]}:
        raise NoCounterpartError(Reason.NO_WORD)
    return zero.reshape(() if zero.size == 1 else -1)

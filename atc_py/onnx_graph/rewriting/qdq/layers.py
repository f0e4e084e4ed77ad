"""Conv, ConvTranspose and Gemm on int8: int32 sums, then AscendDequant.

With codes x of zero point z, weights w and scales s, the layer is
s_x * s_w * (sum of x * w + round(b / (s_x * s_w)) - z * sum of w). The int32 bias is round(...): the
compiler folds the last term in, z being the offset of the AscendQuant that the codes come from.
Padding counts as z, too. In a graph whose biases are folded already the bias is all of it.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.onnx_graph.graph import OnnxNode
from atc_py.onnx_graph.rewriting.qdq.parameters import NoCounterpartError, Reason, number_of
from atc_py.onnx_graph.rewriting.qdq.tensors import Codes, KnownTensors
from atc_py.onnx_graph.rewriting.qdq.weights import (
    Weights,
    integers,
    prepared,
    real_bias,
    scale_words,
    within_int32,
)
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.options.compile_options import QuantBias
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import element_count
from atc_py.text import Text

_BIAS = Text("its bias")
_BIAS_AT = 2
_MATRIX, _VOLUME = 2, 5


def rewrite_convolution(writer: Writer, tensors: KnownTensors, node: OnnxNode) -> None:
    """Rewrite Conv or ConvTranspose."""
    data = data_of(tensors, node)
    transposed = node.op_type == "ConvTranspose"
    axis = 1 if transposed else 0
    codes = weight_codes(writer, tensors, node)
    if len(codes.stored.const.shape if codes.stored.const else ()) == _VOLUME:
        # CANN's quantizer leaves these in floats, or writes them with other data.
        if not is_integer_volume(node):
            raise NoCounterpartError(Reason.VOLUMES)
        if data.parameters.offset:
            raise NoCounterpartError(Reason.VOLUME_OFFSET)
    weights = prepared(writer, codes, axis)
    layer = QuantizedLayer(writer, tensors, data, weights, groups=_own_groups(node, weights))
    bias = layer.bias(node.input_name(_BIAS_AT), folded=layer.is_folded)
    words = layer.words()
    around = transposed or looks_around(node)
    name = data.stored.name if layer.is_folded and not around else tensors.zero_adjusted(data)
    y = node.output_names[0]
    sums = writer.fresh(f"{y}/int32")
    inputs = [name, weights.name, *bias_name(writer, y, bias)]
    writer.again(node, node.op_type, inputs, [sums], with_own=True)
    dequant(writer, node, sums, words, data.parameters.real, y)


def rewrite_pool(writer: Writer, tensors: KnownTensors, node: OnnxNode) -> None:
    """Rewrite AveragePool: its weights are 1, and the compiler divides by the area."""
    data = data_of(tensors, node)
    words = scale_words(np.array(data.parameters.factor), np.zeros((), np.int64))
    y = node.output_names[0]
    sums = writer.fresh(f"{y}/int32")
    writer.again(node, node.op_type, [tensors.zero_adjusted(data)], [sums], with_own=True)
    dequant(writer, node, sums, words, data.parameters.real, y)


def rewrite_gemm(writer: Writer, tensors: KnownTensors, node: OnnxNode) -> None:
    """Rewrite Gemm: alpha goes into the scale, C into the bias if constant and one per column."""
    data = data_of(tensors, node)
    alpha, beta = (float(node.number(name, 1.0)) for name in ("alpha", "beta"))
    axis = 0 if node.integer("transB") else 1
    codes = weight_codes(writer, tensors, node)
    if len(codes.stored.const.shape if codes.stored.const else ()) != _MATRIX:
        raise NoCounterpartError(Reason.COMPUTED_WEIGHTS)
    weights = prepared(writer, codes, axis)
    layer = QuantizedLayer(writer, tensors, data, weights, alpha)
    words = layer.words()
    addend = node.input_name(_BIAS_AT)
    inside = layer.takes(addend)
    bias = layer.bias(addend if inside else "", beta, folded=layer.is_folded)
    y = node.output_names[0]
    sums, real = writer.fresh(f"{y}/int32"), y if inside else writer.fresh(f"{y}/product")
    name = data.stored.name if layer.is_folded else tensors.zero_adjusted(data)
    inputs = [name, weights.name, *bias_name(writer, y, bias)]
    writer.again(node, "Gemm", inputs, [sums], with_own=True, without=["alpha", "beta"])
    dequant(writer, node, sums, words, data.parameters.real, real)
    if not inside:
        tensors.as_there(addend)
        if beta != 1.0:
            factor = writer.const(f"{y}/beta", np.array(beta, data.parameters.real.numpy))
            addend = writer.op(node, "Mul", [addend, factor], writer.fresh(f"{y}/addend"))
        writer.op(node, "Add", [real, addend], y)


class QuantizedLayer(msgspec.Struct, frozen=True):
    """A layer whose operands are known to be codes.

    Weights of a transposed convolution in groups have the output channels of one group along their
    axis, and each scale holds for one channel of every group.
    """

    writer: Writer
    tensors: KnownTensors
    data: Codes
    weights: Weights
    alpha: float = 1.0
    groups: int = 1

    @property
    def is_folded(self) -> bool:
        """True if biases of the graph include the offset of the data."""
        return self.writer.graph.quant_bias is QuantBias.FOLDED

    @property
    def scale(self) -> NDArray[np.float64]:
        """Step of a sum, one for all or one per channel."""
        scale = self.weights.scale.astype(np.float64) * self.data.parameters.factor * self.alpha
        return self._in_each_group(np.asarray(scale))

    @property
    def channels(self) -> int:
        return self.weights.shape[self.weights.axis] * self.groups

    def words(self) -> NDArray[np.uint64]:
        """The words of AscendDequant."""
        return scale_words(self.scale, self._in_each_group(self.weights.offset))

    def takes(self, addend: str) -> bool:
        """True if an addend of a Gemm is constant and has one number, or one per column."""
        if not addend:
            return True
        const, columns = self.tensors.const(addend), self.weights.shape[self.weights.axis]
        shapes = {(), (1,), (1, 1), (columns,), (1, columns)}
        return const is not None and const.shape in shapes

    def bias(self, name: str, beta: float = 1.0, *, folded: bool) -> NDArray[np.int32] | None:
        """The int32 bias; None where there is none.

        It is constant, and does not leave int32, not even with the zero point. `name` is the bias
        in the file, "" for none, which is multiplied by `beta`. If `folded`, the zero point of the
        data is put into it, because the compiler will not.
        """
        own = np.zeros((self.channels,), np.int64)
        if name:
            own = own + self._given_bias(name, beta)
        whole = within_int32(_BIAS, own - self._zeros())
        if folded:
            return whole if name or self.data.parameters.offset else None
        return within_int32(_BIAS, own) if name else None

    def _zeros(self) -> NDArray[np.int64]:
        """The zero point of the data times the sum of the weights of each channel."""
        zero, axis = self.data.parameters.offset, self.weights.axis
        if not zero:
            return np.zeros((), np.int64)
        others = tuple(at for at in range(len(self.weights.shape)) if at != axis)
        if self.groups == 1:
            return zero * self.weights.sums(others)
        taps = self.weights.sums(others[1:], keepdims=False)
        by_group = taps.reshape(self.groups, -1, taps.shape[-1])
        return np.asarray(zero * by_group.sum(axis=1)).reshape(-1)

    def _in_each_group(self, values: NDArray[Any]) -> NDArray[Any]:
        """Numbers of the channels of one group, again for each group; one for all stays."""
        return np.tile(values, self.groups) if values.size > 1 else values

    def _given_bias(self, name: str, beta: float) -> NDArray[np.int64]:
        """A bias of the file as integers: one for all, or one per channel."""
        const = self.tensors.const(name)
        if const is not None and element_count(const.shape) not in {1, self.channels}:
            raise NoCounterpartError(Reason.ODD_BIAS)
        given = integers(self.tensors, name, self.scale) if beta == 1.0 else None
        if given is not None:
            return given
        real = real_bias(self.tensors, self.writer, name).reshape(-1)
        with np.errstate(all="ignore"):
            rounded = np.rint(beta * real / self.scale)
        within_int32(_BIAS, rounded)
        return rounded.astype(np.int64)


def is_integer_volume(node: OnnxNode) -> bool:
    return node.op_type == "Conv" and (*node.integers("dilations"), 1)[0] == 1


def _own_groups(node: OnnxNode, weights: Weights) -> int:
    """The number of groups of a transposed convolution; 1 for other layers."""
    groups = node.integer("group", 1) if node.op_type == "ConvTranspose" else 1
    if groups < 1 or weights.shape[0] % groups:
        raise NoCounterpartError(Reason.ODD_GROUPS)
    return groups


def data_of(tensors: KnownTensors, node: OnnxNode) -> Codes:
    """The data of a layer as codes; they must be quantized as a whole."""
    codes = tensors.codes.get(node.input_names[0])
    if codes is None or codes.parameters.kind is not DType.INT8:
        raise tensors.not_codes(node.input_names[0], Reason.DATA_NOT_QUANTIZED)
    if codes.stored.const is not None:
        raise NoCounterpartError(Reason.BOTH_CONSTANT)
    if codes.parameters.axis is not None:
        raise NoCounterpartError(Reason.DATA_PER_CHANNEL)
    return codes


def weight_codes(writer: Writer, tensors: KnownTensors, node: OnnxNode) -> Codes:
    """The weights of a layer, which must be constant codes."""
    name = node.input_name(1)
    codes = tensors.codes.get(name)
    if codes is None:
        is_known = name in writer.graph.consts
        raise tensors.not_codes(
            name, Reason.WEIGHTS_NOT_QUANTIZED if is_known else Reason.COMPUTED_WEIGHTS
        )
    if codes.stored.const is None or codes.parameters.kind is not DType.INT8:
        raise NoCounterpartError(Reason.COMPUTED_WEIGHTS)
    return codes


def dequant(
    writer: Writer,
    node: OnnxNode,
    sums: str,
    words: NDArray[np.uint64],
    real: DType,
    output: str,
) -> None:
    name = writer.const(f"{output}/deq_scale", words)
    attributes = {"dtype": number_of(real), "sqrt_mode": 0, "relu_flag": 0}
    writer.op(node, "AscendDequant", [sums, name], output, **attributes)


def bias_name(writer: Writer, y: str, bias: NDArray[np.int32] | None) -> Sequence[str]:
    return [] if bias is None else [writer.const(f"{y}/bias", bias)]


def looks_around(node: OnnxNode) -> bool:
    """True if a convolution may read padding around its data."""
    return any(node.integers("pads")) or node.text("auto_pad", "").startswith("SAME")

"""Layers on int8 as layers on real numbers: codes dequantized, factors shared out, biases restored.

AscendDequant multiplies sums by d = s_x * s_w. The step s_x of the data is known, so that of the
weights is d / s_x. The int32 bias b is what the layer on real numbers adds, d being its step; where
it has the zero point z of the data folded in, that is b + z * (sum of w). Of products of matrices
the same is added after them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from atc_py.ir import ConstData
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.onnx_graph.reading.attributes import INTEGER_POOLS
from atc_py.onnx_graph.rewriting.qdq.ascend import CodeSteps, Steps, SumFactors, no_form
from atc_py.onnx_graph.rewriting.qdq.integer_sums import Sums
from atc_py.onnx_graph.rewriting.qdq.parameters import broadcast_along
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.options.compile_options import QuantBias

Integers = NDArray[np.int64]


_INT8, _INT32 = np.iinfo(np.int8), np.iinfo(np.int32)
_BIAS_AT = 2
_LAST = -1
_MATRIX = 2


@dataclass(frozen=True, slots=True, eq=False)
class _Operand:
    """Dequantized operand: codes, their zero points, and the axis of their channels."""

    name: str
    zero: Integers
    axis: int = 0


@dataclass(slots=True, eq=False)
class RealLayers:
    """Writes layers on real numbers in place of those on int8."""

    writer: Writer  # where nodes go
    known: Mapping[str, ConstData]  # constants by name
    steps: CodeSteps  # of int8 tensors
    _real: dict[tuple[object, ...], str] = field(default_factory=dict)

    def write(self, sums: Sums, factors: SumFactors, output: str) -> None:
        """Write the layer of `sums` under the name of its dequantized result.

        Raises:
            AtcError: NO_QDQ_FORM.
        """
        if sums.layer.op_type == "MatMul":
            self._write_product(sums, factors, output)
        elif sums.layer.op_type in INTEGER_POOLS:
            self._write_pool(sums.layer, factors, output)
        else:
            self._write_layer(sums, factors, output)

    def _write_layer(self, sums: Sums, factors: SumFactors, output: str) -> None:
        """Write Conv, ConvTranspose or Gemm."""
        layer, (data, name) = sums.layer, sums.layer.input_names[:2]
        const = self.known.get(name)
        if const is None:
            raise no_form(layer, "must have constant weights, found computed ones")
        codes = const.numpy().astype(np.int64)
        const.release()
        axis, factors = _channels(layer, codes.shape, factors)
        steps = self.steps.of(layer, data)
        apart = codes - broadcast_along(factors.offset_w, axis, codes.ndim)
        folded = 0 if self._is_unfolded else steps.zero
        bias = self._bias(layer, folded * _sums_of_weights(layer, apart))
        scale = _quotient(factors.scale, steps.scale)
        inputs = [
            self.dequantized(layer, data, steps),
            self._dequantized(layer, _Operand(name, factors.offset_w, axis), scale),
        ]
        if isinstance(bias, str):
            inputs.append(self._dequantized(layer, _Operand(bias, _NONE), factors.scale))
        elif bias is not None:
            inputs.append(self._addend(layer, bias, factors.scale, _LAST))
        product = output if sums.added is None else self.writer.fresh(f"{output}/product")
        own = ["alpha", "beta"]
        self.writer.again(layer, layer.op_type, inputs, [product], without=own, with_own=True)
        if sums.added is not None:
            position = _LAST if layer.op_type == "Gemm" else 1 - codes.ndim
            addend = self._addend(layer, sums.added, factors.scale, position)
            self.writer.op(layer, "Add", [product, addend], output)

    def _write_pool(self, layer: OnnxNode, factors: SumFactors, output: str) -> None:
        """Write AveragePool of its data in steps of the factor, which is the data's own scale."""
        if factors.scale.size != 1 or factors.offset_w.any():
            raise no_form(
                layer,
                "on int8 must have one factor without offset_w, found {n} factors",
                n=factors.scale.size,
            )
        pad = self._border(layer)
        data = layer.input_names[0] if pad is None else pad.input_names[0]
        steps = self.steps.of(layer, data)
        (scale,) = _known_step(factors.scale, steps.scale)
        real = self.dequantized(layer, data, Steps(np.float32(scale), steps.zero))
        if pad is not None:
            self.writer.nodes.remove(pad)
            padded = self.writer.fresh(f"{pad.output_names[0]}/real")
            inputs = [real, *pad.input_names[1:2]]
            real = self.writer.again(pad, "Pad", inputs, [padded], with_own=True).output_names[0]
        self.writer.again(layer, layer.op_type, [real], [output], with_own=True)

    def _border(self, layer: OnnxNode) -> OnnxNode | None:
        """The Pad of zeros before a pool; it stands for real zeros, as the compiler fuses it."""
        graph, name = self.writer.graph, layer.input_names[0]
        pad = graph.producer(name)
        if pad is None or pad.op_type != "Pad" or pad not in self.writer.nodes:
            return None
        border = pad.input_name(2)
        value = self.known.get(border)
        given = any(pad.input_names[2:]) if value is None else any(pad.input_names[3:])
        filled = pad.number("value", 0.0) if value is None else value.numpy().any()
        constant = pad.text("mode", "constant") == "constant" and not (filled or given)
        return pad if constant and graph.is_read_once(name) else None

    def _write_product(self, sums: Sums, factors: SumFactors, output: str) -> None:
        """Write MatMul; terms that its zero points do not cover are added after it."""
        layer, names = sums.layer, sums.layer.input_names
        consts = [self.known.get(name) for name in names]
        a, b = (None if const is None else const.numpy().astype(np.int64) for const in consts)
        steps = [self.steps.of(layer, name) for name in names]
        left = np.array(sums.left if b is None else steps[0].zero)
        right = sums.right + factors.offset_w if a is None else np.array([steps[1].zero])
        rest = np.zeros((), np.int64) if sums.added is None else sums.added
        if not (self._is_unfolded and sums.is_alone and a is None and b is not None):
            if b is not None:
                rest = rest + _sums_of_columns(b) * (left - sums.left)
            if a is not None:
                extra = right - sums.right - factors.offset_w
                rest = rest + extra * a.sum(axis=-1, keepdims=True)
            rest = rest - _depth(sums, a, b) * left * right
        if a is not None and factors.scale.size > 1:
            raise no_form(layer, "must have one factor where its left operand is constant")
        data = 0 if a is None else 1
        zeros = [left, right]
        scale = _quotient(factors.scale, steps[data].scale)
        scale = _known_step(scale, steps[1 - data].scale)
        other = _Operand(names[1 - data], zeros[1 - data], _LAST)
        pair = [
            self.dequantized(
                layer, names[data], Steps(steps[data].scale, int(zeros[data].flat[0]))
            ),
            self._dequantized(layer, other, scale),
        ]
        product = self.writer.fresh(f"{output}/product") if rest.any() else output
        self.writer.again(layer, "MatMul", pair if data == 0 else pair[::-1], [product])
        if rest.any():
            addend = self._addend(layer, rest, factors.scale, _LAST)
            self.writer.op(layer, "Add", [product, addend], output)

    @property
    def _is_unfolded(self) -> bool:
        """True if the compiler folds the zero point of data into layers with weights."""
        return self.steps.quant_bias is QuantBias.UNFOLDED

    def dequantized(self, layer: OnnxNode, name: str, steps: Steps) -> str:
        """The real numbers of an int8 tensor that is quantized as a whole."""
        operand = _Operand(name, np.array([steps.zero]))
        return self._dequantized(layer, operand, np.array([steps.scale], np.float64))

    def _dequantized(self, layer: OnnxNode, operand: _Operand, scale: NDArray[np.float64]) -> str:
        """The real numbers of codes; those that exist already are reused."""
        numbers = scale.astype(np.float32)
        zero = np.broadcast_to(operand.zero.reshape(-1), numbers.shape)
        if zero.size and not (_INT8.min <= zero.min() and zero.max() <= _INT8.max):
            raise no_form(layer, "must have zero points within int8, found {max}", max=zero.max())
        key = (operand.name, numbers.tobytes(), zero.tobytes(), operand.axis)
        if key not in self._real:
            inputs = [operand.name, channel_scale(self.writer, operand.name, numbers)]
            # Sessions of onnxruntime with x64quantprecision take several scales with zero points alone.
            if zero.any() or (zero.size > 1 and operand.zero is not _NONE):
                zeros = zero.astype(np.int8)
                zeros = zeros.reshape(()) if zeros.size == 1 else zeros
                inputs.append(self.writer.const(f"{operand.name}/zero", zeros))
            axes = {} if numbers.size == 1 else {"axis": operand.axis}
            real = self.writer.fresh(f"{operand.name}/real")
            self._real[key] = self.writer.op(layer, "DequantizeLinear", inputs, real, **axes)
        return self._real[key]

    def _bias(self, layer: OnnxNode, more: Integers) -> str | Integers | None:
        """The bias and what was subtracted from it; a name if computed; None for none."""
        name = layer.input_name(_BIAS_AT)
        const = self.known.get(name)
        if name and const is None:
            if more.any():
                raise no_form(layer, "must have a constant bias, found a computed one")
            return name
        if const is not None:
            more = const.numpy().astype(np.int64) + more
        return more if const is not None or more.any() else None

    def _addend(
        self, layer: OnnxNode, added: Integers, scale: NDArray[np.float64], position: int
    ) -> str:
        """Integers of a layer's sums, dequantized; channels are `position` from the end."""
        wrong = added[(added < _INT32.min) | (added > _INT32.max)]
        if wrong.size:
            raise no_form(layer, "must have a bias within int32, found {flat}", flat=wrong.flat[0])
        if scale.size > 1:
            added = added.reshape((1,) * (-position - added.ndim) + added.shape)
            shape: list[int] = list(added.shape)
            shape[position] = scale.size
            added = np.broadcast_to(added, shape)
        name = self.writer.const(f"{layer.output_names[0]}/bias", added.astype(np.int32))
        return self._dequantized(layer, _Operand(name, _NONE, position), scale)


_NONE = np.zeros(1, np.int64)


def channel_scale(writer: Writer, name: str, scale: NDArray[np.float32]) -> str:
    """The name of a scale: a scalar, or a list with one for each channel."""
    return writer.const(f"{name}/scale", scale.reshape(()) if scale.size == 1 else scale)


def _channels(
    layer: OnnxNode, shape: tuple[int, ...], factors: SumFactors
) -> tuple[int, SumFactors]:
    """The channel axis of a layer's weights, and factors that fit it."""
    axis = 1
    if layer.op_type == "Conv" or layer.integer("transB"):
        axis = 0
    odd = [name for name in ("alpha", "beta") if layer.number(name, 1.0) != 1.0]
    if odd:
        raise no_form(
            layer,
            "on int8 must have the {odd} 1, found {attributes}",
            odd=odd[0],
            attributes=layer.plain_attributes[odd[0]],
        )
    count, channels = factors.scale.size, shape[axis]
    groups = layer.integer("group", 1) if layer.op_type == "ConvTranspose" else 1
    if groups > 1 and count == channels * groups:
        rows = factors.scale.reshape(groups, -1), factors.offset_w.reshape(groups, -1)
        if any((row != row[0]).any() for row in rows):
            raise no_form(layer, "in groups must have the same factors in each of them")
        return axis, SumFactors(rows[0][0], rows[1][0])
    if count not in {1, channels}:
        raise no_form(
            layer,
            "of {channels} channels must have 1 factor or {channels}, not {count}",
            channels=channels,
            count=count,
        )
    return axis, factors


def _sums_of_weights(layer: OnnxNode, codes: Integers) -> Integers:
    """For each channel in order, the sum of all weights that a result of it counts."""
    if layer.op_type == "Gemm":
        return np.asarray(codes.sum(axis=1 if layer.integer("transB") else 0))
    if layer.op_type == "ConvTranspose":
        apart = codes.reshape(layer.integer("group", 1), -1, *codes.shape[1:])
        return np.asarray(apart.sum(axis=(1, *range(3, apart.ndim)))).reshape(-1)
    return np.asarray(codes.sum(axis=tuple(range(1, codes.ndim))))


def _sums_of_columns(weights: Integers) -> Integers:
    stacked = weights.ndim > _MATRIX
    return np.asarray(weights.sum(axis=max(weights.ndim - _MATRIX, 0), keepdims=stacked))


def _depth(sums: Sums, a: Integers | None, b: Integers | None) -> int:
    """The number of products in a sum of a MatMul; 0 if zero points do not show it."""
    if a is not None:
        return int(a.shape[-1])
    if b is not None:
        return int(b.shape[max(b.ndim - _MATRIX, 0)])
    return sums.depth


def _quotient(factor: NDArray[np.float64], step: np.float32) -> NDArray[np.float64]:
    """Factor / step as the least float32 whose product with `step` is `factor`, or more.

    The device truncates factors to 19 bits: a factor restored slightly smaller could lose 2^-10.
    """
    wanted = factor.astype(np.float32)
    nearest = (factor / np.float64(step)).astype(np.float32)
    below, above = (np.nextafter(nearest, np.float32(end)) for end in (0, np.inf))
    quotient = above
    for scale in (nearest, below):
        product = (scale.astype(np.float64) * step).astype(np.float32)
        quotient = np.where(product >= wanted, scale, quotient)
    shared: NDArray[np.float64] = quotient.astype(np.float64)
    return shared


def _known_step(scale: NDArray[np.float64], known: np.float32) -> NDArray[np.float64]:
    """The known step of a tensor if `scale` equals it up to rounding."""
    if scale.size == 1 and abs(scale[0] / np.float64(known) - 1) < 2**-22:
        return np.array([known], np.float64)
    return scale

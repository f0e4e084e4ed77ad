"""Folds the offset of quantized data into the bias of the layer that reads them."""

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.diag import QUANT_BIAS_WRAPS, QUANT_OFFSET
from atc_py.ir import DenseConst, Graph, Node, TensorType, Value
from atc_py.options.compile_options import QuantBias
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.quant.constants import constant_codes
from atc_py.passes.quant.zeros import UNKNOWN, counts_padding, has_known_channels, said, zeros_of
from atc_py.target import VIEWS
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

Integers = npt.NDArray[np.int64]


_CONVOLUTIONS = frozenset({"Conv2D", "Conv3D", "DepthwiseConv2D", "Conv2DTransposeD"})
_TURNED = {"MatMulV2": "transpose_x2", "BatchMatMulV2": "adj_x2"}
"""The products, each with the attribute that says whether its weights are transposed."""

_BIAS, _OFFSET_W = 2, 3
_MATRIX = 2

_SCALES = frozenset({"AscendDequant", "AscendRequant", "AscendDequantS16"})
"""Operators that multiply sums by factors."""

_MOVES = VIEWS | {"ConcatD", "SplitD", "SplitVD", "StridedSliceD", "TransposeD"}
"""Movement that may stand between a layer and what scales its sums."""

_OFFSETS = range(-256, 256)
"""Offsets that a word can hold; AMCT's are int8."""

_HELP = Text("quantize all data that the layer combines with the same offset")
_HELP_OPEN = Text("give all inputs fixed shapes, or quantize the data of the layer with offset 0")
_HELP_WRAPS = Text(
    "quantize the weights or the data with a larger scale, or the data with offset 0"
)


class FoldQuantBiasPass(Pass):
    """layer(q - z, w, b) = layer(q, w, b - z * s), s_c being the sum of w - offset_w for channel c.

    The sum of output channel c runs over all taps and over the input channels of its group. z is
    the int8 number that stands for 0 in the data, offset_w what the layer takes off its weights.
    A layer without bias gets one; a product with stacked weights gets an Add after it.

    Only sums that AscendDequant, AscendDequantS16 and AscendRequant alone read are corrected;
    movement and the addition of a constant may stand between. Products of two computed tensors
    and the offset of a product's right operand stay as they are.

    The term is exact and the bias is taken modulo 2^32, like the sums of the layer: what is scaled
    is right wherever the whole sum is within int32. A bias beyond int32 gets a finding.

    ATC's host operator QuantBiasOptimization has these operands; its formula is not published.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        rules = context.soc.quant_rules
        known, scaled = zeros_of(graph, cuts=rules.cuts_offsets), _scaled(graph)
        changes = 0
        for node in tuple(graph.nodes):
            x = node.input(0)
            zeros = UNKNOWN if x is None else known.get(x, UNKNOWN)
            if zeros in (UNKNOWN, {0}) or not _is_integer_layer(node):
                continue
            if node.output not in scaled:
                continue
            # An average pool on int8 has no bias that could hold the offset.
            is_pool = bool(node.origins) and node.origins[0].op_type == "AveragePool"
            if context.quant_bias is QuantBias.FOLDED and not is_pool:
                continue
            if rules.needs_channels and not has_known_channels(node):
                _tell_open(node, context)
                continue
            zero = next(iter(zeros)) if len(zeros) == 1 else None
            if zero is None or zero not in _OFFSETS:
                _tell_unclear(node, said(zeros), context)
                continue
            sums = _sums(node)
            weights = node.input(1)
            if weights is not None and weights.const is not None:
                weights.const.release()
            if sums is not None and sums.any():
                _fold(graph, node, -zero * sums, context)
                changes += 1
        return changes


def _is_integer_layer(node: Node) -> bool:
    if node.op not in _CONVOLUTIONS and node.op not in _TURNED:
        return False
    return all(v is not None and v.type.dtype is DType.INT8 for v in map(node.input, (0, 1)))


def _scaled(graph: Graph) -> set[Value]:
    """The int32 values that, moved or not, only scaling nodes read."""
    scaled: set[Value] = set()
    lost: set[Value] = set()
    for node in reversed(graph.nodes):
        for value in node.outputs:
            if value.type.dtype is not DType.INT32:
                continue
            read = [each for reader in value.uses for each in _read_as(reader)]
            if not lost.isdisjoint(read) or None in read:
                lost.add(value)
            elif not scaled.isdisjoint(read) or any(_is_scaling(use) for use in value.uses):
                scaled.add(value)
    return scaled


def _read_as(use: tuple[Node, int]) -> tuple[Value | None, ...]:
    """The moved sums that a use makes of sums; None stands for anything else."""
    node, _ = use
    if _is_scaling(use):
        return ()
    shifts = node.op == "Add" and any(value.const is not None for value in node.present_inputs)
    return node.outputs if node.op in _MOVES or shifts else (None,)


def _is_scaling(use: tuple[Node, int]) -> bool:
    node, position = use
    return node.op in _SCALES and position == 0


def _tell_unclear(layer: Node, found: str, context: PassContext) -> None:
    """Report offsets that cannot be folded, unless set-offset-x reports them for the padding."""
    if counts_padding(layer):
        return
    message = Text(
        "{op} must have data of one int8 offset to fold into its bias, found {actual}",
        op=layer.op,
        actual=found,
    )
    place = context.place(layer)
    context.sink.add(QUANT_OFFSET.diagnostic(message, place=place, help=_HELP))


def _tell_open(layer: Node, context: PassContext) -> None:
    """Report a layer whose offset CANN does not fold, as the shape of its data is not known."""
    found = Text("unknown") if layer.input(0) is None else f"{layer.present_inputs[0].type}"
    message = Text(
        "{op} must have data of a known shape for ATC to fold their offset into its "
        "bias, found {actual}",
        op=layer.op,
        actual=found,
    )
    place = context.place(layer)
    context.sink.add(QUANT_OFFSET.diagnostic(message, place=place, help=_HELP_OPEN))


def _sums(layer: Node) -> Integers | None:
    """The sum of the weights of each output channel; None for computed weights.

    It is a list, or for stacked weights an array that broadcasts to the layer's result.
    """
    codes = constant_codes(layer.input(1))
    if codes is None:
        return None
    offsets = constant_codes(layer.input(_OFFSET_W))
    offset: Integers = np.zeros((), np.int64) if offsets is None else offsets.astype(np.int64)
    total, count = _totals(layer, codes)
    found: Integers = total - count * offset
    return found


def _totals(layer: Node, codes: npt.NDArray[Any]) -> tuple[Integers, int]:
    total: Integers
    if layer.op in _TURNED:
        stacked = prod(codes.shape[:-_MATRIX]) != 1
        matrices = codes if stacked else codes.reshape(codes.shape[-_MATRIX:])
        axis = -1 if layer.attributes.get(_TURNED[layer.op], False) is True else -2
        total = matrices.sum(axis=axis, dtype=np.int64)
        return total[..., None, :] if stacked else total, codes.shape[axis]
    if layer.op == "Conv2DTransposeD":
        groups = layer.attributes.get("groups", 1)
        parts = codes.reshape(groups, -1, *codes.shape[1:])  # type: ignore[arg-type]  # verified
        total = parts.sum(axis=(1, 3, 4), dtype=np.int64).reshape(-1)
        return total, prod((parts.shape[1], *parts.shape[3:]))
    total = codes.sum(axis=tuple(range(1, codes.ndim)), dtype=np.int64)
    return total, prod(codes.shape[1:])


def _fold(graph: Graph, layer: Node, term: Integers, context: PassContext) -> None:
    if term.ndim > 1:
        _add_after(graph, layer, _wrapped(layer, term, context))
        return
    channels = layer.output.type.dims[1 if layer.op in _CONVOLUTIONS else -1]
    term = np.broadcast_to(term, (channels or term.size,))
    bias = layer.input(_BIAS)
    if bias is None or bias.const is not None:
        own = 0 if bias is None or bias.const is None else bias.const.numpy().astype(np.int64)
        array = _wrapped(layer, term + own, context)
        value = graph.constant(f"{layer.output.name}.bias", DenseConst(array))
    else:
        value = _sum(graph, layer, bias, _wrapped(layer, term, context))
    layer.set_inputs([*layer.inputs[:_BIAS], value, *layer.inputs[_BIAS + 1 :]])


def _wrapped(layer: Node, exact: Integers, context: PassContext) -> npt.NDArray[np.int32]:
    """Integers modulo 2^32, with a finding where one leaves int32."""
    limits = np.iinfo(np.int32)
    wrong = exact[(exact < limits.min) | (exact > limits.max)]
    if wrong.size:
        message = Text(
            "the bias of {op} must be within int32 with the offset of its data folded "
            "in, found {flat}",
            op=layer.op,
            flat=int(wrong.flat[0]),
        )
        place = context.place(layer)
        context.sink.add(QUANT_BIAS_WRAPS.diagnostic(message, place=place, help=_HELP_WRAPS))
    return exact.astype(np.int32)


def _sum(graph: Graph, layer: Node, bias: Value, term: npt.NDArray[np.int32]) -> Value:
    constant = graph.constant(f"{layer.output.name}.offset", DenseConst(term))
    name = f"{layer.output.name}.bias"
    type_ = TensorType(DType.INT32, bias.type.dims)
    return graph.add_node("Add", [bias, constant], [(name, type_)], {}, layer.origins).output


def _add_after(graph: Graph, layer: Node, term: npt.NDArray[np.int32]) -> None:
    sums = layer.output
    constant = graph.constant(f"{sums.name}.offset", DenseConst(term))
    name = f"{sums.name}.corrected"
    added = graph.add_node("Add", [], [(name, sums.type)], {}, layer.origins)
    sums.replace_by(added.output)
    added.set_inputs([sums, constant])

"""Predicates on quantized nodes: layers on int8, and the scales that go with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from atc_py.check.answers import HOLDS, Answer, all_of, fails, unknown
from atc_py.check.predicate import predicate
from atc_py.check.rules.reading import constant, count_of, dims_of, is_known
from atc_py.check.rules.wording import described, shape_text, shown
from atc_py.diag.codes import DTYPE_NOT_LISTED, SHAPES_DISAGREE, VALUE_OUT_OF_RANGE
from atc_py.onnx_graph.source import SourceTensor
from atc_py.spec.implied import DtypeQuantized
from atc_py.spec.rules import ScalesPerChannel, ScalesPositive
from atc_py.tensor.dtypes import DType
from atc_py.tensor.scale_words import channel_axis, decode_graph, is_a_list
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.check.bound_node import BoundNode


@predicate(
    DtypeQuantized,
    DTYPE_NOT_LISTED,
    demand="{tensor} of {op} must be {dtype} in an integer layer, whose other input is int8",
    help_=Text(
        "an integer layer takes int8 data from AscendQuant, int8 weights and an int32 bias, "
        "and its int32 result goes to AscendDequant; quantize {tensor}, or keep all inputs "
        "in floats"
    ),
)
def dtype_quantized(rule: DtypeQuantized, node: BoundNode) -> Answer:
    """Judge a node by a DtypeQuantized rule."""
    if not is_integer_layer(node):
        return HOLDS
    wrong = (each for each in node.tensors(rule.tensor) if each.dtype not in {None, rule.dtype})
    return all_of(fails(each.element) for each in wrong)


def is_integer_layer(node: BoundNode) -> bool:
    """True if one of the operands that are int8 in an integer layer is int8."""
    decisive = (name for name, dtype in node.spec.quantized.items() if dtype is DType.INT8)
    return any(each.dtype is DType.INT8 for name in decisive for each in node.tensors(name))


@predicate(
    ScalesPerChannel,
    SHAPES_DISAGREE,
    demand="{tensor} of {op} must have one element, or along one axis as many as {other} has channels",
    help_=Text(
        "give {tensor} one element, or one for each channel: axis 1 of {other}, or its last "
        "axis where it has fewer than three"
    ),
)
def scales_per_channel(rule: ScalesPerChannel, node: BoundNode) -> Answer:
    """Judge a node by a ScalesPerChannel rule."""
    return all_of(
        _one_or_channels(rule, tensor, other)
        for tensor in node.tensors(rule.tensor)
        for other in node.tensors(rule.other)
    )


def _one_or_channels(rule: ScalesPerChannel, tensor: SourceTensor, other: SourceTensor) -> Answer:
    count, dims = count_of(dims_of(tensor)), dims_of(other)
    if count == 1:
        return HOLDS
    if count is None:
        return unknown(described(rule.tensor, tensor))
    own = dims_of(tensor) or ()
    if not is_a_list(own):
        shape = shape_text(tensor)
        return fails(Text("{shown} in shape {shape}", shown=shown(count), shape=shape))
    if dims is not None and channel_axis(dims, count) is not None:
        return HOLDS
    if dims is None or None in dims:
        return unknown(described(rule.other, other))
    shape = shape_text(other)
    return fails(
        Text(
            "{shown}, {other} has shape {shape}", shown=shown(count), other=rule.other, shape=shape
        )
    )


@predicate(
    ScalesPositive,
    VALUE_OUT_OF_RANGE,
    demand="{tensor} of {op}, where constant, must hold positive factors",
    help_=Text(
        "write positive, finite factors into {tensor}; of a 64-bit word they are the lower "
        "32 bits, as float32"
    ),
)
def scales_positive(rule: ScalesPositive, node: BoundNode) -> Answer:
    """Judge a node by a ScalesPositive rule."""
    return all_of(
        _positive(rule.tensor, tensor)
        for tensor in node.tensors(rule.tensor)
        if is_known(tensor) or (node.waits and tensor.settles)
    )


def _positive(name: str, tensor: SourceTensor) -> Answer:
    """True if all factors of a constant are positive."""
    import numpy as np

    data = constant(name, tensor)
    if isinstance(data, Text):
        return unknown(data)
    if data.dtype.kind not in "uf":
        return HOLDS  # the rule on its dtypes says what is wrong with it
    factors: npt.NDArray[Any] = data
    if data.dtype == np.uint64:
        factors = decode_graph(data).scale
    wrong = factors[~((factors > 0) & np.isfinite(factors))]
    return fails(shown(float(wrong.flat[0]))) if wrong.size else HOLDS

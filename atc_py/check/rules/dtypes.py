"""Predicates on element types, and on the scales that go with layers on int8.

Which types are legal depends on the precision mode, which may change them. Source of the table: ATC's
documented rules for --precision_mode and the way its column selection narrows and widens; double is
never chosen for another float, integers are never changed.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.check.bound_node import BoundNode
from atc_py.check.condition_words import mode_words
from atc_py.check.predicate import each_pair, each_tensor, predicate
from atc_py.check.reading import (
    HOLDS,
    Answer,
    NamedTensor,
    fails,
    operand,
    operands,
    shown,
    unknown,
)
from atc_py.diag import DTYPE_NOT_LISTED, SHAPES_DISAGREE, VALUE_OUT_OF_RANGE
from atc_py.options.compile_options import PrecisionMode
from atc_py.spec import implied, rules
from atc_py.tensor.dtypes import DType
from atc_py.tensor.scale_words import channel_axis, decode_graph, is_a_list
from atc_py.text import Text

_F16, _BF16, _F32 = DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32
_RISE = {_F16: (_F16, _F32), _BF16: (_BF16, _F32), _F32: (_F32,)}
"""Dtypes that a float may become without loss, the dtype itself first."""

_TO_FP16 = {_F16: (_F16, _F32), _BF16: (_F16, _F32), _F32: (_F16, _F32)}
_TO_FP32 = {_F16: (_F32, _F16), _BF16: (_F32, _BF16, _F16), _F32: (_F32, _BF16, _F16)}
_MAY_FP16 = {_F16: (_F16, _F32), _BF16: (_BF16, _F32, _F16), _F32: (_F32, _F16)}
_MAY_BF16 = {_F16: (_F16, _F32), _BF16: (_BF16, _F32), _F32: (_F32, _BF16)}

_CHOICES: Mapping[PrecisionMode, Mapping[DType, tuple[DType, ...]]] = {
    PrecisionMode.FORCE_FP16: _TO_FP16,
    PrecisionMode.FORCE_FP32: _TO_FP32,
    PrecisionMode.CUBE_FP16IN_FP32OUT: _TO_FP32,
    PrecisionMode.ALLOW_FP32_TO_FP16: _MAY_FP16,
    PrecisionMode.MUST_KEEP_ORIGIN_DTYPE: _RISE,
    PrecisionMode.ALLOW_MIX_PRECISION: _MAY_FP16,
    PrecisionMode.ALLOW_MIX_PRECISION_FP16: _MAY_FP16,
    PrecisionMode.ALLOW_MIX_PRECISION_BF16: _MAY_BF16,
    PrecisionMode.ALLOW_FP32_TO_BF16: _MAY_BF16,
}
"""Dtypes that a float may become in each mode, in the order in which they are tried."""

_FLOATS = {DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32}
"""Dtypes that every precision mode can bring together."""

_NOT_KNOWN = Text("its dtype is not known")


_MUST_HAVE = "{tensor} of {op} must have dtype {dtypes}"
_CAST = Text("cast {tensor} to {dtypes} before the node, or export the model with that dtype")


@predicate(DTYPE_NOT_LISTED, demand=_MUST_HAVE, help_=_CAST)
@each_tensor
def _dtype_listed(
    rule: implied.DtypeListed | rules.DtypeAmong, node: BoundNode, tensor: NamedTensor
) -> Answer:
    mode = node.conditions.mode
    if not tensor.tensor.element:
        return unknown(_NOT_KNOWN)
    if tensor.tensor.dtype is None:
        return fails(tensor.tensor.element)
    if is_legal(tensor.tensor.dtype, rule.dtypes, mode):
        return HOLDS
    depends = any(is_legal(tensor.tensor.dtype, rule.dtypes, other) for other in PrecisionMode)
    return fails(tensor.tensor.element, mode_words(mode) if depends else None)


@predicate(
    DTYPE_NOT_LISTED,
    demand="{tensor} of {op} must not have dtype {dtypes}",
    help_=Text(
        "cast the tensor to another dtype before the node, or choose a precision mode that "
        "may change it, force_fp16 for instance"
    ),
)
@each_tensor
def _dtype_excluded(rule: rules.DtypeExcluded, _: BoundNode, tensor: NamedTensor) -> Answer:
    if not tensor.tensor.element:
        return unknown(_NOT_KNOWN)
    return fails(tensor.tensor.element) if tensor.tensor.dtype in rule.dtypes else HOLDS


@predicate(
    DTYPE_NOT_LISTED,
    demand="{tensor} of {op} must have the dtype of {other}",
    help_=Text("cast one of the two to the dtype of the other before the node"),
)
@each_tensor
def _dtype_same(rule: implied.DtypeSame, node: BoundNode, tensor: NamedTensor) -> Answer:
    other = operand(node, rule.other)
    if other is None or other.tensor.dtype is None or is_integer_layer(node):
        return HOLDS  # the rule on its dtypes says what is wrong with it
    # The precision mode makes floats of several widths one dtype.
    if (
        tensor.tensor.dtype in {None, other.tensor.dtype}
        or {tensor.tensor.dtype, other.tensor.dtype} <= _FLOATS
    ):
        return HOLDS
    return fails(
        Text(
            "{element} and {element_2}",
            element=tensor.tensor.element,
            element_2=other.tensor.element,
        )
    )


def is_legal(dtype: DType, listed: Collection[DType], mode: PrecisionMode) -> bool:
    """True if an operator that takes the `listed` dtypes can take a tensor of `dtype`."""
    return becomes(dtype, listed, mode) is not None


def becomes(dtype: DType, listed: Collection[DType], mode: PrecisionMode) -> DType | None:
    """The dtype that the operator computes in, or None where there is none.

    A dtype that the mode never changes, an integer, bool or float64, must be listed itself.
    """
    for choice in _CHOICES[mode].get(dtype, (dtype,)):
        if choice in listed:
            return choice
    return None


@predicate(
    DTYPE_NOT_LISTED,
    demand="{tensor} of {op} must be {dtype} in an integer layer, whose other input is int8",
    help_=Text(
        "an integer layer takes int8 data from AscendQuant, int8 weights and an int32 bias, "
        "and its int32 result goes to AscendDequant; quantize {tensor}, or keep all inputs "
        "in floats"
    ),
)
@each_tensor
def _dtype_quantized(rule: implied.DtypeQuantized, node: BoundNode, tensor: NamedTensor) -> Answer:
    wrong = tensor.tensor.dtype not in {None, rule.dtype} and is_integer_layer(node)
    return fails(tensor.tensor.element) if wrong else HOLDS


def is_integer_layer(node: BoundNode) -> bool:
    """True if one of the operands that are int8 in an integer layer is int8."""
    decisive = (name for name, dtype in node.spec.quantized.items() if dtype is DType.INT8)
    return any(
        tensor.tensor.dtype is DType.INT8 for name in decisive for tensor in operands(node, name)
    )


@predicate(
    SHAPES_DISAGREE,
    demand="{tensor} of {op} must have one element, or along one axis as many as {other} has channels",
    help_=Text(
        "give {tensor} one element, or one for each channel: axis 1 of {other}, or its last "
        "axis where it has fewer than three"
    ),
)
@each_pair
def _scales_per_channel(
    rule: rules.ScalesPerChannel, tensor: NamedTensor, other: NamedTensor
) -> Answer:
    count, dims = tensor.known_count(), other.dims
    if count == 1:
        return HOLDS
    if not is_a_list(tensor.known_dims()):
        shape = tensor.shape_text()
        return fails(Text("{shown} in shape {shape}", shown=shown(count), shape=shape))
    if dims is not None and channel_axis(dims, count) is not None:
        return HOLDS
    if dims is None or None in dims:
        return unknown(other.described())
    shape = other.shape_text()
    return fails(
        Text(
            "{shown}, {other} has shape {shape}", shown=shown(count), other=rule.other, shape=shape
        )
    )


@predicate(
    VALUE_OUT_OF_RANGE,
    demand="{tensor} of {op}, where constant, must hold positive factors",
    help_=Text(
        "write positive, finite factors into {tensor}; of a 64-bit word they are the lower "
        "32 bits, as float32"
    ),
)
@each_tensor
def _scales_positive(_: rules.ScalesPositive, node: BoundNode, tensor: NamedTensor) -> Answer:
    if not (tensor.is_known or (node.waits and tensor.tensor.settles)):
        return HOLDS
    data = tensor.data()
    if data.dtype.kind not in "uf":
        return HOLDS  # the rule on its dtypes says what is wrong with it
    factors: npt.NDArray[Any] = data
    if data.dtype == np.uint64:
        factors = decode_graph(data).scale
    wrong = factors[~((factors > 0) & np.isfinite(factors))]
    return fails(shown(float(wrong.flat[0]))) if wrong.size else HOLDS

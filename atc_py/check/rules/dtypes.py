"""Predicates on element types; which are legal depends on the precision mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.check.answers import HOLDS, Answer, all_of, fails, unknown
from atc_py.check.condition_words import mode_words
from atc_py.check.legality import is_legal
from atc_py.check.predicate import predicate
from atc_py.check.rules.quantization import is_integer_layer
from atc_py.diag.codes import DTYPE_NOT_LISTED
from atc_py.onnx_graph.source import SourceTensor
from atc_py.options.compile_options import PrecisionMode
from atc_py.spec.implied import DtypeListed, DtypeSame
from atc_py.spec.rules import DtypeAmong, DtypeExcluded
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.check.bound_node import BoundNode

_FLOATS = {DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32}
"""Dtypes that every precision mode can bring together."""

_NOT_KNOWN = Text("its dtype is not known")


_MUST_HAVE = "{tensor} of {op} must have dtype {dtypes}"
_CAST = Text("cast {tensor} to {dtypes} before the node, or export the model with that dtype")


@predicate(DtypeListed, DTYPE_NOT_LISTED, demand=_MUST_HAVE, help_=_CAST)
def dtype_listed(rule: DtypeListed, node: BoundNode) -> Answer:
    """Judge a node by a DtypeListed rule."""
    mode = node.conditions.mode
    return all_of(_has_one_of(rule, tensor, mode) for tensor in node.tensors(rule.tensor))


@predicate(DtypeAmong, DTYPE_NOT_LISTED, demand=_MUST_HAVE, help_=_CAST)
def dtype_among(rule: DtypeAmong, node: BoundNode) -> Answer:
    """Judge a node by a DtypeAmong rule."""
    mode = node.conditions.mode
    return all_of(_has_one_of(rule, tensor, mode) for tensor in node.tensors(rule.tensor))


def _has_one_of(
    rule: DtypeListed | DtypeAmong, tensor: SourceTensor, mode: PrecisionMode
) -> Answer:
    """True if one tensor has a dtype listed, or can be given one."""
    if not tensor.element:
        return unknown(_NOT_KNOWN)
    if tensor.dtype is None:
        return fails(tensor.element)
    if is_legal(tensor.dtype, rule.dtypes, mode):
        return HOLDS
    depends = any(is_legal(tensor.dtype, rule.dtypes, other) for other in PrecisionMode)
    return fails(tensor.element, mode_words(mode) if depends else None)


@predicate(
    DtypeExcluded,
    DTYPE_NOT_LISTED,
    demand="{tensor} of {op} must not have dtype {dtypes}",
    help_=Text(
        "cast the tensor to another dtype before the node, or choose a precision mode that "
        "may change it, force_fp16 for instance"
    ),
)
def dtype_excluded(rule: DtypeExcluded, node: BoundNode) -> Answer:
    """Judge a node by a DtypeExcluded rule."""
    return all_of(_has_none_of(rule, tensor) for tensor in node.tensors(rule.tensor))


def _has_none_of(rule: DtypeExcluded, tensor: SourceTensor) -> Answer:
    """True if one tensor has none of the dtypes."""
    if not tensor.element:
        return unknown(_NOT_KNOWN)
    return fails(tensor.element) if tensor.dtype in rule.dtypes else HOLDS


@predicate(
    DtypeSame,
    DTYPE_NOT_LISTED,
    demand="{tensor} of {op} must have the dtype of {other}",
    help_=Text("cast one of the two to the dtype of the other before the node"),
)
def dtype_same(rule: DtypeSame, node: BoundNode) -> Answer:
    """Judge a node by a DtypeSame rule."""
    other = node.tensor(rule.other)
    if other is None or other.dtype is None or is_integer_layer(node):
        return HOLDS  # the rule on its dtypes says what is wrong with it
    return all_of(_have_one_dtype(tensor, other) for tensor in node.tensors(rule.tensor))


def _have_one_dtype(tensor: SourceTensor, other: SourceTensor) -> Answer:
    """True if two tensors have one dtype, or can be given one."""
    if tensor.dtype in {None, other.dtype} or {tensor.dtype, other.dtype} <= _FLOATS:
        return HOLDS
    return fails(Text("{element} and {element_2}", element=tensor.element, element_2=other.element))

"""Predicates on values that only deviations of CANN ask: undecided where a run computes them."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from atc_py.check.answers import HOLDS, Answer, all_of, fails, unknown
from atc_py.check.predicate import predicate
from atc_py.check.rules.reading import constant, numbers
from atc_py.check.rules.wording import array_at_fault
from atc_py.diag import Words
from atc_py.diag.codes import DEVIATES_ON_CANN
from atc_py.spec.deviation_rules import IndicesWithinDepth, NormsNotZero, ValuesWithin

if TYPE_CHECKING:
    from atc_py.check.bound_node import BoundNode
    from atc_py.source import SourceTensor


@predicate(
    ValuesWithin,
    DEVIATES_ON_CANN,
    en="{tensor} of {op} must have values in {range}",
    zh="{op} 的 {tensor} 的值须在 {range} 内",
    help_=Words("limit the values with Clip", "请用 Clip 限制取值"),
)
def values_within(rule: ValuesWithin, node: BoundNode) -> Answer:
    """Judge a node by a ValuesWithin rule."""
    return all_of(_within(rule.tensor, tensor, *rule.range) for tensor in node.tensors(rule.tensor))


@predicate(
    IndicesWithinDepth,
    DEVIATES_ON_CANN,
    en="{tensor} of {op} must be in [-{other}, {other} - 1]",
    zh="{op} 的 {tensor} 须不小于 -{other} 且小于 {other}",
    help_=Words(
        "mark nothing for other indices with Where and Mul", "请用 Where 与 Mul 处理越界的索引"
    ),
)
def indices_within_depth(rule: IndicesWithinDepth, node: BoundNode) -> Answer:
    """Judge a node by an IndicesWithinDepth rule."""
    depth = node.tensor(rule.other)
    if depth is None:
        return HOLDS
    data = constant(rule.other, depth)
    if isinstance(data, Words):
        return unknown(data)
    found = numbers(data)
    if found is None or found.size != 1 or not isfinite(found[0]):
        return unknown(Words(f"{rule.other} is no number", f"{rule.other} 不是一个数"))
    size = int(found[0])
    return all_of(
        _within(rule.tensor, tensor, -size, size - 1) for tensor in node.tensors(rule.tensor)
    )


def _within(name: str, tensor: SourceTensor, least: float, most: float) -> Answer:
    """Return the answer for the values of one tensor."""
    if tensor.element and tensor.dtype is not None and tensor.dtype.is_integer:
        import ml_dtypes  # numpy's iinfo does not know int4

        limits = ml_dtypes.iinfo(tensor.dtype.numpy)
        if least <= limits.min and limits.max <= most:
            return HOLDS
    data = constant(name, tensor)
    if isinstance(data, Words):
        return unknown(data)
    found = numbers(data)
    if found is None:
        return HOLDS
    beyond = (found < least) | (found > most)
    return fails(array_at_fault(data, int(beyond.argmax()))) if beyond.any() else HOLDS


@predicate(
    NormsNotZero,
    DEVIATES_ON_CANN,
    en="{tensor} of {op} must not be zero all along {attribute}",
    zh="{op} 的 {tensor} 沿 {attribute} 不得全为零",
    help_=Words("limit the norm from below and divide by it", "请先限制范数的下界，再相除"),
)
def norms_not_zero(rule: NormsNotZero, node: BoundNode) -> Answer:
    """Judge a node by a NormsNotZero rule."""
    axis = node.value(rule.attribute)
    return all_of(_no_zeros(rule.tensor, each, axis) for each in node.tensors(rule.tensor))


def _no_zeros(name: str, tensor: SourceTensor, axis: Any) -> Answer:
    """Return the answer for one tensor; an axis that it does not have is reported elsewhere."""
    data = constant(name, tensor)
    if isinstance(data, Words):
        return unknown(data)
    if not isinstance(axis, int) or not -data.ndim <= axis < data.ndim:
        return HOLDS
    zeros = ~data.any(axis=axis)
    return fails(Words("zeros alone", "全为零")) if zeros.any() else HOLDS

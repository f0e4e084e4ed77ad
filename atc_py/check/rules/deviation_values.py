"""Predicates on values that only deviations of CANN ask: undecided where a run computes them."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from atc_py.check.answers import HOLDS, Answer, all_of, fails, unknown
from atc_py.check.predicate import predicate
from atc_py.check.rules.reading import constant, numbers
from atc_py.check.rules.wording import array_at_fault
from atc_py.diag.codes import DEVIATES_ON_CANN
from atc_py.onnx_graph.source import SourceTensor
from atc_py.spec.deviation_rules import IndicesWithinDepth, NormsNotZero, ValuesWithin
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.check.bound_node import BoundNode


@predicate(
    ValuesWithin,
    DEVIATES_ON_CANN,
    demand="{tensor} of {op} must have values in {range}",
    help_=Text("limit the values with Clip"),
)
def values_within(rule: ValuesWithin, node: BoundNode) -> Answer:
    """Judge a node by a ValuesWithin rule."""
    return all_of(_within(rule.tensor, tensor, *rule.range) for tensor in node.tensors(rule.tensor))


@predicate(
    IndicesWithinDepth,
    DEVIATES_ON_CANN,
    demand="{tensor} of {op} must be in [-{other}, {other} - 1]",
    help_=Text("mark nothing for other indices with Where and Mul"),
)
def indices_within_depth(rule: IndicesWithinDepth, node: BoundNode) -> Answer:
    """Judge a node by an IndicesWithinDepth rule."""
    depth = node.tensor(rule.other)
    if depth is None:
        return HOLDS
    data = constant(rule.other, depth)
    if isinstance(data, Text):
        return unknown(data)
    found = numbers(data)
    if found is None or found.size != 1 or not isfinite(found[0]):
        return unknown(Text("{other} is no number", other=rule.other))
    size = int(found[0])
    return all_of(
        _within(rule.tensor, tensor, -size, size - 1) for tensor in node.tensors(rule.tensor)
    )


def _within(name: str, tensor: SourceTensor, least: float, most: float) -> Answer:
    if tensor.element and tensor.dtype is not None and tensor.dtype.is_integer:
        import ml_dtypes  # numpy's iinfo does not know int4

        limits = ml_dtypes.iinfo(tensor.dtype.numpy)  # type: ignore[no-untyped-call]
        if least <= limits.min and limits.max <= most:
            return HOLDS
    data = constant(name, tensor)
    if isinstance(data, Text):
        return unknown(data)
    found = numbers(data)
    if found is None:
        return HOLDS
    beyond = (found < least) | (found > most)
    return fails(array_at_fault(data, int(beyond.argmax()))) if beyond.any() else HOLDS


@predicate(
    NormsNotZero,
    DEVIATES_ON_CANN,
    demand="{tensor} of {op} must not be zero all along {attribute}",
    help_=Text("limit the norm from below and divide by it"),
)
def norms_not_zero(rule: NormsNotZero, node: BoundNode) -> Answer:
    """Judge a node by a NormsNotZero rule."""
    axis = node.value(rule.attribute)
    return all_of(_no_zeros(rule.tensor, each, axis) for each in node.tensors(rule.tensor))


def _no_zeros(name: str, tensor: SourceTensor, axis: Any) -> Answer:
    """The answer for one tensor; an axis that it does not have is reported elsewhere."""
    data = constant(name, tensor)
    if isinstance(data, Text):
        return unknown(data)
    if not isinstance(axis, int) or not -data.ndim <= axis < data.ndim:
        return HOLDS
    zeros = ~data.any(axis=axis)
    return fails(Text("zeros alone")) if zeros.any() else HOLDS

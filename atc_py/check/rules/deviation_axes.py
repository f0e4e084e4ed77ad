"""Predicates on lengths of axes that only deviations of CANN ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.check.answers import HOLDS, Answer, all_of, fails, unknown
from atc_py.check.predicate import predicate
from atc_py.check.rules.reading import dims_of
from atc_py.check.rules.wording import described, shape_text
from atc_py.diag import Words
from atc_py.diag.codes import DEVIATES_ON_CANN
from atc_py.spec.deviation_rules import OneAxisFrom, PartsEven

if TYPE_CHECKING:
    from atc_py.check.bound_node import BoundNode
    from atc_py.source import SourceTensor


@predicate(
    OneAxisFrom,
    DEVIATES_ON_CANN,
    en="every dim of {tensor} of {op} but that of the axis that CANN takes ({default} if "
    "{attribute} is left out) must be 1, starting at {attribute}",
    zh="{op} 的 {tensor} 从 {attribute} 起，除 CANN 所取的轴（未设置 {attribute} 时为 {default}）外，"
    "各维须为 1",
    help_=Words("put the axis last by Transpose nodes", "请用 Transpose 把该轴移到末尾"),
)
def one_axis_from(rule: OneAxisFrom, node: BoundNode) -> Answer:
    """Judge a node by an OneAxisFrom rule."""
    return all_of(_one_axis(rule, node, tensor) for tensor in node.tensors(rule.tensor))


def _one_axis(rule: OneAxisFrom, node: BoundNode, tensor: SourceTensor) -> Answer:
    """Return the answer for one tensor; an axis that it does not have is reported elsewhere."""
    dims = dims_of(tensor)
    first = node.value(rule.attribute)
    if dims is None:
        return unknown(described(rule.tensor, tensor))
    taken = first if node.is_set(rule.attribute) else rule.default
    rank = len(dims)
    if not (isinstance(first, int) and isinstance(taken, int)) or not -rank <= taken < rank:
        return HOLDS
    start = first if first >= 0 else first + rank
    over = set(range(start, rank)) ^ {taken % rank}
    if any(dims[each] not in {None, 1} for each in over):
        shape = shape_text(tensor)
        return fails(
            Words(f"{rule.attribute} {first} and {shape}", f"{rule.attribute} 为 {first}，{shape}")
        )
    return unknown(described(rule.tensor, tensor)) if None in {dims[at] for at in over} else HOLDS


@predicate(
    PartsEven,
    DEVIATES_ON_CANN,
    en="the dim of {tensor} of {op} along {along} must be a multiple of the number of outputs",
    zh="{op} 的 {tensor} 沿 {along} 的维须为输出个数的整数倍",
    help_=Words("give the dims of the parts", "请给出各份的长度"),
)
def parts_even(rule: PartsEven, node: BoundNode) -> Answer:
    """Judge a node by a PartsEven rule."""
    return all_of(_even(rule, node, tensor) for tensor in node.tensors(rule.tensor))


def _even(rule: PartsEven, node: BoundNode, tensor: SourceTensor) -> Answer:
    """Return the answer for one tensor; an axis that it does not have is reported elsewhere."""
    dims = dims_of(tensor)
    if dims is None:
        return unknown(described(rule.tensor, tensor))
    axis = node.value(rule.along)
    if not isinstance(axis, int) or not -len(dims) <= axis < len(dims):
        return HOLDS
    length, parts = dims[axis], len(node.view.outputs)
    if length is None:
        return HOLDS if parts == 1 else unknown(described(rule.tensor, tensor))
    if not parts or length % parts == 0:
        return HOLDS
    return fails(Words(f"{length} in {parts} parts", f"{length} 分为 {parts} 份"))

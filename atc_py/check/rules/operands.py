"""Predicates on which inputs and outputs a node has, and of what rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.check.answers import HOLDS, Answer, all_of, fails, unknown
from atc_py.check.predicate import predicate
from atc_py.check.rules.reading import dims_of, rank_of
from atc_py.check.rules.wording import described, noted, quoted, shape_text, shown
from atc_py.diag import Words
from atc_py.diag.codes import (
    DIM_OUT_OF_RANGE,
    OPERAND_MISSING,
    OPERAND_NOT_SUPPORTED,
    RANK_NOT_LISTED,
)
from atc_py.spec.implied import OperandAbsent, OperandPresent, RankIs
from atc_py.spec.rules import (
    LastDimWithinRank,
    OperandGiven,
    RankInRange,
    RankIsNot,
    RankOfUpdates,
    RanksEqual,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from atc_py.check.bound_node import BoundNode
    from atc_py.source import SourceTensor

_RESHAPE = Words(
    "reshape {tensor} before the node and its result after it, or export the model with another "
    "rank",
    "在该节点之前变形 {tensor}、之后还原结果，或以其他秩导出模型",
)


@predicate(
    OperandPresent,
    OPERAND_MISSING,
    en="{op} must have {tensor}",
    zh="{op} 须有 {tensor}",
    help_=Words(
        "connect {tensor} where the model is built; a constant will do",
        "在构建模型处接上 {tensor}，常量即可",
    ),
)
def operand_present(rule: OperandPresent, node: BoundNode) -> Answer:
    """Judge a node by an OperandPresent rule."""
    row = node.spec.operand(rule.tensor)
    if row is None or not row.exists_at(node.opset) or node.tensors(rule.tensor):
        return HOLDS
    return fails(Words("none", "无"))


@predicate(
    OperandAbsent,
    OPERAND_NOT_SUPPORTED,
    en="{tensor} of {op} is not supported yet and must not be used",
    zh="{op} 尚不支持 {tensor}，须不使用",
    help_=Words(
        "leave {tensor} out, or express what it does with other operators",
        "去掉 {tensor}，或用其他算子表达其作用",
    ),
)
def operand_absent(rule: OperandAbsent, node: BoundNode) -> Answer:
    """Judge a node by an OperandAbsent rule."""
    found = node.tensor(rule.tensor)
    return HOLDS if found is None else fails(quoted(found.name) if found.name else "")


@predicate(
    OperandGiven,
    OPERAND_MISSING,
    en="{op} must be given {tensor}",
    zh="{op} 须给出 {tensor}",
    help_=Words(
        "connect {tensor} where the model is built; a constant will do",
        "在构建模型处接上 {tensor}，常量即可",
    ),
)
def operand_given(rule: OperandGiven, node: BoundNode) -> Answer:
    """Judge a node by an OperandGiven rule."""
    return HOLDS if node.tensors(rule.tensor) else fails(Words("none", "无"))


# Ranks ------------------------------------------------------------------------------------------


@predicate(
    RankIs,
    RANK_NOT_LISTED,
    en="{tensor} of {op} must have rank {rank}",
    zh="{op} 的 {tensor} 的秩须为 {rank}",
    help_=_RESHAPE,
)
def rank_is(rule: RankIs, node: BoundNode) -> Answer:
    """Judge a node by a RankIs rule."""
    return _rank(node, rule.tensor, lambda rank: rank == rule.rank)


@predicate(
    RankIsNot,
    RANK_NOT_LISTED,
    en="{tensor} of {op} must not have rank {rank}",
    zh="{op} 的 {tensor} 的秩不能为 {rank}",
    help_=_RESHAPE,
)
def rank_is_not(rule: RankIsNot, node: BoundNode) -> Answer:
    """Judge a node by a RankIsNot rule."""
    return _rank(node, rule.tensor, lambda rank: rank != rule.rank)


@predicate(
    RankInRange,
    RANK_NOT_LISTED,
    en="{tensor} of {op} must have a rank {range}",
    zh="{op} 的 {tensor} 的秩须{range}",
    help_=_RESHAPE,
)
def rank_in_range(rule: RankInRange, node: BoundNode) -> Answer:
    """Judge a node by a RankInRange rule."""
    least, most = rule.range
    return _rank(node, rule.tensor, lambda rank: least <= rank <= most)


@predicate(
    RanksEqual,
    RANK_NOT_LISTED,
    en="{tensor} of {op} must have the rank of {other}",
    zh="{op} 的 {tensor} 的秩须与 {other} 的秩相同",
    help_=Words(
        "reshape {tensor} to as many axes as {other} has before the node",
        "在该节点之前将 {tensor} 变形为与 {other} 相同的轴数",
    ),
)
def ranks_equal(rule: RanksEqual, node: BoundNode) -> Answer:
    """Judge a node by a RanksEqual rule."""
    other = node.tensor(rule.other)
    if other is None:
        return HOLDS
    wanted = rank_of(other)
    if wanted is None:
        return unknown(described(rule.other, other))
    return _rank(node, rule.tensor, lambda rank: rank == wanted)


@predicate(
    LastDimWithinRank,
    DIM_OUT_OF_RANGE,
    en="The last dim of {tensor} of {op} must be at most the rank of {other}",
    zh="{op} 的 {tensor} 的末轴长度须不大于 {other} 的秩",
    help_=Words(
        "give {tensor} tuples of at most as many indices as {other} has axes",
        "{tensor} 的每组索引个数不应超过 {other} 的轴数",
    ),
)
def last_dim_within_rank(rule: LastDimWithinRank, node: BoundNode) -> Answer:
    """Judge a node by a LastDimWithinRank rule."""
    tensor, other = node.tensor(rule.tensor), node.tensor(rule.other)
    if tensor is None or other is None:
        return HOLDS
    dims, rank = dims_of(tensor), rank_of(other)
    if dims is None or (dims and dims[-1] is None):
        return unknown(described(rule.tensor, tensor))
    if rank is None:
        return unknown(described(rule.other, other))
    last = dims[-1] if dims else None  # a scalar has none; the rule on its rank reports it
    return HOLDS if last is None or last <= rank else fails(noted(last, shape_text(tensor)))


@predicate(
    RankOfUpdates,
    RANK_NOT_LISTED,
    en="{tensor} of {op} must have rank q + r - k - 1 ({indices}: rank q, last k; {other}: r)",
    zh="{op} 的 {tensor} 的秩须为 q + r - k - 1，其中 q 为 {indices} 的秩，k 为其末轴长度，"
    "r 为 {other} 的秩",
    help_=Words(
        "reshape {tensor} to the axes of {indices} without its last, then those of {other} that "
        "{indices} does not name",
        "将 {tensor} 变形：先是 {indices} 除末轴外的各轴，再是 {other} 中未被 {indices} 指定的各轴",
    ),
)
def rank_of_updates(rule: RankOfUpdates, node: BoundNode) -> Answer:
    """Judge a node by a RankOfUpdates rule."""
    data, indices = node.tensor(rule.other), node.tensor(rule.indices)
    if data is None or indices is None:
        return HOLDS
    rank, dims = rank_of(data), dims_of(indices)
    if rank is None:
        return unknown(described(rule.other, data))
    if dims is None:
        return unknown(described(rule.indices, indices))
    if not dims:
        return HOLDS  # a scalar has no last dim; the rule on its rank reports it
    most = len(dims) + rank - 1
    wanted = None if dims[-1] is None else most - dims[-1]
    return all_of(
        _updates(rule, tensor, (most - rank, most), wanted, described(rule.indices, indices))
        for tensor in node.tensors(rule.tensor)
    )


def _updates(
    rule: RankOfUpdates,
    tensor: SourceTensor,
    bounds: tuple[int, int],
    wanted: int | None,
    indices: Words,
) -> Answer:
    """Return the answer for updates: `wanted`, or a rank in `bounds` if the last dim is open."""
    rank = rank_of(tensor)
    if rank is None:
        return unknown(described(rule.tensor, tensor))
    if wanted is None:
        return unknown(indices) if bounds[0] <= rank <= bounds[1] else _rank_text(rank, tensor)
    if rank == wanted:
        return HOLDS
    return fails(noted(rank, f"q + r - k - 1 = {shown(wanted)}"))


def _rank(node: BoundNode, name: str, keeps: Callable[[int], bool]) -> Answer:
    """Return True if the rank of each tensor of operand `name` keeps a rule."""
    return all_of(_rank_of(tensor, name, keeps) for tensor in node.tensors(name))


def _rank_of(tensor: SourceTensor, name: str, keeps: Callable[[int], bool]) -> Answer:
    """Return True if the rank of one tensor keeps a rule."""
    rank = rank_of(tensor)
    if rank is None:
        return unknown(described(name, tensor))
    return HOLDS if keeps(rank) else _rank_text(rank, tensor)


def _rank_text(rank: int, tensor: SourceTensor) -> Answer:
    """Return a rank at fault, followed by the shape."""
    return fails(noted(rank, shape_text(tensor)) if rank else 0)

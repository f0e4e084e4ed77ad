"""Predicates on which inputs and outputs a node has, and of what rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from atc_py.check.answers import HOLDS, Answer, all_of, fails, unknown
from atc_py.check.predicate import predicate
from atc_py.check.rules.reading import dims_of, rank_of
from atc_py.check.rules.wording import described, noted, quoted, shape_text, shown
from atc_py.diag.codes import (
    DIM_OUT_OF_RANGE,
    OPERAND_MISSING,
    OPERAND_NOT_SUPPORTED,
    RANK_NOT_LISTED,
)
from atc_py.onnx_graph.source import SourceTensor
from atc_py.spec.implied import OperandAbsent, OperandPresent, RankIs
from atc_py.spec.rules import (
    LastDimWithinRank,
    OperandGiven,
    RankInRange,
    RankIsNot,
    RankOfUpdates,
    RanksEqual,
)
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.check.bound_node import BoundNode

_RESHAPE = Text(
    "reshape {tensor} before the node and its result after it, or export the model with "
    "another rank"
)


@predicate(
    OperandPresent,
    OPERAND_MISSING,
    demand="{op} must have {tensor}",
    help_=Text("connect {tensor} where the model is built; a constant will do"),
)
def operand_present(rule: OperandPresent, node: BoundNode) -> Answer:
    """Judge a node by an OperandPresent rule."""
    row = node.spec.operand(rule.tensor)
    if row is None or not row.exists_at(node.opset) or node.tensors(rule.tensor):
        return HOLDS
    return fails(Text("none"))


@predicate(
    OperandAbsent,
    OPERAND_NOT_SUPPORTED,
    demand="{tensor} of {op} is not supported yet and must not be used",
    help_=Text("leave {tensor} out, or express what it does with other operators"),
)
def operand_absent(rule: OperandAbsent, node: BoundNode) -> Answer:
    """Judge a node by an OperandAbsent rule."""
    found = node.tensor(rule.tensor)
    return HOLDS if found is None else fails(quoted(found.name) if found.name else "")


@predicate(
    OperandGiven,
    OPERAND_MISSING,
    demand="{op} must be given {tensor}",
    help_=Text("connect {tensor} where the model is built; a constant will do"),
)
def operand_given(rule: OperandGiven, node: BoundNode) -> Answer:
    """Judge a node by an OperandGiven rule."""
    return HOLDS if node.tensors(rule.tensor) else fails(Text("none"))


# Ranks ------------------------------------------------------------------------------------------


@predicate(
    RankIs,
    RANK_NOT_LISTED,
    demand="{tensor} of {op} must have rank {rank}",
    help_=_RESHAPE,
)
def rank_is(rule: RankIs, node: BoundNode) -> Answer:
    """Judge a node by a RankIs rule."""
    return _rank(node, rule.tensor, lambda rank: rank == rule.rank)


@predicate(
    RankIsNot,
    RANK_NOT_LISTED,
    demand="{tensor} of {op} must not have rank {rank}",
    help_=_RESHAPE,
)
def rank_is_not(rule: RankIsNot, node: BoundNode) -> Answer:
    """Judge a node by a RankIsNot rule."""
    return _rank(node, rule.tensor, lambda rank: rank != rule.rank)


@predicate(
    RankInRange,
    RANK_NOT_LISTED,
    demand="{tensor} of {op} must have a rank {range}",
    help_=_RESHAPE,
)
def rank_in_range(rule: RankInRange, node: BoundNode) -> Answer:
    """Judge a node by a RankInRange rule."""
    least, most = rule.range
    return _rank(node, rule.tensor, lambda rank: least <= rank <= most)


@predicate(
    RanksEqual,
    RANK_NOT_LISTED,
    demand="{tensor} of {op} must have the rank of {other}",
    help_=Text("reshape {tensor} to as many axes as {other} has before the node"),
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
    demand="The last dim of {tensor} of {op} must be at most the rank of {other}",
    help_=Text("give {tensor} tuples of at most as many indices as {other} has axes"),
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
    demand="{tensor} of {op} must have rank q + r - k - 1 ({indices}: rank q, last k; {other}: r)",
    help_=Text(
        "reshape {tensor} to the axes of {indices} without its last, then those of {other} "
        "that {indices} does not name"
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
    indices: Text,
) -> Answer:
    """The answer for updates: `wanted`, or a rank in `bounds` if the last dim is open."""
    rank = rank_of(tensor)
    if rank is None:
        return unknown(described(rule.tensor, tensor))
    if wanted is None:
        return unknown(indices) if bounds[0] <= rank <= bounds[1] else _rank_text(rank, tensor)
    if rank == wanted:
        return HOLDS
    return fails(noted(rank, f"q + r - k - 1 = {shown(wanted)}"))


def _rank(node: BoundNode, name: str, keeps: Callable[[int], bool]) -> Answer:
    """True if the rank of each tensor of operand `name` keeps a rule."""
    return all_of(_rank_of(tensor, name, keeps) for tensor in node.tensors(name))


def _rank_of(tensor: SourceTensor, name: str, keeps: Callable[[int], bool]) -> Answer:
    """True if the rank of one tensor keeps a rule."""
    rank = rank_of(tensor)
    if rank is None:
        return unknown(described(name, tensor))
    return HOLDS if keeps(rank) else _rank_text(rank, tensor)


def _rank_text(rank: int, tensor: SourceTensor) -> Answer:
    return fails(noted(rank, shape_text(tensor)) if rank else 0)

"""Predicates on which inputs and outputs a node has, of what rank, and on values that are known."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from atc_py.check.bound_node import BoundNode
from atc_py.check.open_dims import NOT_YET
from atc_py.check.predicate import each_tensor, predicate
from atc_py.check.reading import (
    HOLDS,
    Answer,
    NamedTensor,
    all_of,
    array_at_fault,
    asked,
    fails,
    noted,
    numbers,
    operand,
    operands,
    quoted,
    shown,
    unknown,
)
from atc_py.diag import (
    DIM_OUT_OF_RANGE,
    OPERAND_MISSING,
    OPERAND_NOT_SUPPORTED,
    RANK_NOT_LISTED,
    VALUE_NOT_CONSTANT,
    VALUE_OUT_OF_RANGE,
)
from atc_py.spec import implied, rules
from atc_py.spec.rule import Level, Number, Rule
from atc_py.text import Text

_RESHAPE = Text(
    "reshape {tensor} before the node and its result after it, or export the model with "
    "another rank"
)

_Keeps: TypeAlias = "Callable[[npt.NDArray[Any], Callable[[Number], Any]], Any]"
"""Function that marks values that keep a rule, from integers or float64 and their dtype."""

_NOT_CONSTANT = fails(Text("not constant"))
"""The answer for values that are known at run time only."""


@predicate(
    OPERAND_MISSING,
    demand="{op} must have {tensor}",
    help_=Text("connect {tensor} where the model is built; a constant will do"),
)
def _operand_present(rule: implied.OperandPresent, node: BoundNode) -> Answer:
    row = node.spec.operand(rule.tensor)
    if row is None or not row.exists_at(node.opset) or operands(node, rule.tensor):
        return HOLDS
    return fails(Text("none"))


@predicate(
    OPERAND_NOT_SUPPORTED,
    demand="{tensor} of {op} is not supported yet and must not be used",
    help_=Text("leave {tensor} out, or express what it does with other operators"),
)
def _operand_absent(rule: implied.OperandAbsent, node: BoundNode) -> Answer:
    tensor = operand(node, rule.tensor)
    return (
        HOLDS if tensor is None else fails(quoted(tensor.tensor.name) if tensor.tensor.name else "")
    )


@predicate(
    OPERAND_MISSING,
    demand="{op} must be given {tensor}",
    help_=Text("connect {tensor} where the model is built; a constant will do"),
)
def _operand_given(rule: rules.OperandGiven, node: BoundNode) -> Answer:
    return HOLDS if operands(node, rule.tensor) else fails(Text("none"))


# Ranks ------------------------------------------------------------------------------------------


@predicate(
    RANK_NOT_LISTED,
    demand="{tensor} of {op} must have rank {rank}",
    help_=_RESHAPE,
)
def _rank_is(rule: implied.RankIs, node: BoundNode) -> Answer:
    return _rank(node, rule.tensor, lambda rank: rank == rule.rank)


@predicate(
    RANK_NOT_LISTED,
    demand="{tensor} of {op} must not have rank {rank}",
    help_=_RESHAPE,
)
def _rank_is_not(rule: rules.RankIsNot, node: BoundNode) -> Answer:
    return _rank(node, rule.tensor, lambda rank: rank != rule.rank)


@predicate(
    RANK_NOT_LISTED,
    demand="{tensor} of {op} must have a rank {range}",
    help_=_RESHAPE,
)
def _rank_in_range(rule: rules.RankInRange, node: BoundNode) -> Answer:
    least, most = rule.range
    return _rank(node, rule.tensor, lambda rank: least <= rank <= most)


@predicate(
    RANK_NOT_LISTED,
    demand="{tensor} of {op} must have the rank of {other}",
    help_=Text("before the node, reshape {tensor} to the number of axes of {other}"),
)
def _ranks_equal(rule: rules.RanksEqual, node: BoundNode) -> Answer:
    other = operand(node, rule.other)
    if other is None:
        return HOLDS
    wanted = other.known_rank()
    return _rank(node, rule.tensor, lambda rank: rank == wanted)


@predicate(
    DIM_OUT_OF_RANGE,
    demand="The last dim of {tensor} of {op} must be at most the rank of {other}",
    help_=Text("give the tuples in {tensor} at most as many indices as {other} has axes"),
)
def _last_dim_within_rank(rule: rules.LastDimWithinRank, node: BoundNode) -> Answer:
    tensor, other = operand(node, rule.tensor), operand(node, rule.other)
    if tensor is None or other is None:
        return HOLDS
    dims = tensor.known_dims()
    # A scalar has no last dim; the rule on its rank reports it.
    last = tensor.known_length(dims[-1]) if dims else 0
    fits = last <= other.known_rank()
    return HOLDS if fits else fails(noted(last, tensor.shape_text()))


@predicate(
    RANK_NOT_LISTED,
    demand="{tensor} of {op} must have rank q + r - k - 1 ({indices}: rank q, last k; {other}: r)",
    help_=Text(
        "reshape {tensor} to the axes of {indices} without its last, then those of {other} "
        "that {indices} does not name"
    ),
)
def _rank_of_updates(rule: rules.RankOfUpdates, node: BoundNode) -> Answer:
    data, indices = operand(node, rule.other), operand(node, rule.indices)
    if data is None or indices is None:
        return HOLDS
    rank, dims = data.known_rank(), indices.known_dims()
    if not dims:
        return HOLDS  # a scalar has no last dim; the rule on its rank reports it
    most = len(dims) + rank - 1
    wanted = None if dims[-1] is None else most - dims[-1]
    return all_of(
        asked(_updates, tensor, (most - rank, most), wanted, indices.described())
        for tensor in operands(node, rule.tensor)
    )


def _updates(
    tensor: NamedTensor,
    bounds: tuple[int, int],
    wanted: int | None,
    indices: Text,
) -> Answer:
    """The answer for updates: `wanted`, or a rank in `bounds` if the last dim is open."""
    rank = tensor.known_rank()
    if wanted is None:
        if bounds[0] <= rank <= bounds[1]:
            return unknown(indices)
        return fails(noted(rank, tensor.shape_text()) if rank else 0)
    if rank == wanted:
        return HOLDS
    return fails(noted(rank, f"q + r - k - 1 = {shown(wanted)}"))


def _rank(node: BoundNode, name: str, keeps: Callable[[int], bool]) -> Answer:
    return all_of(asked(_rank_of, tensor, keeps) for tensor in operands(node, name))


def _rank_of(tensor: NamedTensor, keeps: Callable[[int], bool]) -> Answer:
    rank = tensor.known_rank()
    return HOLDS if keeps(rank) else fails(noted(rank, tensor.shape_text()) if rank else 0)


@predicate(
    VALUE_NOT_CONSTANT,
    demand="{tensor} of {op} must be known when the model is compiled",
    help_=Text(
        "export {tensor} as a constant, fix the input shapes that it is computed from, or "
        "simplify the model so that it folds"
    ),
)
@each_tensor
def _values_known(_: rules.ValuesKnown, node: BoundNode, tensor: NamedTensor) -> Answer:
    return HOLDS if tensor.is_known else _not_known(node, tensor)


@predicate(
    VALUE_OUT_OF_RANGE,
    demand="{tensor} of {op} must be constant with values of at least {least}",
    help_=Text("export {tensor} as a constant whose values are {least} or more"),
)
def _values_at_least(rule: rules.ValuesAtLeast, node: BoundNode) -> Answer:
    return _constant_values(node, rule.tensor, _at_least(rule.least))


@predicate(
    VALUE_OUT_OF_RANGE,
    demand="{tensor} of {op}, where constant, must have values of at least {least}",
    help_=Text(
        "write values of {least} or more into {tensor}; add the length of the axis to an "
        "index that counts from the end"
    ),
)
def _known_values_at_least(rule: rules.KnownValuesAtLeast, node: BoundNode) -> Answer:
    return _known_values(rule, node, rule.tensor, _at_least(rule.least))


@predicate(
    VALUE_OUT_OF_RANGE,
    demand="{tensor} of {op} must be constant with every value {value}",
    help_=Text(
        "export {tensor} as the constant {value}, or produce other values with further operators"
    ),
)
def _values_equal(rule: rules.ValuesEqual, node: BoundNode) -> Answer:
    return _constant_values(node, rule.tensor, _equal_to(rule.value), flags=True)


@predicate(
    VALUE_OUT_OF_RANGE,
    demand="{tensor} of {op} must be constant without the value {value}",
    help_=Text("export {tensor} as a constant without {value}"),
)
def _values_exclude(rule: rules.ValuesExclude, node: BoundNode) -> Answer:
    return _constant_values(node, rule.tensor, _other_than(rule.value))


@predicate(
    VALUE_OUT_OF_RANGE,
    demand="{tensor} of {op}, where constant, must not have the value {value}",
    help_=Text("export {tensor} with values other than {value}"),
)
def _known_values_exclude(rule: rules.KnownValuesExclude, node: BoundNode) -> Answer:
    return _known_values(rule, node, rule.tensor, _other_than(rule.value))


@predicate(
    VALUE_OUT_OF_RANGE,
    demand="{tensor} of {op}, where constant, must be {values}",
    help_=Text("export {tensor} as {values}"),
)
def _known_values_are(rule: rules.KnownValuesAre, node: BoundNode) -> Answer:
    return _known_values(rule, node, rule.tensor, _the_same_as(rule.values))


def _at_least(least: Number) -> _Keeps:
    """A mask of the values that are at least `least`; NaN is not."""
    return lambda data, _: data >= least


def _equal_to(value: Number) -> _Keeps:
    """A mask of the values that equal `value` in their own dtype: 0.1 in float16 is 0.09997559."""
    return lambda data, kind: data == (float(kind(value)) if data.dtype.kind == "f" else value)


def _the_same_as(values: tuple[Number, ...]) -> _Keeps:
    """A mask of the values that are those; all are off where there are more or fewer."""

    def keeps(data: npt.NDArray[Any], _: Any) -> npt.NDArray[Any]:
        kept: npt.NDArray[Any] = np.zeros(data.shape, np.bool_)
        return np.equal(data, values, out=kept) if data.size == len(values) else kept

    return keeps


def _other_than(value: Number) -> _Keeps:
    return lambda data, _: data != value


def _constant_values(node: BoundNode, name: str, keeps: _Keeps, *, flags: bool = False) -> Answer:
    return all_of(
        asked(_values, tensor, keeps, flags) if tensor.is_known else _not_known(node, tensor)
        for tensor in operands(node, name)
    )


def _not_known(node: BoundNode, tensor: NamedTensor) -> Answer:
    # A choice of dims may make its values known, or leave it without any.
    settles = node.waits and (tensor.tensor.settles or tensor.tensor.is_open)
    return unknown(NOT_YET) if settles else _NOT_CONSTANT


def _known_values(rule: Rule, node: BoundNode, name: str, keeps: _Keeps) -> Answer:
    """True if the values of operand `name` keep a rule where it is constant.

    Values that may be constant with other dims are not decided where they would be an error then.
    """
    waits = node.waits and rule.level is Level.ERROR
    return all_of(
        asked(_values, tensor, keeps)
        if tensor.is_known
        else unknown(NOT_YET)
        if waits and tensor.tensor.settles
        else HOLDS
        for tensor in operands(node, name)
    )


def _values(tensor: NamedTensor, keeps: _Keeps, flags: bool = False) -> Answer:
    """True if all values of a constant keep a rule; what is not a number keeps none.

    With `flags`, false and true count as 0 and 1.
    """
    data = tensor.data()
    flat = data.ravel().astype("int8") if flags and data.dtype.kind == "b" else numbers(data)
    if flat is None:
        return fails(array_at_fault(data)) if data.size else HOLDS
    kept = keeps(flat, data.dtype.type)
    return HOLDS if kept.all() else fails(array_at_fault(data, int(kept.argmin())))

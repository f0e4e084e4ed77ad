"""Neighbors of the rules on inputs and outputs: presence, ranks, dtypes and values."""

import math
from collections.abc import Iterator

from atc_py.diag.codes import (
    DIM_OUT_OF_RANGE,
    DTYPE_NOT_LISTED,
    OPERAND_MISSING,
    OPERAND_NOT_SUPPORTED,
    RANK_NOT_LISTED,
    VALUE_NOT_CONSTANT,
    VALUE_OUT_OF_RANGE,
)
from atc_py.spec.implied import DtypeListed, DtypeSame, OperandAbsent, OperandPresent, RankIs
from atc_py.spec.rules import (
    DtypeAmong,
    DtypeExcluded,
    KnownValuesAre,
    KnownValuesAtLeast,
    KnownValuesExclude,
    LastDimWithinRank,
    OperandGiven,
    RankInRange,
    RankIsNot,
    RankOfUpdates,
    RanksEqual,
    ValuesAtLeast,
    ValuesEqual,
    ValuesExclude,
    ValuesKnown,
)
from atc_py.tensor.dtypes import DType
from tests.check.boundaries import Side, boundary, inside, outside
from tests.check.boundary_ground import NONE, Change, Ground, reranked, with_item


@boundary(OperandPresent, OPERAND_MISSING)
def present(rule: OperandPresent, _ground: Ground) -> Iterator[Side]:
    """Yield there, and not."""
    yield inside(f"{rule.tensor} there", NONE)
    yield outside(f"no {rule.tensor}", Change(shapes={rule.tensor: None}))


@boundary(OperandGiven, OPERAND_MISSING)
def given(rule: OperandGiven, _ground: Ground) -> Iterator[Side]:
    """Yield there, and not."""
    yield inside(f"{rule.tensor} there", NONE)
    yield outside(f"no {rule.tensor}", Change(shapes={rule.tensor: None}))


@boundary(OperandAbsent, OPERAND_NOT_SUPPORTED)
def absent(rule: OperandAbsent, ground: Ground) -> Iterator[Side]:
    """Yield not there, and there."""
    if not ground.is_input(rule.tensor):
        yield inside(f"no {rule.tensor}", NONE)
        yield outside(f"{rule.tensor} there", Change(outputs={rule.tensor: (None, None)}))
        return
    yield inside(f"no {rule.tensor}", Change(shapes={rule.tensor: None}))
    shape = ground.spec.example.inputs.get(rule.tensor, (1,))
    yield outside(f"{rule.tensor} there", Change(shapes={rule.tensor: shape}))


# Ranks ------------------------------------------------------------------------------------------


@boundary(RankIs, RANK_NOT_LISTED, "tensor")
def rank_is(rule: RankIs, ground: Ground) -> Iterator[Side]:
    """Yield the rank, one less and one more."""
    yield inside("rank as in the example", NONE)
    for rank in (rule.rank - 1, rule.rank + 1):
        if rank >= 0:
            yield outside(f"rank {rank}", _of_rank(rule.tensor, rank, ground))


@boundary(RankIsNot, RANK_NOT_LISTED, "tensor")
def rank_is_not(rule: RankIsNot, ground: Ground) -> Iterator[Side]:
    """Yield the rank, one less and one more."""
    for rank in (rule.rank - 1, rule.rank, rule.rank + 1):
        make = outside if rank == rule.rank else inside
        yield make(f"rank {rank}", _of_rank(rule.tensor, rank, ground))


@boundary(RankInRange, RANK_NOT_LISTED, "tensor")
def rank_in_range(rule: RankInRange, ground: Ground) -> Iterator[Side]:
    """Yield the bounds, and what is just past them."""
    for bound, past in zip(rule.range, (-1, 1), strict=True):
        if not math.isinf(bound):
            rank = int(bound)
            yield inside(f"rank {rank}", _of_rank(rule.tensor, rank, ground))
            yield outside(f"rank {rank + past}", _of_rank(rule.tensor, rank + past, ground))


@boundary(RankOfUpdates, RANK_NOT_LISTED, "tensor", "other", "indices")
def rank_of_updates(rule: RankOfUpdates, ground: Ground) -> Iterator[Side]:
    """Yield indices that name one axis more or less, data and updates of a rank more or less."""
    yield inside("ranks as in the example", NONE)
    indices = ground.shape(rule.indices)
    for name in (rule.tensor, rule.other):
        rank = len(ground.shape(name))
        for other in (rank - 1, rank + 1):
            yield outside(f"{name} of rank {other}", _of_rank(name, other, ground))
    longer = ground.resized(rule.indices, with_item(indices, len(indices) - 1, indices[-1] + 1))
    yield outside("an axis more", longer)
    fewer = _of_rank(rule.tensor, len(ground.shape(rule.tensor)) - 1, ground)
    yield inside("an axis more, updates of a rank less", longer.plus(fewer))


@boundary(RanksEqual, RANK_NOT_LISTED, "tensor", "other")
def ranks_equal(rule: RanksEqual, ground: Ground) -> Iterator[Side]:
    """Yield one rank, one less and one more of either."""
    yield inside("ranks as in the example", NONE)
    for name in (rule.tensor, rule.other):
        rank = len(ground.shape(name))
        for other in (rank - 1, rank + 1):
            yield outside(f"{name} of rank {other}", _of_rank(name, other, ground))


@boundary(LastDimWithinRank, DIM_OUT_OF_RANGE, "tensor", "other")
def last_dim_within_rank(rule: LastDimWithinRank, ground: Ground) -> Iterator[Side]:
    """Yield as many indices as axes, and one more."""
    shape, rank = ground.shape(rule.tensor), len(ground.shape(rule.other))
    for length, make in ((rank, inside), (rank + 1, outside)):
        change = ground.resized(rule.tensor, with_item(shape, len(shape) - 1, length))
        yield make(f"tuples of {length}", change)


def _of_rank(name: str, rank: int, ground: Ground) -> Change:
    """Return the operand with another rank; what inference gives no other rank is seen with one."""
    change = ground.of_rank(name, rank)
    if change is None:
        dims = ground.dims(name) or ()
        shape = reranked([each or 1 for each in dims], rank)
        return Change(outputs={name: (None, shape)})
    return change


# Dtypes -----------------------------------------------------------------------------------------

_NEVER_CHANGED = (DType.BOOL, DType.INT16, DType.UINT64, DType.FLOAT64)
"""Dtypes that no precision mode changes, those first that few operators take."""


def unlisted_dtype(listed: tuple[DType, ...]) -> DType | str:
    """Return a dtype that is legal in no mode where those are listed; ONNX's text where all are."""
    return next((each for each in _NEVER_CHANGED if each not in listed), "complex64")


@boundary(DtypeListed, DTYPE_NOT_LISTED)
def dtype_listed(rule: DtypeListed, ground: Ground) -> Iterator[Side]:
    """Yield each dtype that is listed, and one that is not."""
    for dtype in rule.dtypes:
        yield inside(dtype.value, _of_dtype(rule.tensor, dtype, ground))
    other = unlisted_dtype(rule.dtypes)
    yield outside(str(other), _of_dtype(rule.tensor, other, ground))


@boundary(DtypeAmong, DTYPE_NOT_LISTED)
def dtype_among(rule: DtypeAmong, ground: Ground) -> Iterator[Side]:
    """Yield each of the dtypes, and one that no mode changes."""
    for dtype in rule.dtypes:
        yield inside(dtype.value, _of_dtype(rule.tensor, dtype, ground))
    other = unlisted_dtype(rule.dtypes)
    yield outside(str(other), _of_dtype(rule.tensor, other, ground))


@boundary(DtypeExcluded, DTYPE_NOT_LISTED)
def dtype_excluded(rule: DtypeExcluded, ground: Ground) -> Iterator[Side]:
    """Yield each dtype that is excluded, and each other one."""
    (row,) = ground.operands
    listed = ground.spec.dtypes_of(row) or tuple(DType)
    for dtype in dict.fromkeys((*rule.dtypes, *listed)):
        make = outside if dtype in rule.dtypes else inside
        yield make(dtype.value, _of_dtype(rule.tensor, dtype, ground))


@boundary(DtypeSame, DTYPE_NOT_LISTED)
def dtype_same(rule: DtypeSame, _ground: Ground) -> Iterator[Side]:
    """Yield the same, two floats that precision modes bring together, and two that nothing does."""
    yield inside("the same", NONE)
    halves = {rule.other: DType.FLOAT32, rule.tensor: DType.FLOAT16}
    yield inside("two floats", Change(dtypes=halves))
    yield outside("int32 beside float32", Change(dtypes={**halves, rule.tensor: DType.INT32}))


def _of_dtype(name: str, dtype: DType | str, ground: Ground) -> Change:
    """Return the operand with another dtype; ONNX's own outputs are seen with one."""
    if ground.is_input(name):
        return Change(dtypes={name: dtype})
    return Change(outputs={name: (dtype, None)})


# Values -----------------------------------------------------------------------------------------


def _run_time(name: str) -> Change:
    """Return an input that is known at run time only."""
    return Change(values={name: None})


@boundary(ValuesKnown, VALUE_NOT_CONSTANT)
def values_known(rule: ValuesKnown, ground: Ground) -> Iterator[Side]:
    """Yield a constant, and an input of the graph."""
    shape = ground.shape(rule.tensor)
    ones = Change(values={rule.tensor: (1,) * math.prod(shape)})
    yield inside(f"{rule.tensor} constant", ones)
    yield outside(f"{rule.tensor} fed", _run_time(rule.tensor))


@boundary(ValuesAtLeast, VALUE_OUT_OF_RANGE)
def values_at_least(rule: ValuesAtLeast, ground: Ground) -> Iterator[Side]:
    """Yield the least value and one less in every place, and values of run time."""
    yield from _least(rule, ground)
    yield outside(f"{rule.tensor} fed", _run_time(rule.tensor))


@boundary(KnownValuesAtLeast, VALUE_OUT_OF_RANGE)
def known_values_at_least(rule: KnownValuesAtLeast, ground: Ground) -> Iterator[Side]:
    """Yield the least value and one less in every place, and values of run time."""
    yield from _least(rule, ground)
    yield inside(f"{rule.tensor} fed", _run_time(rule.tensor))


def _least(rule: ValuesAtLeast | KnownValuesAtLeast, ground: Ground) -> Iterator[Side]:
    """Yield the least value in every place, and one less in each."""
    start = ground.values(rule.tensor)
    assert start
    least = (rule.least,) * len(start)
    yield inside(f"{least}", Change(values={rule.tensor: least}))
    for position in range(len(start)):
        items = with_item(least, position, rule.least - 1)
        yield outside(f"{items}", Change(values={rule.tensor: items}))


@boundary(ValuesEqual, VALUE_OUT_OF_RANGE)
def values_equal(rule: ValuesEqual, ground: Ground) -> Iterator[Side]:
    """Yield the value, its neighbors, and values of run time."""
    count = math.prod(ground.shape(rule.tensor))
    for value in (rule.value - 1, rule.value, rule.value + 1):
        make = inside if value == rule.value else outside
        yield make(f"{value}", Change(values={rule.tensor: (value,) * count}))
    yield outside(f"{rule.tensor} fed", _run_time(rule.tensor))


@boundary(KnownValuesAre, VALUE_OUT_OF_RANGE)
def known_values_are(rule: KnownValuesAre, ground: Ground) -> Iterator[Side]:
    """Yield the values, each of them one more and one less, and values of run time."""
    yield inside(f"{rule.values}", ground.constant(rule.tensor, rule.values))
    for position, value in enumerate(rule.values):
        for other in (value - 1, value + 1):
            items = with_item(rule.values, position, other)
            yield outside(f"{items}", ground.constant(rule.tensor, items))
    yield inside(f"{rule.tensor} fed", _run_time(rule.tensor))


@boundary(ValuesExclude, VALUE_OUT_OF_RANGE)
def values_exclude(rule: ValuesExclude, ground: Ground) -> Iterator[Side]:
    """Yield the value and its neighbors in every place, and values of run time."""
    yield from _excluded(rule, ground)
    yield outside(f"{rule.tensor} fed", _run_time(rule.tensor))


@boundary(KnownValuesExclude, VALUE_OUT_OF_RANGE)
def known_values_exclude(rule: KnownValuesExclude, ground: Ground) -> Iterator[Side]:
    """Yield the value and its neighbors in every place, and values of run time."""
    yield from _excluded(rule, ground)
    yield inside(f"{rule.tensor} fed", _run_time(rule.tensor))


def _excluded(rule: ValuesExclude | KnownValuesExclude, ground: Ground) -> Iterator[Side]:
    """Yield the value and its neighbors in every place."""
    some = (rule.value + 1,) * math.prod(ground.shape(rule.tensor))
    start = ground.values(rule.tensor) or some
    assert start
    for position in range(len(start)):
        for value in (rule.value - 1, rule.value, rule.value + 1):
            make = outside if value == rule.value else inside
            items = with_item(start, position, value)
            yield make(f"{items}", Change(values={rule.tensor: items}))

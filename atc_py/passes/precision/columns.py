"""Matching a node's dtypes with the dtype columns of its operator's row."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from atc_py.ir import Engine
from atc_py.target import TargetOp, Unit, Values
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from atc_py.ir import Node
    from atc_py.target import Column, Limit, Soc

__all__ = ["Choice", "broken_limit", "choose_column", "fits", "offered_columns", "returns_sums"]

_RISES = {(DType.FLOAT16, DType.FLOAT32), (DType.BFLOAT16, DType.FLOAT32)}
"""(wanted, taken): a wider float may stand in for a narrower one."""

_SHORT = frozenset({DType.FLOAT16, DType.BFLOAT16})

_NARROWED, _AICPU = 1, 2
"""Ranks after AI Core columns that lose nothing: AI Core with narrowed floats, and AI CPU."""


class Choice(msgspec.Struct, frozen=True):
    """An engine, the dtype of each input and output position of one node, and attributes to set."""

    engine: Engine
    inputs: tuple[DType, ...]
    outputs: tuple[DType, ...]
    attributes: tuple[tuple[str, DType], ...] = ()


def choose_column(
    node: Node,
    row: TargetOp,
    soc: Soc,
    wanted: tuple[Sequence[DType], Sequence[DType]],
    *,
    falls: Collection[tuple[DType, DType]] = (),
    must: tuple[Sequence[DType], Sequence[DType]] = ((), ()),
) -> Choice | None:
    """Return the offered column that is nearest to the `wanted` dtypes of inputs and outputs.

    AI Core comes before AI CPU; among the columns of one engine the one with the fewest changes
    wins, and the row's order decides between equals. `falls` are the pairs of a wanted dtype and
    a narrower one that the AI Core may take for it where it takes nothing better; that comes
    before the AI CPU. Columns that output the float32 sums of narrower operands are for those
    who want them alone. `must` are dtypes of the first inputs and outputs that no other meets.
    """
    best: tuple[int, int, Choice] | None = None
    for choice in offered_columns(node, row, soc):
        if returns_sums(row, choice) and not _wants_sums(wanted):
            continue
        if not (_begins(choice.inputs, must[0]) and _begins(choice.outputs, must[1])):
            continue
        changes = _changes(node, wanted, choice, falls)
        if changes is None:
            continue
        risen, fallen = changes
        on_aicpu = choice.engine is Engine.AICPU
        if fallen and on_aicpu:
            continue
        rank = (_AICPU if on_aicpu else _NARROWED if fallen else 0, risen + fallen)
        if best is None or rank < best[:2]:
            best = (*rank, choice)
    return best[2] if best else None


def offered_columns(node: Node, row: TargetOp, soc: Soc) -> tuple[Choice, ...]:
    """Return engine and dtype columns that `soc` has for `node`, preferred first."""
    within = broken_limit(node, row) is None
    return _offered(_One(row), _One(soc), within, (len(node.inputs), len(node.outputs)))


_T = TypeVar("_T")


class _One(Generic[_T]):
    """One object as a key, compared by identity: hashing all facts of a row takes long."""

    __slots__ = ("it",)

    def __init__(self, it: _T) -> None:
        self.it = it

    def __hash__(self) -> int:
        return id(self.it)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _One) and self.it is other.it


@lru_cache(maxsize=4096)
def _offered(
    one: _One[TargetOp], soc: _One[Soc], within: bool, counts: tuple[int, int]
) -> tuple[Choice, ...]:
    """Return a row's columns for so many operands; `within` the limits of the AI Core."""
    row = one.it
    if row.unit is Unit.LOCAL:
        return tuple(_spread(Engine.LOCAL, column, counts) for column in row.columns)
    usable = row.columns_on(soc.it) if within else ()
    return (
        *(_spread(Engine.AICORE, column, counts) for column in usable),
        *(_spread(Engine.AICPU, column, counts) for column in row.aicpu_columns),
    )


def fits(node: Node, row: TargetOp, soc: Soc) -> bool:
    """Return True if the node's engine and the dtypes of its values are an offered column."""
    return any(
        choice.engine is node.engine
        and all(v is None or v.type.dtype is d for v, d in zip(node.inputs, choice.inputs))  # noqa: B905  (same length by construction)
        and all(v.type.dtype is d for v, d in zip(node.outputs, choice.outputs))  # noqa: B905
        for choice in offered_columns(node, row, soc)
    )


def broken_limit(node: Node, row: TargetOp) -> Limit | Values | None:
    """Return the first limit of the AI Core kernel that the node's attributes break, or None."""
    return next((limit for limit in row.limits if not _within(node, limit)), None)


def _within(node: Node, limit: Limit | Values) -> bool:
    """Return True if the node's attribute is inside `limit`; an absent attribute is."""
    if isinstance(limit, Values):
        return node.attributes.get(limit.attribute, limit.one_of[0]) in limit.one_of
    numbers = node.attributes.get(limit.attribute)
    if not isinstance(numbers, tuple):
        return True
    bound = [numbers[position] for position in limit.positions if position < len(numbers)]
    if limit.product:
        product = 1.0
        for number in bound:
            product *= number
        bound = [product]
    return all(limit.low <= number <= limit.high for number in bound)


def _spread(engine: Engine, column: Column, counts: tuple[int, int]) -> Choice:
    """Return a column with its last dtype repeated for variadic operands."""
    inputs, outputs = counts
    dtypes = _repeat(column.inputs, inputs), _repeat(column.outputs, outputs)
    return Choice(engine, *dtypes, column.attributes)


def _repeat(dtypes: tuple[DType, ...], count: int) -> tuple[DType, ...]:
    """Return `dtypes` cut or filled with their last one to `count`."""
    return (dtypes + dtypes[-1:] * count)[:count]


def _begins(dtypes: Sequence[DType], first: Sequence[DType]) -> bool:
    """Return True if `dtypes` begin with `first`."""
    return tuple(dtypes[: len(first)]) == tuple(first)


def returns_sums(row: TargetOp, choice: Choice) -> bool:
    """Return True if a cube operator leaves the sums of 16-bit products in float32."""
    return (
        row.unit is Unit.CUBE and choice.inputs[0] in _SHORT and choice.outputs[0] is DType.FLOAT32
    )


def _wants_sums(wanted: tuple[Sequence[DType], Sequence[DType]]) -> bool:
    """Return True if 16-bit operands and a float32 result are asked for."""
    return wanted[0][0] in _SHORT and wanted[1][0] is DType.FLOAT32


def _changes(
    node: Node,
    wanted: tuple[Sequence[DType], Sequence[DType]],
    choice: Choice,
    falls: Collection[tuple[DType, DType]],
) -> tuple[int, int] | None:
    """Return how many tensors widen and narrow, or None where one does not match."""
    pairs = [
        (want, take)
        for value, want, take in zip(node.inputs, wanted[0], choice.inputs, strict=True)
        if value is not None
    ]
    pairs += zip(wanted[1], choice.outputs, strict=True)
    changed = [pair for pair in pairs if pair[0] is not pair[1]]
    if any(pair not in _RISES and pair not in falls for pair in changed):
        return None
    fallen = sum(pair in falls for pair in changed)
    return len(changed) - fallen, fallen

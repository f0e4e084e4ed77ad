"""Matching a node's dtypes with the dtype columns of its operator's row; Casts and their engine."""

from functools import lru_cache
from math import prod

import msgspec

from atc_py.ir import Engine, Graph, Node, Value
from atc_py.passes.precision.requested_dtypes import SHORT, DtypeRequest
from atc_py.target import Column, Limit, Soc, TargetOp, Unit, Values, find_operator
from atc_py.tensor.dtypes import DType

_AICORE = frozenset(
    {
        DType.FLOAT16,
        DType.BFLOAT16,
        DType.FLOAT32,
        DType.INT8,
        DType.UINT8,
        DType.INT32,
        DType.INT64,
        DType.BOOL,
    }
)
"""Dtypes between which the AI Core converts where nothing else is published."""


def cast_engine(node: Node, soc: Soc) -> Engine:
    """The engine of a Cast node on `soc`, by the dtypes of its input and output.

    What the AI Core does not convert goes to the AI CPU.
    """
    (given,) = (value.type.dtype for value in node.present_inputs)
    wanted = node.output.type.dtype
    row = find_operator("Cast")
    published = None if row is None else row.published_on(soc)
    if published is None or given is wanted:
        return Engine.AICORE if {given, wanted} <= _AICORE else Engine.AICPU
    return Engine.AICORE if ((given,), (wanted,)) in published else Engine.AICPU


def insert_cast(graph: Graph, value: Value, dtype: DType, soc: Soc) -> Value:
    """`value` in another dtype: a new Cast node with the origins of the value's producer."""
    type_ = value.type.with_dtype(dtype)
    origins = value.producer.origins if value.producer is not None else ()
    name = f"{value.name}.{dtype.value}"
    node = graph.add_node("Cast", [value], [(name, type_)], {"dst_type": dtype}, origins)
    node.engine = cast_engine(node, soc)
    return node.output


_RISES = {(DType.FLOAT16, DType.FLOAT32), (DType.BFLOAT16, DType.FLOAT32)}
"""(wanted, taken): a wider float may stand in for a narrower one."""

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
    request: DtypeRequest,
) -> Choice | None:
    """The offered column that is nearest to the requested dtypes of inputs and outputs.

    AI Core comes before AI CPU; among the columns of one engine the one with the fewest changes
    wins, and the row's order decides between equals. What the AI Core narrows where it takes
    nothing better comes before the AI CPU. Columns that output the float32 sums of narrower
    operands are for those who want them alone.
    """
    best: tuple[int, int, Choice] | None = None
    sums_wanted = request.inputs[0] in SHORT and request.outputs[0] is DType.FLOAT32
    for choice in offered_columns(node, row, soc):
        if returns_sums(row, choice) and not sums_wanted:
            continue
        if not _begins(choice.inputs, request.exact_inputs):
            continue
        if not _begins(choice.outputs, request.exact_outputs):
            continue
        changes = _changes(node, request, choice)
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
    within = broken_limit(node, row) is None
    return _offered(row, soc, within, (len(node.inputs), len(node.outputs)))


@lru_cache(maxsize=4096)
def _offered(row: TargetOp, soc: Soc, within: bool, counts: tuple[int, int]) -> tuple[Choice, ...]:
    if row.unit is Unit.LOCAL:
        return tuple(_spread(Engine.LOCAL, column, counts) for column in row.columns)
    usable = row.columns_on(soc) if within else ()
    return (
        *(_spread(Engine.AICORE, column, counts) for column in usable),
        *(_spread(Engine.AICPU, column, counts) for column in row.aicpu),
    )


def fits(node: Node, row: TargetOp, soc: Soc) -> bool:
    """True if the node's engine and the dtypes of its values are an offered column."""
    within = broken_limit(node, row) is None
    inputs = tuple([None if value is None else value.type.dtype for value in node.inputs])
    outputs = tuple([value.type.dtype for value in node.outputs])
    return _is_offered(row, soc, within, node.engine, (inputs, outputs))


@lru_cache(maxsize=4096)
def _is_offered(
    row: TargetOp,
    soc: Soc,
    within: bool,
    engine: Engine | None,
    dtypes: tuple[tuple[DType | None, ...], tuple[DType, ...]],
) -> bool:
    inputs, outputs = dtypes
    return any(
        choice.engine is engine
        and all(
            have is None or have is take for have, take in zip(inputs, choice.inputs, strict=True)
        )
        and outputs == choice.outputs
        for choice in _offered(row, soc, within, (len(inputs), len(outputs)))
    )


def broken_limit(node: Node, row: TargetOp) -> Limit | Values | None:
    for limit in row.limits:
        if not _within(node, limit):
            return limit
    return None


def _within(node: Node, limit: Limit | Values) -> bool:
    """True if the node's attribute is inside `limit`; an absent attribute is."""
    if isinstance(limit, Values):
        return node.attributes.get(limit.attribute, limit.one_of[0]) in limit.one_of
    numbers = node.attributes.get(limit.attribute)
    if not isinstance(numbers, tuple):
        return True
    bound = [numbers[position] for position in limit.positions if position < len(numbers)]
    if limit.product:
        bound = [prod(bound)]
    return all(limit.low <= number <= limit.high for number in bound)


def _spread(engine: Engine, column: Column, counts: tuple[int, int]) -> Choice:
    inputs, outputs = counts
    dtypes = _repeat(column.inputs, inputs), _repeat(column.outputs, outputs)
    return Choice(engine, *dtypes, column.attributes)


def _repeat(dtypes: tuple[DType, ...], count: int) -> tuple[DType, ...]:
    return (dtypes + dtypes[-1:] * count)[:count]


def _begins(dtypes: tuple[DType, ...], first: tuple[DType, ...]) -> bool:
    return dtypes[: len(first)] == first


def returns_sums(row: TargetOp, choice: Choice) -> bool:
    """True if a cube operator leaves the sums of 16-bit products in float32."""
    return (
        row.unit is Unit.CUBE and choice.inputs[0] in SHORT and choice.outputs[0] is DType.FLOAT32
    )


def _changes(node: Node, request: DtypeRequest, choice: Choice) -> tuple[int, int] | None:
    """Numbers of tensors that widen and narrow, or None where one does not match."""
    pairs = [
        (want, take)
        for value, want, take in zip(node.inputs, request.inputs, choice.inputs, strict=True)
        if value is not None
    ]
    pairs += zip(request.outputs, choice.outputs, strict=True)
    changed = [pair for pair in pairs if pair[0] is not pair[1]]
    if any(pair not in _RISES and pair not in request.falls for pair in changed):
        return None
    fallen = sum(pair in request.falls for pair in changed)
    return len(changed) - fallen, fallen

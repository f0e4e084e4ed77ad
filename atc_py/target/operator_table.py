"""Target operators: names, operands and attributes are those of CANN's graph operators.

Sources of the rows: `REG_OP` signatures (operands, attributes, defaults), the AI Core operator
information of CANN 8.1 (dtypes by SoC family) and that of 2022 for Ascend310P (dtype columns of the
generic device), the AI CPU kernel list, and the ONNX operator list (limits beyond which a node runs
on the AI CPU).
"""

from collections.abc import Iterator
from functools import lru_cache

from atc_py.system.register import Register
from atc_py.system.structs import replace
from atc_py.target.row import Column, TargetOp, Unit
from atc_py.target.soc import Resource
from atc_py.tensor.dtypes import DType

# That holds for SoCs that compute bfloat16 and whose columns are not published: those of operators
# whose dtypes are decided when the kernel is compiled, or of which there is no definition. An operator that takes
# float16 alone, such as a pool, gets none, nor does one whose attributes follow the dtype, such as the
# quantizations.


def with_bfloat16(row: TargetOp) -> TargetOp:
    """`row` with the bfloat16 forms of its columns after them."""
    if not row.launches_kernel:
        return row
    added = tuple(_twins(row.columns))
    return replace(row, columns=(*row.columns, *added)) if added else row


def _twins(columns: tuple[Column, ...]) -> Iterator[Column]:
    """Yield the bfloat16 form of every float16 column that has a float32 form."""
    known = {(column.inputs, column.outputs) for column in columns}
    for column in columns:
        if column.needs is not None or column.attributes:
            continue
        wide, twin = _become(column, DType.FLOAT32), _become(column, DType.BFLOAT16)
        if twin not in known and wide in known:
            yield Column(*twin, Resource.BFLOAT16)


def _become(column: Column, dtype: DType) -> tuple[tuple[DType, ...], tuple[DType, ...]]:
    inputs, outputs = (
        tuple(dtype if own is DType.FLOAT16 else own for own in side)
        for side in (column.inputs, column.outputs)
    )
    return inputs, outputs


ROWS: Register[str, TargetOp] = Register(
    "row of", "atc_py.target.rows", listed="ROWS", keys=lambda row, _: [row.name], sparse=True
)
"""By name, as their modules state them: without the columns of bfloat16 that follow."""


def operators() -> tuple[TargetOp, ...]:
    rows = map(find_operator, sorted(ROWS.all()))
    return tuple(row for row in rows if row is not None)


@lru_cache(maxsize=1024)
def find_operator(name: str) -> TargetOp | None:
    row = ROWS.get(name)
    return None if row is None else with_bfloat16(row)


def unit_of(op: str) -> Unit | None:
    row = find_operator(op)
    return None if row is None else row.unit


VIEWS = frozenset({"Flatten", "Reshape", "Squeeze", "Unsqueeze"})
"""Operators that hand on their elements in order under other dims."""


JOINED_IN_PLACE = "PhonyConcat"
"""The view whose operands are parts of what it shows, one after another from its start."""


@lru_cache(maxsize=1024)
def is_view(op: str) -> bool:
    """True if operator `op` shows its first input's data, or all of them, and launches no kernel."""
    row = find_operator(op)
    return row is not None and not row.launches_kernel

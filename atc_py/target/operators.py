"""Target operators: names, operands and attributes are those of CANN's graph operators.

Sources of the rows: `REG_OP` signatures (operands, attributes, defaults), the AI Core operator
information of CANN 8.1 (dtypes by SoC family) and that of 2022 for Ascend310P (dtype columns of the
generic device), the AI CPU kernel list, and the ONNX operator list (limits beyond which a node runs
on the AI CPU).
"""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

from atc_py.system.structs import replace
from atc_py.target import rows
from atc_py.target.row import Column, TargetOp
from atc_py.target.row_modules import MODULES
from atc_py.target.soc import Resource
from atc_py.tensor.dtypes import DType

# That holds for SoCs that compute bfloat16 and whose columns are not published: those of operators
# whose dtypes are decided when the kernel is compiled, and all of Ascend910_95. An operator that takes
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
    """The dtypes of `column` with `dtype` in place of float16."""
    inputs, outputs = (
        tuple(dtype if each is DType.FLOAT16 else each for each in side)
        for side in (column.inputs, column.outputs)
    )
    return inputs, outputs


def operators() -> tuple[TargetOp, ...]:
    """Every row, by name."""
    return tuple(row for _, row in sorted(_by_name().items()))


@lru_cache(maxsize=1024)
def find_operator(name: str) -> TargetOp | None:
    """The row of the operator called `name`, or None; of listed modules it imports one."""
    module = MODULES.get(name)
    return (_unlisted_rows() if module is None else _rows_of(module)).get(name)


@lru_cache(maxsize=1024)
def is_view(op: str) -> bool:
    """True if operator `op` shows its first input's data and launches no kernel."""
    row = find_operator(op)
    return row is not None and not row.launches_kernel


def row_modules() -> dict[str, str]:
    """The module of `rows/` that has the row of each operator.

    Raises:
        ValueError: two modules have a row for one operator.
    """
    found: dict[str, str] = {}
    for module in (each.name for each in pkgutil.iter_modules(rows.__path__)):
        for name in (row.name for row in _listed(module)):
            if name in found:
                raise ValueError(f"{name} has a row in {found[name]} and in {module}")
            found[name] = module
    return found


@cache
def _by_name() -> Mapping[str, TargetOp]:
    return {name: _rows_of(module)[name] for name, module in row_modules().items()}


@cache
def _unlisted_rows() -> Mapping[str, TargetOp]:
    """The rows of modules that the derived table does not know yet."""
    known = set(MODULES.values())
    return {
        name: row
        for module in (each.name for each in pkgutil.iter_modules(rows.__path__))
        if module not in known
        for name, row in _rows_of(module).items()
    }


@cache
def _rows_of(module: str) -> Mapping[str, TargetOp]:
    return {row.name: with_bfloat16(row) for row in _listed(module)}


def _listed(module: str) -> tuple[TargetOp, ...]:
    found: tuple[TargetOp, ...] = getattr(
        importlib.import_module(f"{rows.__name__}.{module}"), "ROWS", ()
    )
    return found

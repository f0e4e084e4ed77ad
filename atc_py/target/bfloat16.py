"""bfloat16 columns: a kernel with a float16 and a float32 form has a bfloat16 form as well.

That holds for SoCs that compute bfloat16 and whose columns are not published: those of operators
whose dtypes are decided when the kernel is compiled, and all of Ascend910_95. An operator that takes
float16 alone, such as a pool, gets none, nor does one whose attributes follow the dtype, such as the
quantizations.
"""

from collections.abc import Iterator

from atc_py.system.structs import replace
from atc_py.target.row import Column, TargetOp
from atc_py.target.soc import Resource
from atc_py.tensor.dtypes import DType


def with_bfloat16(row: TargetOp) -> TargetOp:
    """Return `row` with the bfloat16 forms of its columns after them."""
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
    """Return the dtypes of `column` with `dtype` in place of float16."""
    inputs, outputs = (
        tuple(dtype if each is DType.FLOAT16 else each for each in side)
        for side in (column.inputs, column.outputs)
    )
    return inputs, outputs

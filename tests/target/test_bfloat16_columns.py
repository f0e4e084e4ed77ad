"""Which operators have bfloat16 columns, and on which SoCs."""

import pytest

from atc_py.target import Resource, TargetOp, find_operator, operators, socs
from atc_py.target.operator_table import with_bfloat16
from atc_py.target.row import Column, Operand
from atc_py.tensor.dtypes import DType

BF16, F16, F32, I32 = DType.BFLOAT16, DType.FLOAT16, DType.FLOAT32, DType.INT32


@pytest.mark.parametrize(
    ("op", "has"),
    [("Conv2D", True), ("Add", True), ("ConcatD", True), ("MaxPoolV3", False), ("NonZero", False)],
)
def test_operator_with_both_floats_has_bfloat16(op: str, has: bool) -> None:
    row = find_operator(op)
    assert row is not None
    assert any(BF16 in column.inputs for column in row.columns) is has


def row_of(*columns: Column) -> TargetOp:
    """Return an operator with `columns`."""
    return TargetOp("Made", (Operand("x"),), (Operand("y"),), "", columns=columns)


def test_bfloat16_columns_follow_the_others_and_need_the_resource() -> None:
    columns = (Column((F16, I32), (F16,)), Column((F32, I32), (F32,)), Column((I32, I32), (I32,)))
    found = with_bfloat16(row_of(*columns)).columns
    assert found == (*columns, Column((BF16, I32), (BF16,), Resource.BFLOAT16))


@pytest.mark.parametrize(
    "columns",
    [
        (Column((F16,), (F16,)),),
        (Column((F32,), (F32,)),),
        (Column((F16,), (F16,)), Column((F32,), (F32,)), Column((BF16,), (BF16,))),
        (Column((F16,), (F16,), attributes=(("dtype", F16),)), Column((F32,), (F32,))),
    ],
)
def test_nothing_is_added_without_both_floats_or_beside_what_is_there(
    columns: tuple[Column, ...],
) -> None:
    assert with_bfloat16(row_of(*columns)).columns == columns


def test_no_column_is_there_twice() -> None:
    for row in operators():
        keys = [(column.inputs, column.outputs, column.attributes) for column in row.columns]
        for key in keys:
            if BF16 in (*key[0], *key[1]):
                assert keys.count(key) == 1, row.name


def test_some_socs_have_bfloat16_and_the_generic_one_has_not() -> None:
    with_it = {soc.name for soc in socs() if soc.has(Resource.BFLOAT16)}
    assert {"Ascend910B3", "Ascend310B1", "Ascend950PR_9599"} <= with_it
    assert with_it.isdisjoint({"sim", "Ascend310P3", "Ascend910A"})

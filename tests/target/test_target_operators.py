"""The table of target operators: complete, ordered, each name once."""

import pytest

from atc_py.system.register import Register
from atc_py.target import TargetOp, Unit, find_operator, operators
from atc_py.target.operator_table import ROWS
from atc_py.target.rows import reduction


def test_rows_are_ordered_by_name() -> None:
    names = [row.name for row in operators()]
    assert names == sorted(names)
    assert all(find_operator(name) is row for name, row in zip(names, operators(), strict=True))
    assert find_operator("Nonsense") is None


def test_row_that_launches_a_kernel_has_a_family_and_a_dtype() -> None:
    for row in operators():
        assert bool(row.family) is (row.unit is not Unit.LOCAL), row.name
        assert row.columns or row.aicpu or row.name == "Cast", row.name


def test_two_rows_of_one_name_clash(monkeypatch: pytest.MonkeyPatch) -> None:
    relu = find_operator("Relu")
    monkeypatch.setattr(reduction, "ROWS", (relu,))
    rows: Register[str, TargetOp] = Register(
        ROWS.kind, ROWS.package, listed="ROWS", keys=lambda row, _: [row.name]
    )
    with pytest.raises(ValueError, match=r"Relu stands twice: in .*elementwise and in .*reduction"):
        rows.all()

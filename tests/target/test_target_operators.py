"""The table of target operators: complete, ordered, each name once."""

import pytest

from atc_py.target import Unit, find_operator, operators
from atc_py.target.operators import row_modules
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
    with pytest.raises(ValueError, match=r"Relu has a row in .*elementwise and in .*reduction"):
        row_modules()

"""Tables for terminals that are too narrow: texts lose their middle, numbers stay."""

import pytest

from atc_py.report.tables import Table, narrowed
from atc_py.report.wrapping import columns

NAME = "/backbone/stage3/block2/attention/qkv/MatMul"
TABLE = Table("Layers", ("layer", "operator", "SNR dB>"), ((NAME, "MatMul", "41.2"),))


def width_of(table: Table, between: int) -> int:
    cells = [tuple(name for name, _ in table.headings()), *table.rows]
    widths = [max(columns(row[at]) for row in cells) for at in range(len(cells[0]))]
    return sum(widths) + between * len(widths)


@pytest.mark.parametrize("width", [80, 60, 45])
def test_long_names_lose_their_middle(width: int) -> None:
    table = narrowed(TABLE, width, 3)
    assert width_of(table, 3) <= width
    name, operator, ratio = table.rows[0]
    assert (operator, ratio) == ("MatMul", "41.2")
    if width == 80:
        assert name == NAME
    else:
        head, _, tail = name.partition("...")
        assert NAME.startswith(head)
        assert NAME.endswith(tail)
        assert tail


def test_names_keep_some_letters_and_numbers_stay() -> None:
    table = narrowed(TABLE, 10, 3)
    assert columns(table.rows[0][0]) == 12
    assert table.rows[0][2] == "41.2"


def test_wide_letters_count_twice() -> None:
    table = narrowed(Table("", ("name",), (("卷积层" * 10,),)), 30, 3)
    assert columns(table.rows[0][0]) <= 27


def test_table_without_rows_stays() -> None:
    assert narrowed(Table("t", ("a", "b>"), ()), 5, 3) == Table("t", ("a", "b>"), ())

"""Tables on a terminal, drawn by rich; of those that are too wide each row takes several lines."""

from collections.abc import Sequence

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from atc_py.report.tables import Table, narrowed
from atc_py.report.wrapping import columns, wrap

_BETWEEN = 3
"""Blanks beside each column of a table as rich draws it: two within, and one between them."""

_LEAST = 28
"""Columns that a word may take before it is broken."""


_INDENT = 6
"""Blanks before what does not fit beside the first columns."""


def draw_table(table: Table, *, err: bool, narrow: bool) -> None:
    """Draw a table, safe to show, in the language of the commands; `narrow` shortens its texts."""
    console = Console(stderr=err)
    if narrow:
        table = narrowed(table, console.width, _BETWEEN)
    if table.title:
        console.print(Text(table.title, style="bold"))
    named = any(name for name, _ in table.headings())
    if named and _least_width(table) > console.width:
        _draw_rows(console, table)
    else:
        console.print(_drawn(table, named=named))


def _drawn(table: Table, *, named: bool) -> RichTable:
    drawn = RichTable(box=SIMPLE, show_header=named)
    for at, (name, right) in enumerate(table.headings()):
        drawn.add_column(
            name,
            justify="right" if right else "left",
            overflow="fold",
            no_wrap=right,
            min_width=0 if right else _word(table, at),
        )
    for row in table.rows:
        drawn.add_row(*(Text(cell) for cell in row))
    return drawn


def _least_width(table: Table) -> int:
    widths = [
        _width(table, at) if right else _word(table, at)
        for at, (_, right) in enumerate(table.headings())
    ]
    return sum(widths) + _BETWEEN * len(widths)


def _word(table: Table, at: int) -> int:
    words = (word for row in table.rows for word in row[at].split())
    return min(max(map(columns, (*table.headings()[at][0].split(), *words)), default=0), _LEAST)


def _width(table: Table, at: int) -> int:
    """The columns of the widest cell of a column, its heading among them."""
    return max(
        columns(cell) for cell in (table.headings()[at][0], *(row[at] for row in table.rows))
    )


def _draw_rows(console: Console, table: Table) -> None:
    """Draw the first columns as a table, and the others of each row below it with their names."""
    headings = table.headings()
    widths = [_width(table, at) for at in range(len(headings))]
    fitting = max(
        1, sum(sum(widths[: at + 1]) + 2 * (at + 1) <= console.width for at in range(len(widths)))
    )
    console.print()
    _print(
        console, _beside([name for name, _ in headings][:fitting], headings, widths), style="bold"
    )
    for row in table.rows:
        _print(console, _beside(row[:fitting], headings, widths))
        rest = zip(headings[fitting:], row[fitting:], strict=True)
        named = [f"{name} {cell}" for (name, _), cell in rest if cell]
        if named:
            indent = " " * _INDENT
            for line in wrap("; ".join(named), indent, indent, console.width):
                _print(console, line, style="dim")
    console.print()


def _beside(
    cells: Sequence[str], headings: Sequence[tuple[str, bool]], widths: Sequence[int]
) -> str:
    padded = []
    for cell, (_, right), width in zip(cells, headings, widths, strict=False):
        blanks = " " * (width - columns(cell))
        padded.append(blanks + cell if right else cell + blanks)
    return "  " + "  ".join(padded).rstrip()


def _print(console: Console, line: str, style: str = "") -> None:
    console.print(Text(line, style=style), soft_wrap=True)

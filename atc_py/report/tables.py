"""Tables and sizes as text, used by every report."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from atc_py.report.wrapping import columns
from atc_py.system.structs import Result
from atc_py.text import LANGUAGES, Text
from atc_py.text.language import language, spoken

if TYPE_CHECKING:
    from atc_py.results.fixing import FixedNode


_MOST = 400
"""Characters of a cell: each row is as wide as the widest."""

_LEAST, _LEFT_OUT = 12, "..."
"""Characters to which a terminal's table shortens texts at most, and what is in their middle."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_MILLI, _MICRO = 1e-3, 1e-6
_STEP = 1024


class Table(Result, frozen=True):
    """A titled table; columns whose names end in `>` are aligned to the right.

    Attributes:
        title: printed above.
        columns: headings.
        rows: cells as text, as many in each row as there are columns.
        said: columns whose cells are texts of atc-py, from 0; those of the others are names and
            figures. In a table without headings every cell is such a text.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    said: tuple[int, ...] = ()

    def headings(self) -> tuple[tuple[str, bool], ...]:
        """(heading, whether the column is aligned to the right) for each column."""
        return tuple((column.rstrip(">"), column.endswith(">")) for column in self.columns)

    def visible(self) -> Table:
        """The table made safe to show: names from files cannot command the terminal."""
        rows = tuple(tuple(clipped(cell, _MOST) for cell in row) for row in self.rows)
        return Table(clipped(self.title), self.columns, rows, self.said)

    def spoken(self) -> Table:
        """The table in the language of the commands.

        A single word that is a plain string may be a name: it is said in that language in the
        first column of a table without headings alone.
        """
        if language() == LANGUAGES[0]:
            return self
        named = any(self.columns)
        said = set(self.said if named else range(len(self.columns)))
        rows = tuple(
            tuple(
                spoken(cell)
                if at in said and (isinstance(cell, Text) or not (named or at) or " " in cell)
                else cell
                for at, cell in enumerate(row)
            )
            for row in self.rows
        )
        heads = tuple(
            f"{spoken(name[:-1])}>"
            if name.endswith(">") and not isinstance(name, Text)
            else spoken(name)
            for name in self.columns
        )
        return Table(spoken(self.title), heads, rows)


def plain_lines(table: Table) -> list[str]:
    """The table in plain text, for files, pipes and logs."""
    table = table.spoken().visible()
    headings = table.headings()
    named = any(name for name, _ in headings)
    cells = [*([tuple(name for name, _ in headings)] if named else []), *table.rows]
    widths = [max((columns(row[i]) for row in cells), default=0) for i in range(len(headings))]
    lines = [table.title] if table.title else []
    for row in cells:
        padded = [
            _padding(cell, width) + cell if right else cell + _padding(cell, width)
            for cell, width, (_, right) in zip(row, widths, headings, strict=True)
        ]
        lines.append(("  " + "  ".join(padded)).rstrip())
    return lines


def block_lines(blocks: Iterable[str | Table]) -> list[str]:
    """Lines and tables in plain text."""
    lines: list[str] = []
    for block in blocks:
        lines += [block] if isinstance(block, str) else plain_lines(block)
    return lines


def narrowed(table: Table, width: int, between: int) -> Table:
    """A table whose texts are shortened in the middle until it is `width` columns wide.

    Columns that are aligned to the right have numbers, and stay. No text becomes shorter than
    _LEAST characters.
    """
    headings = table.headings()
    cells = [tuple(name for name, _ in headings), *table.rows]
    widths = [max(columns(row[i]) for row in cells) for i in range(len(headings))]
    texts = [i for i, (_, right) in enumerate(headings) if not right]
    over = sum(widths) + between * len(widths) - width
    while over > 0 and texts:
        widest = max(texts, key=lambda i: widths[i])
        if widths[widest] <= _LEAST:
            break
        widths[widest] -= 1
        over -= 1
    rows = tuple(
        tuple(
            cell if right else _shortened(cell, most)
            for cell, most, (_, right) in zip(row, widths, headings, strict=True)
        )
        for row in table.rows
    )
    return Table(table.title, table.columns, rows)


def _shortened(text: str, most: int) -> str:
    if columns(text) <= most:
        return text
    kept = most - len(_LEFT_OUT)
    head, tail = text[: kept - kept // 2], text[-(kept // 2) :]
    while columns(head) > kept - kept // 2:
        head = head[:-1]
    while columns(tail) > kept // 2:
        tail = tail[1:]
    return head + _LEFT_OUT + tail


def _padding(cell: str, width: int) -> str:
    return " " * (width - columns(cell))


def format_bytes(count: int) -> str:
    """`97.5 MiB`: a size with the unit that keeps it readable."""
    size, unit = float(count), 0
    while size >= _STEP and unit < len(_UNITS) - 1:
        size, unit = size / _STEP, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{count} B"


def format_time(seconds: float) -> str:
    """`4.25 ms` or `12.3 µs`: a time with the unit that keeps it readable."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    if seconds >= _MILLI:
        return f"{seconds / _MILLI:.2f} ms"
    return f"{seconds / _MICRO:.1f} µs"


def share_text(count: object, total: object) -> str:
    """`3 of 12`."""
    return Text("{count} of {total}", count=count, total=total).in_language(language())


def format_seconds(seconds: float) -> str:
    """`1.23 s` or `4.5 ms`."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


def first_names(names: list[str], most: int = 5) -> str:
    left = len(names) - most
    more = spoken(Text(" and {left} more", left=left)) if left > 0 else ""
    return ", ".join(names[:most]) + more


_NAMED = 3


def fixed_nodes_table(nodes: Iterable[FixedNode]) -> Table:
    """Operators and rules with the nodes that they rewrote; nodes alike share a row."""
    rows: dict[tuple[str, str], list[str]] = defaultdict(list)
    for node in nodes:
        label = f'{node.node} "{node.name}"' if node.name else str(node.node)
        rows[node.operator, ", ".join(node.rules)].append(label)
    return Table(
        "Rewritten by --fix",
        ("nodes>", "operator", "rules", "places in the file"),
        tuple((str(len(row)), *key, node_list(row)) for key, row in rows.items()),
        said=(3,),
    )


def node_list(labels: list[str]) -> str:
    # One more label takes no more room than the words that it is left out.
    most = len(labels) if len(labels) == _NAMED + 1 else _NAMED
    rest = len(labels) - most
    more = spoken(Text(" and {left} more", left=rest)) if rest > 0 else ""
    return ", ".join(labels[:most]) + more


def number_text(value: float, digits: int = 4) -> str:
    if math.isfinite(value):
        return f"{value:.{digits}g}"
    return "NaN" if math.isnan(value) else ("inf" if value > 0 else "-inf")


_MOST_TEXT = 2000
"""Characters of one piece of a text report; names in models may have millions."""

_FORMULA = ("=", "+", "-", "@")
"""What begins a formula in a spreadsheet."""


def visible(text: str) -> str:
    """`text` with every character that is not printable as an escape.

    These are line breaks, terminal commands, marks that turn the reading direction, and bytes of
    file names that are not UTF-8.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def clipped(text: str, most: int = _MOST_TEXT) -> str:
    """`text` made visible, its middle left out beyond `most` characters."""
    half = most // 2
    if len(text) <= most:
        return visible(text)
    left_out = len(text) - 2 * half
    return f"{visible(text[:half])} ...({left_out} characters)... {visible(text[-half:])}"


def csv_cell(text: str) -> str:
    """`text` as a cell of CSV that no spreadsheet takes for a formula."""
    shown = visible(text)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown

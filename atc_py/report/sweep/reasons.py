"""Rows of a sweep for the terminal, and their reasons, counted by code."""

from collections.abc import Sequence

from atc_py.diag import find_code
from atc_py.report.tables import Table, format_bytes, format_time, visible
from atc_py.results.sweep import SweepRow
from atc_py.system.structs import Result
from atc_py.text import LANGUAGES, Text
from atc_py.text.language import language, spoken

_MOST = 10
"""Codes that are printed; the page has all of them."""

_FEW = 20
"""Rows that are printed one by one; the page has any number."""


class ReasonCount(Result, frozen=True):
    """One code, and the rows that have it.

    Attributes:
        code: its number.
        rows: how many rows have it.
        models: how many models these rows are about.
        example: the first row whose message it is; None where it is never the first of a row.
    """

    code: str
    rows: int
    models: int
    example: SweepRow | None


def reason_counts(rows: Sequence[SweepRow]) -> list[ReasonCount]:
    having: dict[str, list[SweepRow]] = {}
    first: dict[str, SweepRow] = {}
    for row in rows:
        for at, code in enumerate(row.reasons):
            having.setdefault(code, []).append(row)
            if not at:
                first.setdefault(code, row)
    counts = [
        ReasonCount(code, len(own), len({row.combination.model for row in own}), first.get(code))
        for code, own in having.items()
    ]
    return sorted(counts, key=lambda each: (-each.rows, each.code))


def code_text(code: str) -> str:
    """`ATC3001 unknown-operator`: the number of a code with its name."""
    known = find_code(code)
    return code if known is None else f"{code} {known.name}"


def reasons_table(rows: Sequence[SweepRow]) -> Table | None:
    counts = reason_counts(rows)
    if not counts:
        return None
    title = "Reasons"
    if len(counts) > _MOST:
        title = Text("Reasons: the {most} most frequent of {count} codes")
        title = title.with_values(most=_MOST, count=len(counts))
    cells = tuple(
        (code_text(count.code), str(count.rows), str(count.models), _example(count.example))
        for count in counts[:_MOST]
    )
    return Table(title, ("code", "rows>", "models>", "for instance"), cells)


def rows_table(rows: Sequence[SweepRow]) -> Table | None:
    if len(rows) > _FEW:
        return None
    of = [row.combination for row in rows]
    columns = {
        "model": [each.model for each in of],
        "SoC": [each.soc for each in of],
        "precision mode": [each.precision_mode for each in of],
        "operator list": [each.operator_list for each in of],
        "verdict": [spoken(row.verdict.value) for row in rows],
        "time>": [
            format_time(row.estimated_seconds) if row.estimated_seconds else "" for row in rows
        ],
        "memory>": [format_bytes(row.memory_bytes) if row.memory_bytes else "" for row in rows],
        "cosine>": ["" if row.cosine is None else f"{row.cosine:.6f}" for row in rows],
        "proposed dims": [row.proposed for row in rows],
    }
    axes = {"SoC", "precision mode", "operator list"}
    shown = {
        name: cells
        for name, cells in columns.items()
        if (len({*cells}) > 1 if name in axes else any(cells))
    }
    cells = tuple(tuple(map(visible, row)) for row in zip(*shown.values(), strict=True))
    return Table("Rows", tuple(shown), cells)


def _example(row: SweepRow | None) -> str:
    if row is None:
        return ""
    message = row.message if language() == LANGUAGES[0] else row.message_zh or row.message
    return visible(f"{row.combination.model}: {message}")

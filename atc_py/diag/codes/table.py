"""The rows that the families have added, and how one is found by its number or name."""

import copyreg
from collections.abc import Callable

from atc_py.diag.diagnostic import Code, ExitCode, Severity

_TABLE: dict[str, Code] = {}
_SPELLINGS: dict[str, Code] = {}
"""Rows by what they are found by: reports look one up for each finding."""


def add_code(
    number: int,
    name: str,
    exit_code: ExitCode,
    meaning: str,
    remedy: str,
    severity: Severity = Severity.ERROR,
) -> Code:
    """Add a row to the table; a number or name that is taken raises."""
    row = Code(f"ATC{number}", name, exit_code, meaning, remedy, severity)
    for other in _TABLE.values():
        if row.id == other.id or row.name == other.name:
            raise ValueError(f"{row.id} {row.name} clashes with {other.id} {other.name}")
    _TABLE[row.id] = row
    for spelling in (row.id.lower(), row.id[3:], row.name):
        _SPELLINGS.setdefault(spelling, row)
    return row


def all_codes() -> tuple[Code, ...]:
    """Every row, by number."""
    return tuple(sorted(_TABLE.values(), key=lambda row: row.id))


def find_code(text: str) -> Code | None:
    """The row with that number (`ATC2001`, `atc2001`, `2001`) or name, or None."""
    return _SPELLINGS.get(text.strip().lower())


def _row(number: str) -> Code:
    return _TABLE[number]


def _parts(code: Code) -> tuple[Callable[..., Code], tuple[object, ...]]:
    """Constructor and arguments for another process: the id, for codes are compared by identity."""
    if _TABLE.get(code.id) is code:
        return _row, (code.id,)
    return Code, (code.id, code.name, code.exit, code.meaning, code.remedy, code.severity)


copyreg.pickle(Code, _parts)

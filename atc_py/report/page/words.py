"""Texts of the page: names made harmless, and sentences in both languages."""

from collections.abc import Collection

from atc_py.diag import Diagnostic
from atc_py.report.tables import Table, clipped
from atc_py.text import in_language

Both = list[str]
"""A text in English and in Chinese."""

_MOST = 2000


def name_text(text: str) -> str:
    """A text of a model as it is shown: control characters as escapes, and not too long."""
    return text if text.isascii() and text.isprintable() and len(text) <= _MOST else clipped(text)


def both(english: str, chinese: str) -> Both:
    return [name_text(english), name_text(chinese)]


def in_both(text: str) -> Both:
    return both(text, in_language(text, "zh"))


def table_json(table: Table, names: Collection[int] = ()) -> dict[str, object]:
    """A table in both languages; columns of `names` stay as they are."""
    return {
        "title": in_both(table.title),
        "head": [in_both(heading) for heading, _ in table.headings()],
        "rows": [
            [both(cell, cell) if at in names else in_both(cell) for at, cell in enumerate(row)]
            for row in table.rows
        ],
    }


def diagnostic_json(diagnostic: Diagnostic) -> dict[str, object]:
    return {
        "code": diagnostic.code.id,
        "name": diagnostic.code.name,
        "message": in_both(diagnostic.message),
        "help": in_both(diagnostic.help or diagnostic.code.remedy),
        "node": None if diagnostic.place is None else diagnostic.place.node,
        "place": "" if diagnostic.place is None else name_text(str(diagnostic.place)),
    }

"""The Chinese of messages: templates of the English texts and theirs, in the form of gettext's .po."""

from __future__ import annotations

import functools
import json
import operator
import re
from pathlib import Path

from atc_py.diag.words import Words

__all__ = ["both", "catalog", "chinese"]

_PLACE = re.compile(r"\{(\d+)\}")
_OWN_LETTERS = 8
"""Letters that a template must have of its own to be looked for inside another's values."""
_MOST_PARTS = 8
"""Parts of a text that are looked for one by one."""


@functools.cache
def catalog() -> dict[str, str]:
    """Return the Chinese of each English template; {0}, {1} stand for what is put in."""
    found: dict[str, str] = {}
    for path in sorted(Path(__file__).parent.glob("*.po")):
        english = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            key, _, text = line.partition(" ")
            if key == "msgid":
                english = json.loads(text)
            elif key == "msgstr" and english:
                found[english] = json.loads(text)
    return found


def chinese(text: str) -> str:
    """Return the Chinese of a text that one of the templates makes; any other text unchanged.

    Of several templates the one with most text of its own counts. The time is linear in the text,
    which may carry long names from files.
    """
    return _translated(text, 0)


def both(text: str) -> Words:
    """Return a text of atc-py in both languages."""
    return Words(text, chinese(text))


def _translated(text: str, letters: int) -> str:
    """Return the Chinese of a text, by templates with at least that many letters of their own."""
    exact = catalog().get(text)
    if exact is not None:
        return exact
    joined = _translated_parts(text, letters)
    if joined is not None:
        return joined
    for own, pieces, translation in _templates():
        if own < letters:
            break
        values = _values(pieces, text)
        if values is not None:
            return _filled(translation, values)
    return text


def _translated_parts(text: str, letters: int) -> str | None:
    """Return the Chinese of reasons that are joined by `; `; None if one of them has none."""
    parts = text.split("; ")
    if len(parts) == 1 or len(parts) > _MOST_PARTS:
        return None
    found = [_translated(part, letters) for part in parts]
    return None if any(map(operator.eq, found, parts)) else "；".join(found)


def _filled(translation: str, values: list[str]) -> str:
    """Return a translation with the values at its places."""
    return _PLACE.sub(lambda place: _inner(values[int(place[1])]), translation)


def _inner(value: str) -> str:
    """Return what is put into a text; it may be a message itself, such as a reason."""
    return _translated(value, _OWN_LETTERS) if " " in value else value


@functools.cache
def _templates() -> tuple[tuple[int, list[str], str], ...]:
    """Return templates with places as (own letters, texts around the places, Chinese), longest first."""
    rows = []
    for english, translation in catalog().items():
        pieces = _PLACE.split(english)[::2]
        if len(pieces) > 1:
            own = sum(each.isalpha() for piece in pieces for each in piece)
            rows.append((own, pieces, translation))
    return tuple(sorted(rows, key=lambda row: -row[0]))


def _values(pieces: list[str], text: str) -> list[str] | None:
    """Return what stands between the pieces in a text, or None if the text has other ones."""
    at, end = len(pieces[0]), len(text) - len(pieces[-1])
    if at > end or not text.startswith(pieces[0]) or not text.endswith(pieces[-1]):
        return None
    values = []
    for piece in pieces[1:-1]:
        found = text.find(piece, at, end)
        if found < 0:
            return None
        values.append(text[at:found])
        at = found + len(piece)
    return [*values, text[at:end]]

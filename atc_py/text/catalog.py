"""The catalogs: beside this file one `.po` of gettext for each language but English."""

import functools
import json
import os
import re
from pathlib import Path

_FOLDER = Path(__file__).parent
ENGLISH = "en"
LANGUAGES = (
    ENGLISH,
    *sorted(name[:-3] for name in os.listdir(_FOLDER) if name.endswith(".po")),  # noqa: PTH208
)
"""English, in which texts are written, and the languages of the catalogs."""

CONTEXT = "\x04"
"""Stands between the context of a template and the template, as in gettext."""

_ENTRY = re.compile(r'^(?:msgctxt (".*")\n)?msgid ((?:".*"\n)+)msgstr ((?:".*"\n?)+)', re.MULTILINE)
_LINE = re.compile(r'".*"')


@functools.cache
def catalog(language: str) -> dict[str, str]:
    """The translation of each template; the first call for a language reads its file."""
    text = (_FOLDER / f"{language}.po").read_text(encoding="utf-8")
    entries = {}
    for context, template, translation in _ENTRY.findall(text):
        key = _string(template)
        entries[f"{_string(context)}{CONTEXT}{key}" if context else key] = _string(translation)
    del entries[""]  # the head of the file
    return entries


def _string(lines: str) -> str:
    parts = _LINE.findall(lines)
    return "".join(json.loads(part) if "\\" in part else part[1:-1] for part in parts)

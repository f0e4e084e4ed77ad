"""A text of atc-py: English as it is written, and what another language makes of it.

The English of a text is its template, with places in braces: `Text("{n} nodes", n=3)`. Its
translation is looked up by the template, in the catalog of the language, and has the same places.
A `Text` is a `str`, its English. What `+` and `join` make of it is a `Text` again; formatted into
another string it leaves that a plain one, in English.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self


_PLACE = re.compile(r"\{( ?)([a-z]\w*)\}")
"""A place; `{ name}` sets a blank before what begins with a Latin letter, as Chinese does."""

_WRITTEN: dict[str, Text] = {}
"""Texts by the sentences that files have of them: a model is often looked at where it was made."""

_MOST_WRITTEN = 10_000


class Text(str):
    """A text in every language; not to be changed.

    Attributes:
        template: the English, with `{name}` where a value goes.
        context: tells it from an equal template that is translated in another way, or "".
        values: a string for each name; a `Text` is translated with the whole, others are names and
            numbers, which read the same in each language.
    """

    __slots__ = ("context", "template", "values")

    template: str
    context: str
    values: Mapping[str, str]

    def __new__(cls, template: str, /, *, context: str = "", **values: object) -> Self:
        """Fill the template; without values it is the text, braces and all; a `Text` stays."""
        if isinstance(template, cls) and not values:
            return template
        texts: dict[str, str] = {}
        if values:
            texts = {name: v if isinstance(v, str) else _said_by(v) for name, v in values.items()}
        text = str.__new__(cls, _filled(template, texts) if texts else template)
        text.template, text.context, text.values = template, context, texts
        return text

    @property
    def en(self) -> str:
        """The English."""
        return str(self)

    @property
    def zh(self) -> str:
        """The Chinese."""
        return self.in_language("zh")

    def in_language(self, language: str) -> str:
        """Say it in one of LANGUAGES; in English where the catalog lacks it."""
        if language == ENGLISH:
            return str(self)
        key = f"{self.context}{CONTEXT}{self.template}" if self.context else self.template
        template = catalog(language).get(key, self.template)
        values = {name: _said(value, language) for name, value in self.values.items()}
        return _filled(template, values)

    def as_json(self) -> dict[str, str]:
        """The text in each language, by the language."""
        return {language: self.in_language(language) for language in LANGUAGES}

    def with_values(self, **values: object) -> Text:
        """The text with values in its places."""
        return made_text(self.template, self.context, values)

    def __add__(self, other: str) -> Text:
        return _Joined("", self, other)

    def __radd__(self, other: str) -> Text:
        return _Joined("", other, self)

    def join(self, parts: Iterable[str], /) -> Text:
        """Join the parts with this text between them."""
        return _Joined(self, *parts)

    def __reduce__(self) -> tuple[Callable[..., Text], tuple[object, ...]]:
        return made_text, (self.template, self.context, dict(self.values))


class _Joined(Text):
    """Parts with a separator between them; any of these may be a `Text`."""

    __slots__ = ("parts", "separator")

    parts: tuple[str, ...]
    separator: str

    def __new__(cls, separator: str, /, *parts: str) -> Self:
        text = super().__new__(cls, str.join(separator, parts))
        text.separator, text.parts = separator, parts
        return text

    def in_language(self, language: str) -> str:
        return _said(self.separator, language).join(_said(part, language) for part in self.parts)

    def __reduce__(self) -> tuple[Callable[..., Text], tuple[object, ...]]:
        return joined_text, (self.separator, *self.parts)


class Words(Text):
    """A text whose Chinese comes with it, as from YAML."""

    __slots__ = ("_zh",)

    _zh: str

    def __new__(cls, en: str, zh: str) -> Self:
        """Take both as they are."""
        text = super().__new__(cls, en)
        text._zh = zh
        return text

    def in_language(self, language: str) -> str:
        """Say the one of both, or English."""
        return self._zh if language == "zh" else str(self)

    def __reduce__(self) -> tuple[Callable[..., Text], tuple[object, ...]]:
        return Words, (str(self), self._zh)


def plural(n: int, one: str, many: str, /, **values: object) -> Text:
    """Make a text of one of two templates, with `{n}` for the number."""
    template = one if n == 1 else many
    if isinstance(template, Text):
        return template.with_values(n=n, **values)
    return made_text(template, "", {"n": n, **values})


def one_of(names: Iterable[str]) -> Text:
    """Name those of which one is meant: `a, b or c`."""
    return _listed(tuple(names), Text(", ", context="or"), Text(" or "))


def all_of(names: Iterable[str]) -> Text:
    """Name those that are meant together: `a, b and c`."""
    return _listed(tuple(names), Text(", ", context="and"), Text(" and ", context="and"))


def _listed(names: tuple[str, ...], comma: Text, last: Text) -> Text:
    return last.join(part for part in (comma.join(names[:-1]), *names[-1:]) if part)


def verbatim(value: object) -> Text:
    """Make a text of a name, a number or a dtype, which read the same in each language."""
    return _Joined("", str(value))


def error_text(error: BaseException) -> Text:
    """Make a text of what an exception says."""
    return Text(_said_by(error))


def os_reason(error: OSError) -> Text:
    """Make a text of what the system says of an error."""
    return Text(error.strerror or str(error) or type(error).__name__)


def in_language(text: str, language: str) -> str:
    """Say a text in a language; a plain string is a template without values."""
    if isinstance(text, Text):
        return text.in_language(language)
    return text if language == ENGLISH else catalog(language).get(text, text)


def plain_text(value: object) -> str:
    """Turn a text into a plain string, its English: what encoders of msgspec call."""
    if isinstance(value, Text):
        if len(_WRITTEN) < _MOST_WRITTEN:
            _WRITTEN[str(value)] = value
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} has no form in a file")


def written_text(sentence: str) -> Text | None:
    """The text that a file has as a sentence, if this process has written it."""
    return _WRITTEN.get(sentence)


def _said_by(value: object) -> str:
    """A value as a string; of an exception its text, if it was made with one."""
    if (
        isinstance(value, BaseException)
        and len(value.args) == 1
        and isinstance(value.args[0], Text)
    ):
        return value.args[0]
    return f"{value}"  # numpy's floats in full, as in an f-string


def joined_text(separator: str, *parts: str) -> Text:
    return _Joined(separator, *parts)


def made_text(template: str, context: str, values: Mapping[str, Any]) -> Text:
    return Text(template, context=context, **values)


def _said(value: str, language: str) -> str:
    return value.in_language(language) if isinstance(value, Text) else value


@functools.lru_cache(maxsize=4096)
def _parted(template: str) -> tuple[str, list[tuple[str, str, str, str]]]:
    """The text before the first place; each place as it stands, its blank, its name, what follows."""
    text, *parts = _PLACE.split(template)
    places = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return text, [(f"{{{blank}{name}}}", blank, name, after) for blank, name, after in places]


def _filled(template: str, values: Mapping[str, str]) -> str:
    if not values:
        return template
    text, places = _parted(template)
    for place, blank, name, after in places:
        value = values.get(name, place)
        text += f" {value}{after}" if blank and value[:1].isascii() else value + after
    return text


COLON = Text(": ")
COMMA = Text(", ")
SEMICOLON = Text("; ")
"""Punctuation between a word and what it introduces, and between parts of a sentence."""


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

"""Protobuf's text format, read with the line and column of every field and value.

The reader is our own because later checks name the place of a field, and protobuf's Python reader
keeps no places once the text is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from atc_py.text import Text

_MOST_DEPTH = 8
"""Messages within messages; an AIPP configuration has one level."""

_TOKEN = re.compile(
    r"""
    (?P<blank>[ \t\r\n\f\v]+ | \#[^\n]*)
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<number>(?:0[xX][0-9a-fA-F]+ | (?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fF]?)
        (?![A-Za-z0-9_.]))
    | (?P<string>"(?:[^"\\\n]|\\[^\n])*" | '(?:[^'\\\n]|\\[^\n])*')
    | (?P<mark>[:{}<>\[\],;-])
    """,
    re.VERBOSE,
)
_CLOSING = {"{": "}", "<": ">"}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_LONGEST_SHOWN = 30


class TextPlace(NamedTuple):
    """Line and column, both from 1."""

    line: int
    column: int


class TextFormatError(Exception):
    """The text does not follow the grammar; `place` says where, `field` within which field."""

    def __init__(self, message: Text, place: TextPlace, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.field = field


@dataclass(frozen=True, slots=True)
class TextValue:
    """A value as it is written."""

    text: str  # number with its sign, or name; of a string, its characters
    place: TextPlace  # of its first character
    is_string: bool = False  # True if it stood in quotes


@dataclass(frozen=True, slots=True)
class TextField:
    """A field as it is written."""

    name: str
    place: TextPlace  # of the name
    values: tuple[TextValue, ...] = ()  # one value, or those of a list
    # fields of the message, in order; None for a field with values
    fields: tuple[TextField, ...] | None = None
    is_list: bool = False  # True if the values stand in brackets


class _Token(NamedTuple):
    """A piece of the text; `kind` is that of the pattern's groups, or "end"."""

    kind: str
    text: str
    place: TextPlace


def _tokens(text: str) -> Iterator[_Token]:
    """Yield the tokens of a text, and last that of its end."""
    at, line, start = 0, 1, 0
    while at < len(text):
        place = TextPlace(line, at - start + 1)
        match = _TOKEN.match(text, at)
        if match is None:
            raise TextFormatError(_unreadable(text, at), place)
        kind, piece = str(match.lastgroup), match[0]
        if kind != "blank":
            yield _Token(kind, piece, place)
        breaks = piece.count("\n")
        if breaks:
            line += breaks
            start = at + piece.rindex("\n") + 1
        at = match.end()
    yield _Token("end", "", TextPlace(line, at - start + 1))


def _unreadable(text: str, at: int) -> Text:
    """The reason why no token starts at that character."""
    if text[at] in "\"'":
        return Text("the string has no closing quote on its line")
    if text[at].isdigit() or text[at] == ".":
        found = re.match(r"[\w.]+", text[at : at + _LONGEST_SHOWN])
        return Text("{found} is not a number", found=repr(found[0] if found else text[at]))
    return Text("the character {found} does not belong here", found=repr(text[at]))


class _Reader:
    def __init__(self, text: str) -> None:
        self._rest = _tokens(text)
        self._next = next(self._rest)
        self._field: str | None = None

    def fields(self, opening: _Token | None, depth: int) -> tuple[TextField, ...]:
        """The fields up to the end of a message that `opening` began, or of the text."""
        if depth > _MOST_DEPTH:
            raise self._error(
                Text("messages are nested more than {most_depth} deep", most_depth=_MOST_DEPTH)
            )
        closing = _CLOSING[opening.text] if opening else ""
        results = []
        while not self._is_mark(closing):
            if opening and self._next.kind == "end":
                text = Text("the `{begin}` of line {line} has no `{closing}`")
                places = {"begin": opening.text, "line": opening.place.line}
                raise self._error(text.with_values(closing=closing, **places))
            results.append(self._one_field(depth))
            if self._is_mark(",") or self._is_mark(";"):
                self._take()
        self._take()
        return tuple(results)

    def _one_field(self, depth: int) -> TextField:
        token = self._next
        if token.kind != "name":
            raise self._error(Text("expected the name of a field"))
        self._field = token.text
        self._take()
        if self._is_mark(":"):
            self._take()
            if not self._is_opening():
                return self._with_values(token)
        elif not self._is_opening():
            raise self._error(Text("expected `:` or `{` after {text}", text=repr(token.text)))
        opening = self._next
        self._take()
        return TextField(token.text, token.place, fields=self.fields(opening, depth + 1))

    def _with_values(self, name: _Token) -> TextField:
        if not self._is_mark("["):
            return TextField(name.text, name.place, (self._value(),))
        self._take()
        values: list[TextValue] = []
        while not self._is_mark("]"):
            if values:
                if not self._is_mark(","):
                    raise self._error(Text("expected `,` or `]` in the list"))
                self._take()
            values.append(self._value())
        self._take()
        return TextField(name.text, name.place, tuple(values), is_list=True)

    def _value(self) -> TextValue:
        token = self._next
        if token.kind == "string":
            parts = []
            while self._next.kind == "string":
                parts.append(_ESCAPE.sub(_unescaped, self._next.text[1:-1]))
                self._take()
            return TextValue("".join(parts), token.place, is_string=True)
        sign = ""
        if self._is_mark("-"):
            sign = "-"
            self._take()
        if self._next.kind not in {"name", "number"}:
            raise self._error(Text("expected a value for {field}", field=repr(self._field)))
        text = sign + self._next.text
        self._take()
        return TextValue(text, token.place)

    def _is_opening(self) -> bool:
        return self._next.kind == "mark" and self._next.text in _CLOSING

    def _is_mark(self, text: str) -> bool:
        """True if the next token is that mark; the empty one is the end of the text."""
        return self._next.kind == ("mark" if text else "end") and self._next.text == text

    def _take(self) -> None:
        if self._next.kind != "end":
            self._next = next(self._rest)

    def _error(self, wanted: Text) -> TextFormatError:
        token = self._next
        shown = token.text[:_LONGEST_SHOWN]
        found = Text(", found {observed}", observed=repr(shown))
        message = wanted + (Text(", the file ends") if token.kind == "end" else found)
        return TextFormatError(message, token.place, self._field)


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return _ESCAPED.get(code, code)


def read_fields(text: str) -> tuple[TextField, ...]:
    """The fields of the outermost message, in order.

    Fields are `name: value`, `name: [value, ...]`, `name { ... }` or `name: { ... }`, also with
    `<` and `>`; a `,` or `;` may follow each. `#` starts a comment.

    Raises:
        TextFormatError: the text does not follow the grammar.
    """
    return _Reader(text).fields(None, 0)

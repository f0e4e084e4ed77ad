"""Numbers of protobuf's text format: float32 values that keep their spelling, and places of fields."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TypeAlias, TypeVar

import numpy as np

from atc_py.diag import AtcError, Code, Place
from atc_py.options.aipp.text_format import (
    TextField,
    TextFormatError,
    TextPlace,
    TextValue,
    read_fields,
)
from atc_py.text import Text

T = TypeVar("T")

_Read: TypeAlias = "Callable[[TextValue], T | None]"
_WHOLE = re.compile(r"-?(0[xX][0-9a-fA-F]{1,16}|[1-9][0-9]{0,18}|0)")
_TRUTH = {"true": True, "t": True, "True": True, "1": True}
_TRUTH |= {"false": False, "f": False, "False": False, "0": False}


class SpelledFloat(float):
    """A float32 that was read from a text and is written as it stood there."""

    __slots__ = ("text",)

    text: str

    @classmethod
    def of(cls, text: str) -> SpelledFloat:
        """The float32 of a text; ValueError for other words."""
        named = text.lower().removeprefix("-") in {"inf", "infinity", "nan"}
        with np.errstate(over="ignore"):
            made = cls(np.float32(float(text if named else text.rstrip("fF"))))
        made.text = text
        return made

    def __reduce__(self) -> tuple[Callable[[str], SpelledFloat], tuple[str]]:
        return SpelledFloat.of, (self.text,)


def spelled(value: float) -> str:
    """A float32 as text: as it was read, or with the fewest digits that give it again."""
    if isinstance(value, SpelledFloat):
        return value.text
    text = str(np.float32(value))
    return text.removesuffix(".0")


class TextFile:
    """A text of fields whose faults have a code and a place."""

    def __init__(self, text: str, path: str | None, code: Code) -> None:
        self._path, self._code = path, code
        try:
            self.fields = read_fields(text)
        except TextFormatError as error:
            raise code.error(error.message, place=self.place(error.place, error.field)) from None

    def place(self, at: TextPlace, field: str | None = None) -> Place:
        return Place(self._path, field=field, line=at.line, column=at.column)

    def message(self, field: TextField) -> tuple[TextField, ...]:
        if field.fields is None:
            raise self.wrong(field, "must be a message in braces")
        return field.fields

    def values(self, field: TextField) -> tuple[TextValue, ...]:
        """The values of a field, one or those of a list."""
        if field.fields is not None:
            raise self.wrong(field, "must be a value")
        return field.values

    def string(self, field: TextField) -> str:
        return self._one(field, _string, Text("a text in quotes"))

    def word(self, field: TextField) -> str:
        """The bare word or the text in quotes of a field."""
        return self._one(field, lambda value: value.text, Text("a word"))

    def truth(self, field: TextField) -> bool:
        return self._one(field, _truth, Text("true or false"))

    def number(self, field: TextField) -> SpelledFloat:
        """The number of a field; it may be infinite or NaN."""
        return self._one(field, _as_float, Text("a number"))

    def decimal(self, field: TextField) -> float:
        """The number of a field as it is written, not rounded to float32."""
        return self._one(field, _as_decimal, Text("a number"))

    def whole(self, field: TextField) -> int:
        return self._one(field, _as_whole, Text("a whole number"))

    def numbers(self, field: TextField) -> list[SpelledFloat]:
        return self._many(field, _as_float, Text("a number"))

    def wholes(self, field: TextField) -> list[int]:
        return self._many(field, _as_whole, Text("a whole number"))

    def strings(self, field: TextField) -> list[str]:
        """The text in quotes or the list of such texts."""
        return self._many(field, _string, Text("a text in quotes"))

    def wrong(self, field: TextField, words: str) -> AtcError:
        return self._code.error(
            Text("{field} {message}", field=field.name, message=Text(words)),
            place=self.place(field.place, field.name),
        )

    def _many(self, field: TextField, read: _Read[T], kind: str) -> list[T]:
        return [self._each(field, value, read, kind) for value in self.values(field)]

    def _one(self, field: TextField, read: _Read[T], kind: str) -> T:
        values = self.values(field)
        if len(values) != 1:
            raise self.wrong(
                field, Text("must be {kind}, found a list of {count}", kind=kind, count=len(values))
            )
        return self._each(field, values[0], read, kind)

    def _each(self, field: TextField, value: TextValue, read: _Read[T], kind: str) -> T:
        result = read(value)
        if result is None:
            raise self.wrong(
                field, Text("must be {kinds}, found {actual}", kinds=kind, actual=repr(value.text))
            )
        return result


def _as_float(value: TextValue) -> SpelledFloat | None:
    try:
        return None if value.is_string else SpelledFloat.of(value.text)
    except ValueError:
        return None


def _as_decimal(value: TextValue) -> float | None:
    result = _as_float(value)
    return result if result is None or not math.isfinite(result) else float(value.text.rstrip("fF"))


def _as_whole(value: TextValue) -> int | None:
    """A whole number of at most 64 bits."""
    if value.is_string or not _WHOLE.fullmatch(value.text):
        return None
    return int(value.text, 0)


def _string(value: TextValue) -> str | None:
    """A text in quotes; escaped bytes beyond ASCII are UTF-8, as protobuf writes them."""
    if not value.is_string:
        return None
    try:
        return value.text.encode("latin-1").decode()
    except UnicodeError:
        return value.text


def _truth(value: TextValue) -> bool | None:
    return None if value.is_string else _TRUTH.get(value.text)


def quoted(text: str) -> str:
    """A text in quotes; what is not printable ASCII is escaped, as protobuf does."""
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "'": "\\'", "\\": "\\\\"}
    made = []
    for char in text:
        if char in named:
            made.append(named[char])
        elif " " <= char <= "~":
            made.append(char)
        else:
            made += [f"\\{byte:03o}" for byte in char.encode()]
    return f'"{"".join(made)}"'

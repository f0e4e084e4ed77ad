"""An AIPP configuration as it is written: typed values, each with its place in the file."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from atc_py.diag import BAD_AIPP, AtcError, AtcFault, Place, nearest
from atc_py.options.aipp.fields import AIPP_FIELDS, AIPP_MODES, AippField, FieldKind, find_field
from atc_py.options.aipp.image_formats import IMAGE_FORMATS, OTHER_FORMATS
from atc_py.options.aipp.text_format import TextField, TextFormatError, TextPlace, TextValue
from atc_py.text import Text

AippValue = bool | int | float | str
"""Value of a field."""

FORMAT_NUMBERS = {row.name: row.number for row in IMAGE_FORMATS} | OTHER_FORMATS
"""Numbers of `input_format` in the grammar, by name."""

_TRUE, _FALSE = {"true", "True", "t", "1"}, {"false", "False", "f", "0"}
_NUMBER = re.compile(
    r"(-?(?:(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan))f?",
    re.IGNORECASE,
)
_SIGNED, _UNSIGNED = (-(2**31), 2**31 - 1), (0, 2**32 - 1)


class GivenField(NamedTuple):
    """A value that the file gives, and the place of the field's name if the file is a text."""

    value: AippValue
    place: TextPlace | None


@dataclass(frozen=True, slots=True)
class AippConfig:
    """One `aipp_op` of a file."""

    # path of the file, as the user gave it; None for values that come from no file
    file: str | None
    place: TextPlace | None  # where the message begins; None where the values come from no text
    given: Mapping[str, GivenField]  # the fields that the file has, by name

    def __contains__(self, name: str) -> bool:
        """True if the file gives the field."""
        return name in self.given

    def __getitem__(self, name: str) -> AippValue:
        """The field's value, or its default where the file has none."""
        if name in self.given:
            return self.given[name].value
        row = find_field(name)
        if row is None:
            raise KeyError(name)
        return row.default

    def integer(self, name: str) -> int:
        return int(self[name])

    def number(self, name: str) -> float:
        return float(self[name])

    def switch(self, name: str) -> bool:
        return bool(self[name])

    def place_of(self, name: str | None = None) -> Place:
        """The place of a field, or of the message where the file does not have it."""
        field = self.given.get(name or "")
        place = field.place if field else self.place
        line, column = place or (None, None)
        return Place(self.file, field=name, line=line, column=column)

    def error(
        self,
        message: Text,
        field: str | None = None,
        help: Text | None = None,  # noqa: A002  (the word of diagnostics)
        atc: AtcFault | None = None,
    ) -> AtcError:
        """Build the error for a fault of this configuration; ATC's code is E10052 unless given."""
        return BAD_AIPP.error(
            message,
            place=self.place_of(field),
            help=help,
            atc=atc or AtcFault("E10052", (message,)),
        )


def config_of_fields(file: str, place: TextPlace, fields: Iterable[TextField]) -> AippConfig:
    given: dict[str, GivenField] = {}
    twice: list[str] = []
    for field in fields:
        row = find_field(field.name)
        if row is None:
            raise unknown_field(field.name, field.place)
        if field.fields is not None:
            raise TextFormatError(
                Text(
                    "{field} takes {kind}, found a message",
                    field=repr(field.name),
                    kind=row.kind.value,
                ),
                field.place,
                field.name,
            )
        if field.is_list and not row.repeated:
            raise TextFormatError(
                Text("{field} takes one value, found a list", field=repr(field.name)),
                field.place,
                field.name,
            )
        if field.name in given and not row.repeated:
            raise TextFormatError(
                Text("{field} is given a second time", field=repr(field.name)),
                field.place,
                field.name,
            )
        for value in field.values:
            typed = typed_value(row, value)
            twice += [field.name] if field.name in given else []
            given[field.name] = GivenField(typed, field.place)
    config = AippConfig(file, place, given)
    if twice:
        raise config.error(
            Text("{twice} has more than one value; it takes one", twice=repr(twice[0])), twice[0]
        )
    return config


def unknown_field(name: str, place: TextPlace) -> TextFormatError:
    near = nearest(name, (row.name for row in AIPP_FIELDS), 1)
    hint = Text("; did you mean {near}?", near=repr(near[0])) if near else ""
    shown = name if len(name) <= 40 else f"{name[:40]}..."  # noqa: PLR2004  (for the eye)
    text = Text("`aipp_op` has no field {name}{hint}", name=repr(shown), hint=hint)
    return TextFormatError(text, place, name[:40])


def typed_value(row: AippField, value: TextValue) -> AippValue:
    typed = None
    if value.is_string == (row.kind is FieldKind.STRING):
        typed = _READERS[row.kind](value.text)
    if typed is None:
        shown = repr(value.text[:30]) if value.is_string else value.text[:30]
        names = tuple(_ENUMS.get(row.kind, ()))
        known = Text(", one of {names}", names=", ".join(names)) if names else ""
        text = Text("{name} takes {type}{known}, found {found}")
        values = {"type": _type_words(row.kind), "known": known, "found": shown}
        raise TextFormatError(
            text.with_values(name=repr(row.name), **values), value.place, row.name
        )
    return typed


def _type_words(kind: FieldKind) -> Text:
    bounds = {FieldKind.INT: _SIGNED, FieldKind.UINT: _UNSIGNED}.get(kind)
    if bounds is None:
        return {FieldKind.FLOAT: Text("a number"), FieldKind.MODE: Text("a mode")}.get(
            kind, Text(kind.value)
        )
    return Text("a whole number in {range}", range=f"[{bounds[0]}, {bounds[1]}]")


_ENUMS: dict[FieldKind, dict[str, int]] = {
    FieldKind.MODE: AIPP_MODES,
    FieldKind.FORMAT: {"undefined": 0} | FORMAT_NUMBERS,
}


def _whole(text: str, bounds: tuple[int, int]) -> int | None:
    """A decimal, octal or hexadecimal number within bounds, or None."""
    digits = text.removeprefix("-")
    base = 16 if digits[:2] in {"0x", "0X"} else 8 if digits[:1] == "0" else 10
    try:
        number = int(text, base) if digits[:1].isdigit() and len(digits) <= 20 else None  # noqa: PLR2004
    except ValueError:
        return None
    return number if number is not None and bounds[0] <= number <= bounds[1] else None


def _float(text: str) -> float | None:
    """A number; infinities and NaN are read, and refused by the checks of ranges."""
    match = _NUMBER.fullmatch(text)
    return None if match is None else float(match[1])


def _bool(text: str) -> bool | None:
    return True if text in _TRUE else False if text in _FALSE else None


def _enum(kind: FieldKind, text: str) -> str | None:
    """The name of an enum's value, which may be given by number; its digits if unknown."""
    numbers = _ENUMS[kind]
    if text in numbers:
        return "" if text == "undefined" and kind is FieldKind.FORMAT else text
    number = _whole(text, _SIGNED)
    if number is None:
        return None
    names = {number: name for name, number in numbers.items()}
    return _enum(kind, names[number]) if number in names else str(number)


_READERS: dict[FieldKind, Callable[[str], AippValue | None]] = {
    FieldKind.INT: lambda text: _whole(text, _SIGNED),
    FieldKind.UINT: lambda text: _whole(text, _UNSIGNED),
    FieldKind.FLOAT: _float,
    FieldKind.BOOL: _bool,
    FieldKind.MODE: lambda text: _enum(FieldKind.MODE, text),
    FieldKind.FORMAT: lambda text: _enum(FieldKind.FORMAT, text),
    FieldKind.STRING: lambda text: text,
}

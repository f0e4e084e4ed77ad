"""Settings of dynamic AIPP in the form of ais_bench: a section [aipp_op] of `key : value` lines."""

import re

from atc_py.aipp.config import AippConfig, GivenField, typed_value, unknown_field
from atc_py.aipp.fields import FieldKind, find_field
from atc_py.aipp.text_format import TextFormatError, TextPlace, TextValue
from atc_py.diag import Place
from atc_py.diag.codes import BAD_AIPP
from atc_py.text import Text

_SECTION = "aipp_op"
_LINE = re.compile(r"\s*(?P<name>[^\s:=#;]+)\s*[:=]\s*(?P<value>[^#;]*?)\s*(?:[#;].*)?")
_NOTHING = re.compile(r"\s*(?:[#;].*)?")
_HEAD = re.compile(r"\s*\[\s*([^\]]*?)\s*\]\s*(?:[#;].*)?")


def is_ini(text: str) -> bool:
    """Return True if the first line that says something is the head of a section."""
    lines = (line for line in text.splitlines() if not _NOTHING.fullmatch(line))
    return next(lines, "").lstrip().startswith("[")


def parse_ini(path: str, text: str) -> AippConfig:
    """Return the settings of the section [aipp_op].

    Keys are the fields of the configuration file, switches are 0 or 1. A key may be repeated with
    the same value, as a published example does.

    Raises:
        AtcError: BAD_AIPP with the line and the key.
    """
    begin: TextPlace | None = None
    given: dict[str, GivenField] = {}
    try:
        for number, line in enumerate(text.splitlines(), 1):
            if _NOTHING.fullmatch(line):
                continue
            head = _HEAD.fullmatch(line)
            if head is None:
                _add(given, line, number, begin)
            else:
                begin = _begin(head, number, begin)
    except TextFormatError as error:
        found = error.place
        place = Place(path, field=error.field, line=found.line, column=found.column)
        raise BAD_AIPP.error(error.message, place=place) from None
    return AippConfig(path, begin, given)


def _begin(head: re.Match[str], number: int, begin: TextPlace | None) -> TextPlace:
    """Return the place of a section's head, which must be the only one."""
    place = TextPlace(number, head.start(1) + 1)
    if head[1] != _SECTION or begin is not None:
        raise TextFormatError(
            f"expected one section [{_SECTION}], found another head [{head[1][:30]}]", place
        )
    return place


def _add(given: dict[str, GivenField], line: str, number: int, begin: TextPlace | None) -> None:
    """Add the value that a line gives."""
    match = _LINE.fullmatch(line)
    if match is None or begin is None:
        column = len(line) - len(line.lstrip()) + 1
        expected = "`key : value`" if begin else f"[{_SECTION}]"
        raise TextFormatError(
            Text(
                "expected {expected}, found {line}", expected=expected, line=repr(line.strip()[:30])
            ),
            TextPlace(number, column),
        )
    name, place = match["name"], TextPlace(number, match.start("name") + 1)
    row = find_field(name)
    if row is None:
        raise unknown_field(name, place)
    value = TextValue(
        match["value"], TextPlace(number, match.start("value") + 1), row.kind is FieldKind.STRING
    )
    typed = typed_value(row, value)
    if name in given and given[name].value != typed:
        raise TextFormatError(f"{name!r} is given a second time, with another value", place, name)
    given[name] = GivenField(typed, place)

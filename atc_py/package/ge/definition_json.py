"""The JSON of an offline model, as atc's mode 1 writes it, encoded as the message that it was made of.

Fields go by the table in `schema`: a map is a list of keys and values, a lone float may be text, and
enums have their names. Weights, sizes and tasks are not in the JSON.
"""

import math
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from atc_py.diag import BAD_MODEL_JSON, AtcError, Place
from atc_py.package.ge.schema import DATA_TYPES, LIST_TYPES, MESSAGES, GeFieldRow, field_rows
from atc_py.system.input_files import read_bytes
from atc_py.system.wire import FIXED32, VARINT, bytes_field, encode_varint, tag
from atc_py.text import Text

_MOST_BYTES = 512 << 20
_DEEPEST = 24
_MODEL = "ModelDef"
_ENUMS = {
    "DataType": {name: at for at, name in enumerate(DATA_TYPES)},
    "ListValueType": {name: at for at, name in enumerate(LIST_TYPES)},
}
_WORD = 1 << 64


class _EncodeError(ValueError):
    """A value does not fit its field; the text says which."""

    def __init__(self, reason: Text) -> None:
        super().__init__(reason)


def read_definition(path: Path) -> bytes:
    data = read_bytes(path, _MOST_BYTES)
    try:
        document = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise _refusal(path, Text("it is not JSON: {error}", error=error)) from error
    if not isinstance(document, dict) or not isinstance(document.get("graph"), list):
        raise _refusal(path, Text("it is JSON without a list of graphs"))
    try:
        return _message(_MODEL, document, 0)
    except _EncodeError as error:
        raise _refusal(path, error.args[0]) from error


def _refusal(path: Path, message: Text) -> AtcError:
    return BAD_MODEL_JSON.error(
        message,
        place=Place(str(path)),
        help=Text("write it with `atc --mode=1 --om=MODEL.om --json=MODEL.json`"),
    )


def _message(kind: str, value: Mapping[str, Any], depth: int) -> bytes:
    if depth > _DEEPEST:
        raise _EncodeError(Text("messages in it are nested deeper than {most}", most=_DEEPEST))
    parts = []
    for row in field_rows(kind):
        given = value.get(row.name)
        if given is not None:
            parts.append(_field(row, given, depth))
    return b"".join(parts)


def _field(row: GeFieldRow, given: object, depth: int) -> bytes:
    kind = row.kind.lstrip("|")
    if kind.startswith("<>"):
        items = _listed(row, given)
        return b"".join(_entry(row, kind[2:], item, depth) for item in items)
    if kind.startswith("*"):
        items = _listed(row, given)
        return b"".join(_single(row, kind[1:], item, depth) for item in items)
    return _single(row, kind, given, depth)


def _listed(row: GeFieldRow, given: object) -> list[Any]:
    if not isinstance(given, list):
        raise _unfit(row, given)
    return given


def _unfit(row: GeFieldRow, given: object) -> _EncodeError:
    shown = type(given).__name__ if isinstance(given, dict | list) else repr(given)[:80]
    return _EncodeError(Text("field {name} cannot be {given}", name=repr(row.name), given=shown))


def _entry(row: GeFieldRow, kind: str, item: object, depth: int) -> bytes:
    """An entry of a map; a value without content is absent."""
    if not isinstance(item, dict) or not isinstance(item.get("key"), str):
        raise _unfit(row, item)
    body = bytes_field(1, _utf8(item["key"]))
    value = item.get("value")
    if value is not None:
        body += _single(GeFieldRow("value", 2, kind), kind, value, depth)
    return bytes_field(row.number, body)


def _single(row: GeFieldRow, kind: str, given: object, depth: int) -> bytes:
    if kind in MESSAGES:
        if given is None:
            return bytes_field(row.number, b"")
        if not isinstance(given, dict):
            raise _unfit(row, given)
        return bytes_field(row.number, _message(kind, given, depth + 1))
    return _SCALARS.get(kind, _number)(row, kind, given)


def _text(row: GeFieldRow, _kind: str, given: object) -> bytes:
    if not isinstance(given, str):
        raise _unfit(row, given)
    return bytes_field(row.number, _utf8(given))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _real(row: GeFieldRow, _kind: str, given: object) -> bytes:
    """A float: a number, text of one, or null for one that JSON cannot name."""
    try:
        value = math.nan if given is None else float(given)  # type: ignore[arg-type]
        packed = struct.pack("<f", value)
    except (OverflowError, TypeError, ValueError):
        raise _unfit(row, given) from None
    return tag(row.number, FIXED32) + packed


def _enum(row: GeFieldRow, kind: str, given: object) -> bytes:
    known = _ENUMS[kind].get(given) if isinstance(given, str) else None
    return _number(row, kind, given if known is None else known)


def _number(row: GeFieldRow, _kind: str, given: object) -> bytes:
    """An integer or a truth value; text of one is taken, too."""
    if isinstance(given, str) and given.removeprefix("-").isdecimal() and len(given) <= 20:  # noqa: PLR2004
        given = int(given)
    if not isinstance(given, int) or not -_WORD < given < _WORD:
        raise _unfit(row, given)
    return tag(row.number, VARINT) + encode_varint(given % _WORD)


_SCALARS: dict[str, Callable[[GeFieldRow, str, object], bytes]] = {
    "string": _text,
    "bytes": _text,
    "float": _real,
    "DataType": _enum,
    "ListValueType": _enum,
}

"""Protobuf messages as JSON values, by the rules of ATC's mode 1.

The rules are ATC's, read in its source [proven]: a field appears where it is present, and under its
own name; enums by name; bytes as C-escaped text; a lone float as text of `%g`, floats of a list as
numbers. A lone double is left out and doubles of a list are null, as are messages without content
in a list and messages nested deeper than 20. ATC reads ONNX's messages with a schema in which a
scalar without presence of its own appears where it is not zero; so it is here.
"""

import json
import math
from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeAlias

import onnx
from google.protobuf.descriptor import FieldDescriptor  # type: ignore[import-untyped]
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from atc_py.diag import NOT_ONNX, Place
from atc_py.system.input_files import read_bytes
from atc_py.system.json_text import escaped
from atc_py.system.memory_limit import require_memory
from atc_py.text import Text

Json: TypeAlias = "dict[str, Any] | list[Any] | str | int | float | bool | None"


_DEPTH = 20
"""Messages nested deeper are null."""

_FLOAT_TEXT = 9
"""Characters that the text of a float has at most; where it needs more, the number stands instead."""

_PIECE = 1 << 20
"""Bytes that are escaped at a time."""

_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t", '"': r"\"", "'": r"\'", "\\": r"\\"}
_ESCAPED = [
    _ESCAPES.get(chr(code)) or (chr(code) if 0x20 <= code < 0x7F else f"\\{code:03o}")  # noqa: PLR2004
    for code in range(256)
]
"""Text of each byte, as C writes it."""

_STRINGS = {FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES}

_MOST = 2**31 - 1
"""Bytes of a file that protobuf reads."""

_GROWTH = 12
"""Bytes of memory for each byte of the file: weights become escaped text, which is escaped again."""


def onnx_graph_json(path: Path) -> Json:
    """The graph of an ONNX file; weights in other files stay there.

    Raises:
        AtcError: FILE_NOT_FOUND, FILE_UNREADABLE, FILE_TOO_LARGE, MEMORY_LIMIT, or NOT_ONNX.
    """
    data = read_bytes(path, _MOST)
    place = Place(file=str(path))
    require_memory(len(data) * _GROWTH, Text("the JSON text of the model"), place)
    try:
        model = onnx.ModelProto.FromString(data)
    except DecodeError as error:
        raise NOT_ONNX.error(Text("protobuf cannot make a model of it"), place=place) from error
    if not model.HasField("graph"):
        raise NOT_ONNX.error(Text("it holds no graph"), place=place)
    return message_json(model.graph)


def message_json(message: Any, dropped: Collection[str] = (), *, enum_names: bool = True) -> Json:
    """A message as JSON values; None for one that has no field to show.

    Fields named in `dropped` are left out wherever they stand; enums are shown by name, else by
    number.
    """
    return _Converter(frozenset(dropped), enum_names).message(message, 0)


def json_text(value: Json) -> str:
    """The text of mode 1: keys in order, two spaces a level, no line break at the end."""
    return escaped(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False))


class _Converter:
    """The rules, with the choices of one conversion."""

    def __init__(self, dropped: frozenset[str], enum_names: bool) -> None:
        self._dropped = dropped
        self._enum_names = enum_names

    def message(self, message: Any, depth: int) -> Json:
        if depth > _DEPTH:
            return None
        shown: dict[str, Any] = {}
        for field, value in message.ListFields():
            is_plain = not _is_repeated(field) and field.type != FieldDescriptor.TYPE_MESSAGE
            is_absent = is_plain and field.containing_oneof is None and not value
            if is_absent or field.name in self._dropped:
                continue
            kind = field.message_type
            if kind is not None and kind.GetOptions().map_entry:
                shown[field.name] = [
                    self._entry(field, value, key, depth + 1) for key in sorted(value)
                ]
            elif _is_repeated(field):
                shown[field.name] = [self._item(field, item, depth + 1) for item in value]
            elif field.type == FieldDescriptor.TYPE_MESSAGE:
                if value.ByteSize():
                    shown[field.name] = self.message(value, depth + 1)
            elif field.type != FieldDescriptor.TYPE_DOUBLE:
                shown[field.name] = self._scalar(field, value)
        return shown or None

    def _entry(self, field: Any, values: Any, key: Any, depth: int) -> Json:
        """An entry of a map: its key, and its value where that has content."""
        row = field.message_type.fields_by_name["value"]
        value = values[key]
        if row.type != FieldDescriptor.TYPE_MESSAGE:
            return {"key": key, "value": self._scalar(row, value)}
        if not value.ByteSize():
            return {"key": key}
        return {"key": key, "value": self.message(value, depth + 1)}

    def _item(self, field: Any, item: Any, depth: int) -> Json:
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            return self.message(item, depth) if item.ByteSize() else None
        if field.type == FieldDescriptor.TYPE_DOUBLE:
            return None
        if field.type == FieldDescriptor.TYPE_FLOAT:
            return item if math.isfinite(item) else None
        if field.type in _STRINGS:
            return _decoded(item)
        return self._scalar(field, item)

    def _scalar(self, field: Any, value: Any) -> Json:
        if field.type == FieldDescriptor.TYPE_FLOAT:
            text = f"{value:g}"
            shown: str | float = text if len(text) <= _FLOAT_TEXT else value
            return shown
        if field.type == FieldDescriptor.TYPE_BYTES:
            pieces = (value[start : start + _PIECE] for start in range(0, len(value), _PIECE))
            escaped_bytes = ["".join([_ESCAPED[code] for code in piece]) for piece in pieces]
            return "".join(escaped_bytes)
        if field.type == FieldDescriptor.TYPE_STRING:
            return _decoded(value)
        if field.type == FieldDescriptor.TYPE_ENUM and self._enum_names:
            row = field.enum_type.values_by_number.get(value)
            return str(value) if row is None else str(row.name)
        number: int | bool = value
        return number


def _is_repeated(field: Any) -> bool:
    """True for a field with a list of values; older versions of protobuf have labels alone."""
    repeated = getattr(field, "is_repeated", None)
    return bool(field.label == FieldDescriptor.LABEL_REPEATED if repeated is None else repeated)


def _decoded(value: str | bytes) -> str:
    """Text without what is not UTF-8 in it."""
    data = value if isinstance(value, bytes) else value.encode("utf-8", "ignore")
    return data.decode("utf-8", "ignore")

"""Messages in files of Huawei's atc, which decode a field when it is asked for; attributes.

A message keeps the places of its fields. Numbers of fields are those of the table in `schema`.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

from atc_py.package.ge.names import GeNameTable
from atc_py.package.ge.schema import DATA_TYPES, MESSAGES, field_numbers, field_rows
from atc_py.package.ge.source import ByteSpan, GeSource, span_of
from atc_py.system.wire import BYTES, FIXED32, WireField

GeValue: TypeAlias = (
    "str | int | float | bool | bytes | GeTensorDesc | GeTensor | GeMessage | "
    "tuple[GeValue, ...] | None"
)
"""Value of an attribute; a data type is its number, and None stands for an attribute without any."""

ABSENT = "FORMAT_RESERVED"
"""Layout of the descriptor of an optional input that is not there."""


_CLASSES: dict[str, Callable[[GeSource, GeNameTable, ByteSpan], Any]] = {}
"""Classes of messages by the name in the table of fields."""


class GeMessage:
    """A message in the file, of a type in the table of fields."""

    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        if "kind" in vars(cls):
            _CLASSES[cls.kind] = cls

    def __init__(self, source: GeSource, names: GeNameTable, span: ByteSpan) -> None:
        self.source = source
        self.names = names
        self.span = span

    @cached_property
    def _fields(self) -> dict[int, list[WireField]]:
        return self.source.kept_fields(self.span)

    def _all(self, name: str) -> list[WireField]:
        return self._fields.get(field_numbers(self.kind)[name], [])

    def _spans(self, name: str) -> list[ByteSpan]:
        return [span_of(field) for field in self._entries(name)]

    def _entries(self, name: str) -> list[WireField]:
        return [field for field in self._all(name) if field.wire == BYTES]

    def _text(self, name: str) -> str:
        texts = self._texts(name)
        return texts[-1] if texts else ""

    def _texts(self, name: str) -> tuple[str, ...]:
        fields = self._all(name)
        return tuple(self.source.text(field) for field in fields if field.wire == BYTES)

    def _number(self, name: str) -> int:
        fields = self._all(name)
        return self.source.number(fields[-1]) if fields else 0

    def _numbers(self, name: str) -> tuple[int, ...]:
        return tuple(_integers(self.source, self._all(name)))


class GeAttributes(Mapping[str, GeValue]):
    """Attributes by name; a value is decoded when it is asked for."""

    def __init__(self, source: GeSource, names: GeNameTable, entries: list[WireField]) -> None:
        self._source, self._names, self._entries = source, names, entries

    @cached_property
    def _places(self) -> dict[str, tuple[WireField, bool]]:
        """The entry of each name, and whether its integers stand for texts."""
        self._source.spend(len(self._entries))
        resolve = self._names.resolve
        places: dict[str, tuple[WireField, bool]] = {}
        for entry in self._entries:
            name, is_text = resolve(self._key(entry))
            places[name] = entry, is_text
        return places

    def _key(self, entry: WireField) -> bytes:
        """The key of an entry, which stands first in it and is mostly short."""
        data, start = self._source.data, entry.body
        if start + 1 < entry.end and data[start] == _KEY_TAG and data[start + 1] <= _SHORT:
            end = start + 2 + data[start + 1]
            if end <= entry.end:
                return data[start + 2 : end]
        fields = self._source.fields(span_of(entry))
        keys = [data[field.body : field.end] for field in fields if field.number == _KEY]
        return keys[-1] if keys else b""

    def __getitem__(self, name: str) -> GeValue:
        entry, is_text = self._places[name]
        value = ByteSpan(entry.end, entry.end)
        for field in self._source.fields(span_of(entry)):
            if field.number == _VALUE and field.wire == BYTES:
                value = span_of(field)
        return _decoded(self._source, self._names, value, is_text=is_text)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def text(self, name: str, default: str = "") -> str:
        """The text of an attribute; the default where it is absent or of another kind."""
        value = self.get(name)
        return value if isinstance(value, str) else default

    def number(self, name: str, default: int = 0) -> int:
        """The integer of an attribute; the default where it is absent or of another kind."""
        value = self.get(name)
        return value if type(value) is int else default

    def flag(self, name: str) -> bool:
        """True if the attribute is there and true."""
        return self.get(name) is True

    def texts(self, name: str) -> tuple[str, ...]:
        """The texts of a list, or of a single text; none where the attribute is of another kind."""
        value = self.get(name)
        if isinstance(value, str):
            return (value,) if value else ()
        items = value if isinstance(value, tuple) else ()
        return tuple(item for item in items if isinstance(item, str))

    def numbers(self, name: str) -> tuple[int, ...]:
        """The integers of a list; none where the attribute is of another kind."""
        value = self.get(name)
        items = value if isinstance(value, tuple) else ()
        return tuple(item for item in items if type(item) is int)


_KEY, _VALUE = 1, 2
"""Fields of an entry of a map."""

_KEY_TAG = _KEY << 3 | BYTES
_SHORT = 0x7F
"""The longest text whose length takes one byte."""


class GeNamed(GeMessage):
    """A message with a name and attributes."""

    @cached_property
    def name(self) -> str:
        return self._text("name")

    @cached_property
    def attributes(self) -> GeAttributes:
        return GeAttributes(self.source, self.names, self._entries("attr"))


class GeFunction(GeNamed):
    """A named list of attributes, as AIPP's settings are."""

    kind = "NamedAttrs"


class GeTensorDesc(GeNamed):
    """Type, shape and place of a tensor, as stored and as the network has it."""

    kind = "TensorDescriptor"

    @property
    def dtype(self) -> str:
        """The dtype by atc-py's name, such as float16; CANN's in lower case where there is none."""
        number = self._number("dtype")
        return dtype_name(DATA_TYPES[number] if 0 <= number < len(DATA_TYPES) else f"DT_{number}")

    @property
    def dims(self) -> tuple[int, ...]:
        """The dims as stored; -1 for one that only the run knows, -2 alone for an unknown rank."""
        at = field_numbers("ShapeDef")["dim"]
        spans = self._spans("shape")
        fields = [field for span in spans for field in self.source.fields(span)]
        return tuple(_integers(self.source, (field for field in fields if field.number == at)))

    @property
    def layout(self) -> str:
        """The storage format by its name: NC1HWC0, FRACTAL_Z, ND, ..."""
        return self._text("layout")

    @property
    def is_absent(self) -> bool:
        return self.layout == ABSENT

    @property
    def origin_dims(self) -> tuple[int, ...]:
        """The dims that the tensor has in the network; those as stored where it does not say."""
        numbers = self.attributes.numbers("origin_shape")
        # Without the flag, dims () are not those of a scalar, but of a tensor that says nothing.
        is_stated = numbers or self.attributes.flag("origin_shape_initialized")
        return numbers if is_stated else self.dims

    @property
    def origin_layout(self) -> str:
        return self.attributes.text("origin_format") or self.layout

    @property
    def size(self) -> int:
        """Bytes in the arena, rounded up to 32 with 32 more."""
        return self._number("size")

    @property
    def weight_size(self) -> int:
        return self._number("weight_size")

    @property
    def data_offset(self) -> int:
        """Place of a constant in the partition of weights."""
        return self._number("data_offset")


class GeTensor(GeMessage):
    """A constant: its descriptor, and its data where the message itself holds them."""

    kind = "TensorDef"

    @cached_property
    def desc(self) -> GeTensorDesc:
        spans = self._spans("desc")
        empty = ByteSpan(self.span.end, self.span.end)
        return GeTensorDesc(self.source, self.names, spans[-1] if spans else empty)

    @property
    def inline(self) -> ByteSpan | None:
        """The data in the message; None of a constant in the partition of weights."""
        spans = self._spans("data")
        return spans[-1] if spans and spans[-1].size else None


_DTYPE_NAMES = {"DT_FLOAT": "float32", "DT_DOUBLE": "float64", "DT_BF16": "bfloat16"}
"""Names of dtypes that are not CANN's in lower case."""


def dtype_name(word: str) -> str:
    """atc-py's name of one of CANN's dtypes, `DT_FLOAT16`."""
    return _DTYPE_NAMES.get(word, word.removeprefix("DT_").lower())


def _decoded(source: GeSource, names: GeNameTable, span: ByteSpan, *, is_text: bool) -> GeValue:
    value: GeValue = None
    for field in source.fields(span):
        value = _member(source, names, field, is_text=is_text)
    return value


_ATTR = {number: name for name, number in field_numbers("AttrDef").items()}
_LIST = {number: name for name, number in field_numbers("ListValue").items()}
_MESSAGES = {
    row.name: row.kind.lstrip("*|")
    for kind in ("AttrDef", "ListValue")
    for row in field_rows(kind)
    if row.kind.lstrip("*|") in MESSAGES
}
"""Messages that values of attributes are, by the field that has them."""


def _member(source: GeSource, names: GeNameTable, field: WireField, *, is_text: bool) -> GeValue:
    name = _ATTR.get(field.number, "")
    if name == "list" and field.wire == BYTES:
        return _list(source, names, span_of(field), is_text=is_text)
    if name in {"list_list_int", "list_list_float"} and field.wire == BYTES:
        rows: list[GeValue] = []
        count = 0
        for row in source.fields(span_of(field)):
            fields = source.fields(span_of(row)) if row.wire == BYTES else ()
            if name == "list_list_int":
                numbers: list[int | float] = list(_integers(source, fields))
            else:
                numbers = [number for inner in fields for number in source.floats(inner)]
            rows.append(tuple(numbers))
            count += len(numbers) + 1
            source.check_count(count)
        return tuple(rows)
    return _single(source, names, name, field, is_text=is_text)


def _single(
    source: GeSource, names: GeNameTable, name: str, field: WireField, *, is_text: bool
) -> GeValue:
    """A text, number or message; None for a field that is not known or has another wire type."""
    if field.wire == BYTES:
        return _bytes(source, names, name, field)
    if name == "f" and field.wire == FIXED32:
        number: float = struct.unpack_from("<f", source.data, field.body)[0]
        return number
    if name not in {"b", "i", "dt"} or field.wire:
        return None
    integer = source.number(field)
    if name == "b":
        return bool(integer)
    return names.text(integer) if is_text else integer


def _bytes(source: GeSource, names: GeNameTable, name: str, field: WireField) -> GeValue:
    if name in _MESSAGES:
        message: GeValue = _CLASSES[_MESSAGES[name]](source, names, span_of(field))
        return message
    if name in {"s", "expression"}:
        return source.text(field)
    return source.data[field.body : field.end] if name == "bt" else None


def _list(source: GeSource, names: GeNameTable, span: ByteSpan, *, is_text: bool) -> GeValue:
    items: list[GeValue] = []
    for field in source.fields(span):
        name = _LIST.get(field.number, "")
        if name in {"i", "dt", "b"}:
            numbers = list(_integers(source, [field]))
            if name == "b":
                items += map(bool, numbers)
            else:
                items += map(names.text, numbers) if is_text else numbers
        elif name == "f":
            items += source.floats(field)
        elif name not in {"", "val_type"}:
            items.append(_single(source, names, name, field, is_text=is_text))
        source.check_count(len(items))
    return tuple(items)


def _integers(source: GeSource, fields: Iterable[WireField]) -> Iterator[int]:
    count = 0
    for field in fields:
        for number in source.numbers(field):
            count += 1
            source.check_count(count)
            yield number

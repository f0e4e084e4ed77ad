"""The messages of ATC's models, `ModelDef` and its parts, as protobuf classes.

The classes are made from the table of fields when they are first asked for.
"""

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # type: ignore[import-untyped]

from atc_py.package.ge.schema import DATA_TYPES, LIST_TYPES, MESSAGES, GeFieldRow, field_rows

_PACKAGE = "ge.proto"
_ENUMS = {"DataType": DATA_TYPES, "ListValueType": LIST_TYPES}
_ROW = descriptor_pb2.FieldDescriptorProto


@cache
def model_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="atc_py/ge_ir.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, values in _ENUMS.items():
        row = file.enum_type.add(name=name)
        for number, value in enumerate(values):
            row.value.add(name=value, number=number)
    for name in MESSAGES:
        _add_message(file.message_type.add(name=name), field_rows(name))
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    descriptor = pool.FindMessageTypeByName(f"{_PACKAGE}.ModelDef")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)  # before protobuf 4.22


def _add_message(message: Any, rows: tuple[GeFieldRow, ...]) -> None:
    for name, number, kind in rows:
        field = message.field.add(name=name, number=number, label=_ROW.LABEL_OPTIONAL)
        if kind.startswith("*"):
            field.label = _ROW.LABEL_REPEATED
        if kind.startswith("|"):
            if not message.oneof_decl:
                message.oneof_decl.add(name="value")
            field.oneof_index = 0
        if kind.startswith("<>"):
            _set_type(field, _add_entry(message, name, kind[2:]))
            field.label = _ROW.LABEL_REPEATED
        else:
            _set_type(field, kind.lstrip("*|"))


def _add_entry(message: Any, name: str, kind: str) -> str:
    """Add the message of a map's entries; return its name."""
    entry = message.nested_type.add(name="".join(map(str.capitalize, f"{name}_entry".split("_"))))
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=_ROW.LABEL_OPTIONAL, type=_ROW.TYPE_STRING)
    _set_type(entry.field.add(name="value", number=2, label=_ROW.LABEL_OPTIONAL), kind)
    return f"{message.name}.{entry.name}"


def _set_type(field: Any, kind: str) -> None:
    if kind in _ENUMS:
        field.type, field.type_name = _ROW.TYPE_ENUM, f".{_PACKAGE}.{kind}"
    elif kind[0].isupper():
        field.type, field.type_name = _ROW.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
    else:
        field.type = getattr(_ROW, f"TYPE_{kind.upper()}")

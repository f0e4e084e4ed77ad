"""The messages of ATC's models, `ModelDef` and its parts, as protobuf classes.

The table has the names, numbers and types of the fields as the files of ATC have them [proven]; the
classes are made from it when they are first asked for. `*` stands for a list, `<>` for a map with
text as keys, `|` for a member of the message's oneof `value`.
"""

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # type: ignore[import-untyped]

_PACKAGE = "ge.proto"

_DATA_TYPE_WORDS = (
    "UNDEFINED FLOAT FLOAT16 INT8 UINT8 INT16 UINT16 INT32 INT64 UINT32 UINT64 BOOL DOUBLE STRING "
    "DUAL_SUB_INT8 DUAL_SUB_UINT8 COMPLEX64 COMPLEX128 QINT8 QINT16 QINT32 QUINT8 QUINT16 RESOURCE "
    "STRING_REF DUAL VARIANT BF16 INT4 UINT1 INT2 UINT2 COMPLEX32 HIFLOAT8 FLOAT8_E5M2 "
    "FLOAT8_E4M3FN FLOAT8_E8M0 FLOAT6_E3M2 FLOAT6_E2M3 FLOAT4_E2M1 FLOAT4_E1M2"
)
_LIST_WORDS = "NONE STRING INT FLOAT BOOL BYTES TENSOR_DESC TENSOR GRAPH NAMED_ATTRS DATA_TYPE"

DATA_TYPES = tuple(f"DT_{word}" for word in _DATA_TYPE_WORDS.split())
"""Names of element types; the position is the number."""

LIST_TYPES = tuple(f"VT_LIST_{word}" for word in _LIST_WORDS.split())
"""Names of the kinds of a list; the position is the number."""

_ENUMS = {"DataType": DATA_TYPES, "ListValueType": LIST_TYPES}

_MESSAGES = {
    "ListValue": "s 2 *bytes, i 3 *int64, f 4 *float, b 5 *bool, bt 7 *bytes, "
    "td 8 *TensorDescriptor, t 9 *TensorDef, g 10 *GraphDef, na 11 *NamedAttrs, dt 12 *int64, "
    "val_type 20 ListValueType",
    "ListInt": "list_i 1 *int64",
    "ListListInt": "list_list_i 1 *ListInt",
    "ListFloat": "list_f 1 *float",
    "ListListFloat": "list_list_f 1 *ListFloat",
    "AttrDef": "list 1 |ListValue, s 2 |bytes, i 3 |int64, f 4 |float, b 5 |bool, bt 7 |bytes, "
    "func 10 |NamedAttrs, td 11 |TensorDescriptor, t 12 |TensorDef, g 13 |GraphDef, "
    "list_list_int 14 |ListListInt, dt 15 |int64, list_list_float 16 |ListListFloat, "
    "expression 17 |bytes",
    "NamedAttrs": "name 1 string, attr 2 <>AttrDef",
    "ShapeDef": "dim 1 *int64",
    "AttributeDef": "s 1 |bytes, i 2 |int64, f 3 |float, b 4 |bool, bt 5 |bytes",
    "OtherGroupDef": "attr 1 <>AttributeDef",
    "TensorDescAttrGroupsDef": "origin_symbol_shape 1 *string, symbolic_value 2 *string",
    "AttrGroupDef": "tensor_attr_group 3 |TensorDescAttrGroupsDef",
    "AttrGroups": "other_group_def 1 OtherGroupDef, attr_group_def 2 *AttrGroupDef",
    "TensorDescriptor": "name 1 string, dtype 2 DataType, shape 3 ShapeDef, layout 4 string, "
    "attr 5 <>AttrDef, attr_groups 6 AttrGroups, has_out_attr 9 bool, size 10 int64, "
    "weight_size 11 int64, reuse_input 12 bool, output_tensor 13 bool, device_type 14 string, "
    "input_tensor 15 bool, real_dim_cnt 16 int64, reuse_input_index 17 int64, "
    "data_offset 18 int64, cmps_size 19 int64, cmps_tab 20 string, cmps_tab_offset 21 int64",
    "TensorDef": "desc 1 TensorDescriptor, data 2 bytes",
    "OpDef": "name 1 string, type 2 string, input 5 *string, attr 10 <>AttrDef, "
    "attr_groups 11 AttrGroups, has_out_attr 20 bool, id 21 int64, stream_id 22 int64, "
    "input_name 23 *string, src_name 24 *string, src_index 25 *int64, dst_name 26 *string, "
    "dst_index 27 *int64, input_i 28 *int64, output_i 29 *int64, workspace 30 *int64, "
    "workspace_bytes 31 *int64, is_input_const 32 *bool, input_desc 33 *TensorDescriptor, "
    "output_desc 34 *TensorDescriptor, subgraph_name 35 *string",
    "GraphDef": "name 1 string, input 4 *string, output 5 *string, op 6 *OpDef, attr 11 <>AttrDef, "
    "attr_groups 12 AttrGroups",
    "ModelDef": "name 1 string, version 2 uint32, custom_version 3 string, graph 7 *GraphDef, "
    "attr 11 <>AttrDef, attr_groups 12 AttrGroups",
}
"""Fields by message: name, number, type."""

_ROW = descriptor_pb2.FieldDescriptorProto


@cache
def model_class() -> Any:
    """The class of `ModelDef` messages."""
    file = descriptor_pb2.FileDescriptorProto(
        name="atc_py/ge_ir.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, values in _ENUMS.items():
        row = file.enum_type.add(name=name)
        for number, value in enumerate(values):
            row.value.add(name=value, number=number)
    for name, text in _MESSAGES.items():
        _add_message(file.message_type.add(name=name), text)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    descriptor = pool.FindMessageTypeByName(f"{_PACKAGE}.ModelDef")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)  # before protobuf 4.22


def _add_message(message: Any, text: str) -> None:
    for part in text.split(","):
        name, number, kind = part.split()
        field = message.field.add(name=name, number=int(number), label=_ROW.LABEL_OPTIONAL)
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

"""Names, numbers and types of the fields of ATC's messages, as its files have them [proven].

`*` stands for a list, `<>` for a map with text as keys, `|` for a member of the message's oneof
`value`. Both the reader of files and the protobuf classes for JSON follow from this table.
"""

from functools import cache
from typing import NamedTuple

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

MESSAGES = {
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

_TASK_MESSAGES = {
    "ModelTaskDef": "attr 9 <>string, task 10 *TaskDef",
    "TaskDef": "type 2 uint32, stream_id 10 uint32, kernel 20 KernelDef, memcpy_async 31 Memcpy, "
    "kernel_with_handle 40 KernelDef, ffts_plus_task 42 Ffts, cmo_task 44 CmoTask, "
    "cmo_barrier_task 45 CmoBarrier",
    "KernelDef": "context 1 KernelContext, stub_func 10 string, block_dim 11 uint32, "
    "args_size 12 uint32, args 13 bytes, sm_desc 14 bytes, kernel_name 17 string",
    "KernelContext": "kernel_type 1 uint32, op_index 4 uint32, args_offset 6 bytes, "
    "args_count 7 uint32, origin_op_index 8 *uint32, args_format 10 string",
    "CmoTask": "op_code 3 uint32, length 9 uint32, address 10 uint64",
}
"""Messages of the list of tasks, in another package of protobuf than those above."""


class GeFieldRow(NamedTuple):
    """A field of a message: its name, number, and type with the marks of the table."""

    name: str
    number: int
    kind: str


@cache
def field_rows(message: str) -> tuple[GeFieldRow, ...]:
    parts = (part.split() for part in (MESSAGES.get(message) or _TASK_MESSAGES[message]).split(","))
    return tuple(GeFieldRow(name, int(number), kind) for name, number, kind in parts)


@cache
def field_numbers(message: str) -> dict[str, int]:
    return {row.name: row.number for row in field_rows(message)}

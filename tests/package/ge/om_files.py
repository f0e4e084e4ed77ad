"""Small files as Huawei's atc writes them, made from plain values; nothing of them is read back here.

Values of attributes are bool, int, float, str, lists of these, lists of lists of int, or messages.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from atc_py.package.ge.schema import DATA_TYPES, field_numbers
from atc_py.system.wire import FIXED32, VARINT, bytes_field, encode_varint, tag

Attributes = Mapping[str, Any]


def number_field(number: int, value: int) -> bytes:
    """A field with an integer."""
    return tag(number, VARINT) + encode_varint(value % 2**64)


def message(kind: str, **fields: Any) -> bytes:
    """A message of the table of fields; a list is a repeated field, bytes are taken as they are."""
    numbers = field_numbers(kind)
    return b"".join(
        _field(numbers[name], item)
        for name, value in fields.items()
        for item in (value if isinstance(value, list | tuple) else [value])
    )


def _field(number: int, value: Any) -> bytes:
    if isinstance(value, str):
        return bytes_field(number, value.encode())
    if isinstance(value, float):
        return tag(number, FIXED32) + struct.pack("<f", value)
    return bytes_field(number, value) if isinstance(value, bytes) else number_field(number, value)


@dataclass
class Enumerated:
    """Tables of names that take a number when they are first written; none where `on` is false."""

    on: bool = False
    names: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    uses_text: list[bool] = field(default_factory=list)

    def key(self, name: str, *, is_text: bool) -> bytes:
        """The name as it stands in the file."""
        if not self.on or name in PLAIN:
            return name.encode()
        if name not in self.names:
            self.names.append(name)
            self.uses_text.append(is_text)
        number, digits = self.names.index(name), bytearray([0])
        self.uses_text[number] |= is_text  # an empty list does not tell
        while True:
            number, digit = divmod(number, 127)
            digits.append(digit + 1)
            if not number:
                return bytes(digits)

    def text(self, value: str) -> int:
        """The number of a text."""
        if value not in self.texts:
            self.texts.append(value)
        return self.texts.index(value)


PLAIN = {"_ir_attr_names", "_input_name_key", "_input_name_value", "_output_name_key"}


def attribute(value: Any, names: Enumerated | None = None) -> bytes:
    """An `AttrDef`; bytes are a whole member of it, made by `member`."""
    texts = names if names is not None and names.on else None
    if isinstance(value, bytes):
        return value
    if isinstance(value, list | tuple):
        if value and isinstance(value[0], list | tuple):
            rows = [message("ListInt", list_i=list(row)) for row in value]
            return message("AttrDef", list_list_int=message("ListListInt", list_list_i=rows))
        kind = _kind_of(value[0]) if value else "i"
        items = list(value)
        if kind == "s" and texts is not None:
            kind, items = "i", [texts.text(item) for item in items]
        if kind == "i":  # packed, as C++ writes them
            packed = b"".join(encode_varint(item % 2**64) for item in items)
            return message("AttrDef", list=message("ListValue", i=packed) if items else b"")
        return message("AttrDef", list=message("ListValue", **{kind: items}))
    kind = _kind_of(value)
    if kind == "s" and texts is not None:
        kind, value = "i", texts.text(value)
    return message("AttrDef", **{kind: value})


def member(name: str, body: bytes) -> bytes:
    """An `AttrDef` with a message: a tensor `t`, a function `func`, a graph `g`."""
    return message("AttrDef", **{name: body})


def _kind_of(value: Any) -> str:
    kinds = {bool: "b", int: "i", float: "f", str: "s"}
    return kinds[type(value)]


def entries(
    kind: str, values: Attributes, names: Enumerated | None = None, field_name: str = "attr"
) -> bytes:
    """The entries of a message's map of attributes."""
    made = []
    for name, value in values.items():
        is_text = isinstance(value, str) or (
            bool(value) and isinstance(value, list) and isinstance(value[0], str)
        )
        plain = names is None or name in PLAIN
        key = name.encode() if names is None else names.key(name, is_text=is_text)
        body = attribute(value, None if plain else names)
        made.append(
            bytes_field(field_numbers(kind)[field_name], bytes_field(1, key) + bytes_field(2, body))
        )
    return b"".join(made)


def tensor_desc(
    dtype: str = "DT_FLOAT16",
    dims: Sequence[int] = (1,),
    layout: str = "ND",
    attributes: Attributes | None = None,
    names: Enumerated | None = None,
    **fields: Any,
) -> bytes:
    """A `TensorDescriptor`."""
    packed = b"".join(encode_varint(dim % 2**64) for dim in dims)
    return message(
        "TensorDescriptor",
        dtype=DATA_TYPES.index(dtype),
        shape=bytes_field(1, packed),
        layout=layout,
        **fields,
    ) + entries("TensorDescriptor", attributes or {}, names)


def op(
    name: str,
    kind: str,
    attributes: Attributes | None = None,
    names: Enumerated | None = None,
    **fields: Any,
) -> bytes:
    """An `OpDef`."""
    return message("OpDef", name=name, type=kind, **fields) + entries(
        "OpDef", attributes or {}, names
    )


def constant(
    name: str, offset: int, size: int, names: Enumerated | None = None, **desc: Any
) -> bytes:
    """A constant in the partition of weights."""
    place: dict[str, Any] = {"data_offset": offset} if offset else {}
    tensor = message("TensorDef", desc=tensor_desc(weight_size=size, names=names, **place, **desc))
    return op(name, "Const", {"value": member("t", tensor)}, names)


def graph(name: str, ops: Sequence[bytes], **fields: Any) -> bytes:
    """A `GraphDef`."""
    return message("GraphDef", name=name, op=list(ops), **fields)


def model_def(
    graphs: Sequence[bytes], attributes: Attributes | None = None, names: Enumerated | None = None
) -> bytes:
    """A `ModelDef`, with the tables of names where they are used."""
    tables: dict[str, Any] = {}
    if names is not None and names.on:
        flags = message("AttrDef", list=message("ListValue", b=bytes(map(int, names.uses_text))))
        tables = {
            "om_compress_version": 1,
            "attr_name_enum": list(names.names),
            "attr_value_enum": list(names.texts),
            "attrs_use_string_value": flags,
        }
    head = message("ModelDef", name="net", version=2, custom_version="1.11.z.0", graph=list(graphs))
    return head + entries("ModelDef", {**(attributes or {}), **tables})


def kernel(name: str, binary: bytes = b"\x7fELF" + bytes(60)) -> bytes:
    """A kernel of the partition TBE_KERNELS."""
    return struct.pack("<III", 0x5D776EFD, len(name), len(binary)) + name.encode() + binary


def kernel_task(op_index: int, name: str = "", cores: int = 1) -> bytes:
    """A task that launches an op."""
    context = message("KernelContext", kernel_type=2, op_index=op_index)
    body = message("KernelDef", context=context, block_dim=cores, kernel_name=name)
    return message("TaskDef", kernel=body)


def tasks(*made: bytes) -> bytes:
    """A partition TASK_INFO."""
    return message("ModelTaskDef", task=list(made))


def port(name: str, dims: Sequence[int], dtype: int = 0, form: int = 0, nbytes: int = 4) -> bytes:
    """An input or output of the partition MODEL_INOUT_INFO."""
    shape = struct.pack(f"<{len(dims)}q", *dims)
    sizes = (len(name), len(shape), len(shape), 0)
    return struct.pack("<QIIIIII", nbytes, form, dtype, *sizes) + name.encode() + shape * 2


def block(kind: int, body: bytes) -> bytes:
    """A block of the partition MODEL_INOUT_INFO."""
    return struct.pack("<II", kind, len(body)) + body


def ports(kind: int, *made: bytes) -> bytes:
    """The block of the inputs, 0, or of the outputs, 1."""
    return block(kind, struct.pack("<I", len(made)) + b"".join(made))


Partitions = Sequence[tuple[int, bytes]]


def om_file(
    *models: Partitions,
    wide: bool = True,
    version: int = 0x20000000,
    model_type: int = 0,
    encrypted: bool = False,
    unknown: bool = False,
) -> bytes:
    """A file with header, tables and partitions, each type with its bytes."""
    body = b"".join(
        _table(partitions, wide=wide) + b"".join(data for _, data in partitions)
        for partitions in models
    )
    head = struct.pack("<4sII64s", b"IMOD", 256, version, b"")
    head += struct.pack(
        "<IBBBB32sI32sI", 0 if wide else len(body), encrypted, 0, model_type, 0, b"net", 0, b"", 2
    )
    if version != 0x10000000:
        head += struct.pack("<I", len(models))
    head += struct.pack("<20sB3x", b"1.11.z.0", 1)
    head = head.ljust(184, b"\0") + struct.pack("<QBB", len(body) if wide else 0, 0, unknown)
    return head.ljust(256, b"\0") + body


def _table(partitions: Partitions, *, wide: bool) -> bytes:
    row = struct.Struct("<I4xQQ" if wide else "<III")
    made, at = struct.pack("<I4x" if wide else "<I", len(partitions)), 0
    for kind, data in partitions:
        made += row.pack(kind, at, len(data))
        at += len(data)
    return made


def small_model(*, enumerated: bool = True, wide: bool = True, version: int = 0x20000000) -> bytes:
    """A file with a convolution fused with its activation, between an input and the output."""
    names = Enumerated(enumerated)
    origin = {"origin_shape": [1, 16, 4, 4], "origin_format": "NCHW", "format_for_int": 83886083}
    five: dict[str, Any] = {
        "dims": (1, 1, 4, 4, 16),
        "layout": "NC1HWC0",
        "attributes": origin,
        "names": names,
    }
    absent = tensor_desc("DT_UNDEFINED", (), "FORMAT_RESERVED")
    weight: dict[str, Any] = {"dims": (1, 1, 16, 16), "layout": "FRACTAL_Z", "names": names}
    ops = [
        op("x", "Data", {"index": 0}, names, id=0, output_desc=tensor_desc(**five), output_i=0),
        constant("w", 0, 512, **weight),
        constant("b", 512, 32, dims=(16,), names=names),
        op(
            "convrelu",
            "Conv2D",
            {
                "_datadump_original_op_names": ["conv", "relu"],
                "_datadump_original_op_types": ["Relu"],
                "_kernelname": "te_fused_conv",
                "pass_name": ["TbeConvFixPipeFusionPass"],
                "tvm_blockdim": 2,
                "groups": 1,
                "dilations": [1, 1, 1, 1],
                "_cube_vector_core_type": "AIC",
                "_input_name_key": ["bias", "filter", "offset_w", "x"],
                "_input_name_value": [2, 1, 3, 0],
            },
            names,
            id=3,
            input=["x:0", "w:0", "b:0", ""],
            input_desc=[
                tensor_desc(**five),
                tensor_desc(**weight),
                tensor_desc(dims=(16,), names=names),
                absent,
            ],
            input_i=[0, 0, 512],
            is_input_const=[False, True, True, False],
            output_desc=tensor_desc(size=576, **five),
            output_i=1024,
        ),
        op(
            "Node_Output",
            "NetOutput",
            {},
            names,
            id=4,
            input=["convrelu:0"],
            input_desc=tensor_desc(**five),
            input_i=1024,
        ),
    ]
    attributes = {
        "soc_version": "Ascend310B4",
        "atc_version": "7.6.0.1.220",
        "opp_version": "7.6.0.1.220",
        "framework_type": "Onnx",
        "atc_cmdline": "/usr/local/bin/atc.bin --model=net.onnx --framework=5 --output=net",
        "memory_size": 3072,
        "weight_size": 1536,
        "zero_copy_memory_size": 1024,
        "stream_num": 1,
        "event_num": 0,
        "attr_model_out_nodes_name": ["convrelu:0:y"],
        "om_info_list": [1536, 100, 0, 50, 0],
    }
    described = model_def([graph("net_0", ops, input="x:0")], attributes, names)
    task_list = tasks(
        message("TaskDef", type=3), kernel_task(3, "te_fused_conv", 2), message("TaskDef", type=19)
    )
    partitions = [
        (0, described),
        (1, bytes(range(256)) * 6),
        (3, kernel("te_fused_conv") + kernel("te_other")),
        (2, task_list),
    ]
    if wide:
        info = ports(0, port("x", (1, 16, 4, 4), nbytes=1024)) + ports(
            1, port("convrelu:0:y", (1, 16, 4, 4), nbytes=1024)
        )
        partitions.insert(0, (8, info))
    return om_file(partitions, wide=wide, version=version)

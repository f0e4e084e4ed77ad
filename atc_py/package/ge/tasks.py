"""Tasks and kernels of a model: what the device does in order, and the binaries that it loads."""

import struct
from collections.abc import Iterator
from functools import cached_property

import msgspec

from atc_py.package.ge.schema import field_numbers
from atc_py.package.ge.source import ByteSpan, GeSource, span_of
from atc_py.system.wire import BYTES, WireField
from atc_py.text import Text

KERNEL = 0
CACHE_MAINTENANCE = 31

TASK_KINDS = {
    KERNEL: "kernel",
    1: "event record",
    2: "event wait",
    3: "fusion start",
    4: "fusion end",
    5: "AI CPU kernel",
    6: "collective communication",
    7: "stream switch",
    8: "stream active",
    9: "label set",
    10: "label switch",
    11: "label goto",
    12: "profiler",
    13: "memory copy",
    19: "end of graph",
    28: "FFTS",
    29: "FFTS+",
    30: "DSA",
    CACHE_MAINTENANCE: "cache maintenance",
    32: "cache barrier",
}
"""Kinds of tasks by number."""

_KERNEL_MAGIC = 0x5D776EFD
_KERNEL_HEAD = struct.Struct("<III")
_MOST_KERNELS = 1_000_000
_MOST_TASKS = 1_000_000
_FLAGS_AT, _ELF_BYTES = 48, 52
"""Where an ELF64 header has its flags."""


class GeKernel(msgspec.Struct, frozen=True):
    """A kernel in the file: its name and its ELF binary."""

    name: str
    span: ByteSpan


class GeTask:
    """A task; its fields are decoded when they are asked for."""

    __slots__ = ("__dict__", "_source", "_span")

    def __init__(self, source: GeSource, span: ByteSpan) -> None:
        self._source, self._span = source, span

    @cached_property
    def _fields(self) -> dict[int, WireField]:
        return {field.number: field for field in self._source.fields(self._span)}

    @property
    def type(self) -> int:
        return self._number(self._fields, "TaskDef", "type")

    @property
    def kind(self) -> str:
        """Its kind in words, or its number."""
        return TASK_KINDS.get(self.type, f"type {self.type}")

    @cached_property
    def _kernel(self) -> dict[int, WireField] | None:
        return self._inner(self._fields, "TaskDef", "kernel")

    @property
    def op_index(self) -> int | None:
        """The id of the op that a kernel's task launches; None for other tasks."""
        context = self._inner(self._kernel or {}, "KernelDef", "context")
        return None if context is None else self._number(context, "KernelContext", "op_index")

    @property
    def kernel_name(self) -> str:
        """The kernel that it launches; empty for other tasks and before CANN 8."""
        field = (self._kernel or {}).get(field_numbers("KernelDef")["kernel_name"])
        return self._source.text(field) if field is not None and field.wire == BYTES else ""

    def _inner(
        self, fields: dict[int, WireField], kind: str, name: str
    ) -> dict[int, WireField] | None:
        field = fields.get(field_numbers(kind)[name])
        if field is None or field.wire != BYTES:
            return None
        return {inner.number: inner for inner in self._source.fields(span_of(field))}

    def _number(self, fields: dict[int, WireField], kind: str, name: str) -> int:
        field = fields.get(field_numbers(kind)[name])
        return 0 if field is None else self._source.number(field)


def read_tasks(source: GeSource, span: ByteSpan) -> Iterator[GeTask]:
    number, count = field_numbers("ModelTaskDef")["task"], 0
    for field in source.fields(span):
        if field.number == number and field.wire == BYTES:
            count += 1
            if count > _MOST_TASKS:
                raise source.fault(Text("it has more than {most} tasks", most=_MOST_TASKS))
            yield GeTask(source, span_of(field))


def read_kernels(source: GeSource, span: ByteSpan) -> Iterator[GeKernel]:
    """The kernels of a partition TBE_KERNELS.

    Raises:
        AtcError: BAD_HUAWEI_MODEL where a kernel does not begin or end as it should.
    """
    at, count = span.start, 0
    while at < span.end:
        whole = at + _KERNEL_HEAD.size <= span.end
        magic, name, size = _KERNEL_HEAD.unpack_from(source.data, at) if whole else (0, 0, 0)
        body = at + _KERNEL_HEAD.size + name
        count += 1
        if magic != _KERNEL_MAGIC or body + size > span.end or count > _MOST_KERNELS:
            raise source.fault(
                Text(
                    "kernel {count} at byte {at} is not a kernel, or does not end",
                    count=count,
                    at=at,
                ),
                "TBE_KERNELS",
            )
        text = bytes(source.data[body - name : body]).decode("utf-8", "replace")
        yield GeKernel(text, ByteSpan(body, body + size))
        at = body + size


def elf_flags(source: GeSource, kernel: GeKernel) -> int | None:
    """The flags of a kernel's ELF header, which tell the core; None where it is not ELF."""
    head = source.data[kernel.span.start : min(kernel.span.start + _ELF_BYTES, kernel.span.end)]
    if head[:4] != b"\x7fELF" or len(head) < _ELF_BYTES:
        return None
    flags: int = struct.unpack_from("<I", head, _FLAGS_AT)[0]
    return flags

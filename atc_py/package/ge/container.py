"""The container of Huawei's offline models: header, partition tables, partitions."""

import struct
from collections.abc import Iterator

import msgspec

from atc_py.package.foreign import HUAWEI_MAGIC
from atc_py.package.ge.source import ByteSpan, GeSource
from atc_py.text import Text

HEADER_BYTES = 256

MODEL_DEF, WEIGHTS_DATA, TASK_INFO, TBE_KERNELS, MODEL_INOUT_INFO = 0, 1, 2, 3, 8
FLOW_MODEL, FLOW_SUBMODEL, BUNDLE_MODEL = 6, 7, 24

PARTITION_NAMES = {
    0: "MODEL_DEF",
    1: "WEIGHTS_DATA",
    2: "TASK_INFO",
    3: "TBE_KERNELS",
    4: "CUST_AICPU_KERNELS",
    5: "SO_BINS",
    6: "FLOW_MODEL",
    7: "FLOW_SUBMODEL",
    8: "MODEL_INOUT_INFO",
    9: "STATIC_TASK_DESC",
    10: "DYNAMIC_TASK_DESC",
    11: "TASK_PARAM",
    12: "TILING_DATA",
    20: "PRE_MODEL_DESC",
    21: "PRE_MODEL_SQE",
    22: "PRE_KERNEL_ARGS",
    23: "PRE_MODEL_DESC_EXTEND",
    24: "BUNDLE_MODEL_INFO",
    25: "BUNDLE_MODEL_VAR_INFO",
    26: "CUSTOM_OPS",
}
"""Names of the types of partitions."""

MODEL_TYPES = ("model", "standard model", "OM tiny", "flow model", "lite model", "bundle")
"""Kinds of files by the header's number."""

_FLOW = 3
_FIRST_VERSION = 0x10000000
"""Headers of that version have no number of models."""

_MOST_MODELS, _MOST_PARTITIONS = 4096, 4096
_HEAD = struct.Struct("<4sII64sIBBBB32sI32sI")
_WIDE, _NARROW = struct.Struct("<I4xQQ"), struct.Struct("<III")


class GeHeader(msgspec.Struct, frozen=True):
    """The header of a file."""

    version: int  # of the container, 0x10000000 (2021) or 0x20000000
    model_type: int  # position in MODEL_TYPES, or another number
    is_encrypted: bool
    name: str  # of the model, at most 31 bytes of it
    ir_version: int  # of the operators' definitions
    model_count: int
    platform_version: str  # as text
    has_unknown_shapes: bool  # runs decide shapes
    is_wide: bool  # tables of partitions have 64-bit numbers

    @property
    def kind(self) -> str:
        known = self.model_type < len(MODEL_TYPES)
        return MODEL_TYPES[self.model_type] if known else f"model type {self.model_type}"


class GePartition(msgspec.Struct, frozen=True):
    """A partition of a model: the number of its type, and its bytes."""

    type: int
    span: ByteSpan

    @property
    def name(self) -> str:
        """The name of its type, or its number where that is not known."""
        return PARTITION_NAMES.get(self.type, f"type {self.type}")


def read_header(source: GeSource, start: int, end: int) -> GeHeader:
    """The header of the model that begins at `start`.

    Raises:
        AtcError: BAD_HUAWEI_MODEL.
    """
    if end - start < HEADER_BYTES:
        raise source.fault(
            Text("it has {count} bytes, fewer than its header", count=end - start), "header"
        )
    data = bytes(source.data[start : start + HEADER_BYTES])
    magic, size, version, _, _, encrypted, _, kind, _, name, _, _, ir_version = _HEAD.unpack_from(
        data
    )
    if magic != HUAWEI_MAGIC or size != HEADER_BYTES:
        raise source.fault(
            Text(
                "its header should have {wanted} bytes, but states {size}",
                wanted=HEADER_BYTES,
                size=size,
            ),
            "header",
        )
    at = _HEAD.size
    model_count = 1
    if version != _FIRST_VERSION:
        model_count, at = struct.unpack_from("<I", data, at)[0], at + 4
    length, unknown = struct.unpack_from("<Q1xB", data, 184)
    return GeHeader(
        version=version,
        model_type=kind,
        is_encrypted=bool(encrypted),
        name=_until_nul(name),
        ir_version=ir_version,
        model_count=max(model_count, 1),
        platform_version=_until_nul(data[at : at + 20]),
        has_unknown_shapes=bool(unknown),
        is_wide=bool(length) or kind == _FLOW,
    )


def read_partitions(
    source: GeSource, header: GeHeader, start: int, end: int
) -> list[list[GePartition]]:
    """The partitions of each model of the file that begins at `start`.

    GE walks by sizes; stated offsets are larger where partitions are aligned.
    """
    if header.model_count > _MOST_MODELS:
        raise source.fault(
            Text(
                "its header states {count} models; at most {most} are read",
                count=header.model_count,
                most=_MOST_MODELS,
            ),
            "header",
        )
    models = []
    at = start + HEADER_BYTES
    for number in range(header.model_count):
        part = "partition table" if header.model_count == 1 else f"partition table {number}"
        entries, base = _table(source, header, at, end, part)
        models.append(list(_placed(source, entries, base, end)))
        at = models[-1][-1].span.end if models[-1] else base
    return models


def _table(
    source: GeSource, header: GeHeader, at: int, end: int, part: str
) -> tuple[list[tuple[int, int, int]], int]:
    """The entries of a table, type, offset and size; and where its partitions begin."""
    row, first = (_WIDE, at + 8) if header.is_wide else (_NARROW, at + 4)
    if first > end:
        raise source.fault(Text("it ends before its table of partitions"), part)
    count = struct.unpack_from("<I", source.data, at)[0]
    base = first + count * row.size
    if count > _MOST_PARTITIONS or base > end:
        raise source.fault(
            Text("its table states {count} partitions, which do not fit in the file", count=count),
            part,
        )
    return [row.unpack_from(source.data, first + row.size * each) for each in range(count)], base


def _placed(
    source: GeSource, entries: list[tuple[int, int, int]], base: int, end: int
) -> Iterator[GePartition]:
    at = base
    for kind, offset, size in entries:
        start = max(at, base + offset)
        name = PARTITION_NAMES.get(kind, f"type {kind}")
        if start + size > end:
            raise source.fault(
                Text(
                    "partition {name} should end at byte {stop}, but the file ends at byte {end}",
                    name=name,
                    stop=start + size,
                    end=end,
                ),
                name,
            )
        at = start + size
        yield GePartition(kind, ByteSpan(start, at))


def _until_nul(data: bytes) -> str:
    return data.partition(b"\0")[0].decode("utf-8", "replace")

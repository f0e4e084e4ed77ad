"""The partition MODEL_INOUT_INFO: inputs, outputs and gears as the file states them."""

import struct
from collections.abc import Iterator

import msgspec

from atc_py.package.ge.source import ByteSpan, GeSource
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

FORMAT_NUMBERS = {
    "NCHW": 0,
    "NHWC": 1,
    "ND": 2,
    "NC1HWC0": 3,
    "FRACTAL_Z": 4,
    "C1HWNCoC0": 16,
    "NDHWC": 27,
    "FRACTAL_NZ": 29,
    "NCDHW": 30,
    "NDC1HWC0": 32,
    "FRACTAL_Z_3D": 33,
    "RESERVED": 40,
}
"""Formats by name: those of single operators are proven, those with three axes of space inferred."""

_INPUTS, _OUTPUTS = 0, 1
_BATCHES = 2
GEAR_WORDS = {_BATCHES: "dynamic batch size", 3: "dynamic image size", 4: "dynamic dims"}
_PART = "MODEL_INOUT_INFO"
_HEAD, _ROW = struct.Struct("<II"), struct.Struct("<QIIIIII")
_MOST_PORTS = 100_000


class GePort(msgspec.Struct, frozen=True):
    """An input or output of a model."""

    name: str  # of an output `op:index:name`, with the name of the network's output
    dtype: str  # by atc-py's name
    dims: tuple[int, ...]  # what a program passes, -1 for a dim that a run decides
    format: str  # NCHW, ND, ...
    nbytes: int  # size of the data
    # the dims before AIPP, those of pictures; as `dims` where there is none
    picture_dims: tuple[int, ...] = ()


class GeInterface(msgspec.Struct):
    """Inputs and outputs of a model, and its gears."""

    inputs: list[GePort] = msgspec.field(default_factory=list)
    outputs: list[GePort] = msgspec.field(default_factory=list)
    # the numbers of each gear, by what they choose
    gears: dict[str, tuple[tuple[int, ...], ...]] = msgspec.field(default_factory=dict)


def read_interface(source: GeSource, span: ByteSpan) -> GeInterface:
    interface = GeInterface()
    at = span.start
    while at < span.end:
        kind, size = _HEAD.unpack_from(source.data, _fits(source, at, _HEAD.size, span.end))
        at += _HEAD.size
        part = ByteSpan(at, _fits(source, at, size, span.end) + size)
        at = part.end
        if kind in {_INPUTS, _OUTPUTS}:
            ports = interface.inputs if kind == _INPUTS else interface.outputs
            ports += _ports(source, part)
        elif kind in GEAR_WORDS:
            interface.gears[GEAR_WORDS[kind]] = _gears(source, part, kind)
    return interface


def _ports(source: GeSource, span: ByteSpan) -> Iterator[GePort]:
    at = _fits(source, span.start, 4, span.end) + 4
    count = struct.unpack_from("<I", source.data, span.start)[0]
    if count > _MOST_PORTS:
        raise source.fault(Text("it should have {count} inputs or outputs", count=count), _PART)
    for _ in range(count):
        _fits(source, at, _ROW.size, span.end)
        nbytes, form, dtype, *sizes = _ROW.unpack_from(source.data, at)
        at += _ROW.size
        parts = []
        for size in sizes:
            _fits(source, at, size, span.end)
            parts.append(bytes(source.data[at : at + size]))
            at += size
        name, dims, pictures, _ = parts
        yield GePort(
            name=name.decode("utf-8", "replace"),
            dtype=_DTYPES.get(dtype, f"type {dtype}"),
            dims=_numbers(dims),
            format=_FORMATS.get(form & _FORMAT_MASK, f"format {form & _FORMAT_MASK}"),
            nbytes=nbytes,
            picture_dims=_numbers(pictures),
        )


_FORMAT_MASK = 0xFF
"""Where a number of a format has the format; C0 and groups are above."""

_FORMATS = {number: name for name, number in FORMAT_NUMBERS.items()}
_DTYPES = {dtype.ge: dtype.value for dtype in DType}


def _gears(source: GeSource, span: ByteSpan, kind: int) -> tuple[tuple[int, ...], ...]:
    """The numbers of each gear: a count of gears, of all but batches the count of each, numbers."""
    at = _fits(source, span.start, 4, span.end) + 4
    count = struct.unpack_from("<I", source.data, span.start)[0]
    if count > _MOST_PORTS:
        raise source.fault(Text("it should have {count} gears", count=count), _PART)
    counts: tuple[int, ...] = (1,) * count
    if kind != _BATCHES:
        _fits(source, at, 4 * count, span.end)
        counts = struct.unpack_from(f"<{count}I", source.data, at)
        at += 4 * count
    gears = []
    for size in counts:
        _fits(source, at, 8 * size, span.end)
        gears.append(struct.unpack_from(f"<{size}q", source.data, at))
        at += 8 * size
    return tuple(gears)


def _numbers(data: bytes) -> tuple[int, ...]:
    return struct.unpack_from(f"<{len(data) // 8}q", data)


def _fits(source: GeSource, at: int, size: int, end: int) -> int:
    """The offset, where so many bytes follow it."""
    if at + size > end:
        raise source.fault(
            Text("the inputs and outputs end too early, at byte {end}", end=end), _PART
        )
    return at

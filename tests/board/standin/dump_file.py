"""Dump files as CANN's writer lays them out, version 2: length, message, bytes.

Written after the format's description alone, without any code that reads such files.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

DTYPES = {
    "float32": 1, "float16": 2, "int8": 3, "uint8": 4, "int16": 5, "uint16": 6, "int32": 7, "int64": 8,
    "uint32": 9, "uint64": 10, "bool": 11, "float64": 12, "bfloat16": 27, "int4": 28,
}  # fmt: skip
FORMATS = {
    "NCHW": 0, "NHWC": 1, "ND": 2, "NC1HWC0": 3, "FRACTAL_Z": 4, "NDHWC": 27, "FRACTAL_NZ": 29,
    "NCDHW": 30, "NDC1HWC0": 32,
}  # fmt: skip


@dataclass(frozen=True)
class DumpedTensor:
    """An output: its values as the device has them, and what they were in the model."""

    data: bytes
    dtype: str
    format: str
    shape: Sequence[int]
    original_shape: Sequence[int]
    origin: str
    origin_index: int


def dump_bytes(op_name: str, time: int, outputs: Iterable[DumpedTensor]) -> bytes:
    """The file of one operator."""
    rows = list(outputs)
    header = _field(1, b"2.0") + _number(2, time)
    header += b"".join(_field(3, _output(row)) for row in rows)
    header += _field(6, op_name.encode())
    return struct.pack("<Q", len(header)) + header + b"".join(row.data for row in rows)


STATISTICS = (
    "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
    "Negative Inf Count,Positive Inf Count"
)


def statistics_text(outputs: Iterable[DumpedTensor]) -> str:
    """The table of one operator where `dump_data` is `stats`: numbers of six digits, padding included."""
    lines = [STATISTICS]
    for index, row in enumerate(outputs):
        count = int(np.prod(row.shape))
        data = np.frombuffer(row.data, row.dtype, count).astype(np.float64)
        figures = ",".join(f"{value:g}" for value in (data.max(), data.min(), data.mean()))
        odd = (np.isnan(data).sum(), (data == -np.inf).sum(), (data == np.inf).sum())
        shape = "x".join(map(str, row.shape))
        dtype = "DT_FLOAT" if row.dtype == "float32" else f"DT_{row.dtype.upper()}"
        head = f"Output,{index},{len(row.data)},{dtype},{row.format},{shape}"
        lines.append(f"{head},{figures},{count},{','.join(map(str, odd))}")
    return "\n".join(lines) + "\n"


def _output(row: DumpedTensor) -> bytes:
    original = b""
    if row.origin:
        original = _field(1, row.origin.encode()) + _number(2, row.origin_index)
    return (
        _number(1, DTYPES[row.dtype])
        + _number(2, FORMATS[row.format])
        + _field(3, _shape(row.shape))
        + (_field(4, original) if original else b"")
        + _number(6, len(row.data))
        + _field(7, _shape(row.original_shape))
    )


def _shape(dims: Sequence[int]) -> bytes:
    packed = b"".join(_varint(dim) for dim in dims)
    return _field(1, packed) if packed else b""


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value) if value else b""


def _field(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def device_layout(array: NDArray[Any], form: str, stored: Sequence[int]) -> Any:
    """Values in the layout of the device, padded with zeros."""
    if form == "NC1HWC0":
        n, c1, h, w, c0 = stored
        padded = np.zeros((n, c1 * c0, h, w), array.dtype)
        padded[:, : array.shape[1]] = array
        return padded.reshape(n, c1, c0, h, w).transpose(0, 1, 3, 4, 2)
    if form == "NDC1HWC0":
        n, d, c1, h, w, c0 = stored
        padded = np.zeros((n, c1 * c0, d, h, w), array.dtype)
        padded[:, : array.shape[1]] = array
        return padded.reshape(n, c1, c0, d, h, w).transpose(0, 3, 1, 4, 5, 2)
    if form == "FRACTAL_NZ":
        *batch, n1, m1, m0, n0 = (int(dim) for dim in stored)
        plain: Any = array.reshape((1,) * (2 - array.ndim) + array.shape)
        padded = np.zeros((*batch, m1 * m0, n1 * n0), array.dtype)
        padded[..., : plain.shape[-2], : plain.shape[-1]] = plain
        blocks = padded.reshape(*batch, m1, m0, n1, n0)
        last = blocks.ndim
        return blocks.transpose(*range(last - 4), last - 2, last - 4, last - 3, last - 1)
    return array.reshape(stored)

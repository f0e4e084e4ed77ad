"""Dumps of a board: one file has the inputs and outputs of an op in the order of its storage.

Version 2 is a length, a protobuf message and the bytes after it; of version 1 the message is the file
and has the bytes in it. Devices without protobuf write blocks of tag and length in its place. The
numbers of fields are those of the writer in CANN's runtime [proven]; no file of a board was at hand.
"""

import struct
from collections.abc import Iterator
from math import prod
from mmap import mmap
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.diag import BAD_DUMP, AtcError, Place
from atc_py.package.ge.messages import dtype_name
from atc_py.package.ge.nano_dump import NANO_MAGIC, NanoReader
from atc_py.package.ge.schema import DATA_TYPES
from atc_py.package.ge.source import ByteSpan, GeSource, span_of
from atc_py.system.input_files import map_file
from atc_py.system.memory_limit import require_memory
from atc_py.system.wire import BYTES, WireField
from atc_py.tensor.dtypes import DType, Format, UnknownDTypeError
from atc_py.tensor.packing import unpack_stored
from atc_py.tensor.shapes import Shape, format_shape, is_addressable
from atc_py.tensor.storage import MATRIX_RANK, Storage
from atc_py.text import Text

_LENGTH = struct.Struct("<Q")
_COPIES = 3
"""Arrays of the size of a tensor while it is unpacked."""

_MOST_TENSORS = 4096
_MOST_RANK = 16
_MOST_TEXT = 4096

_FORMAT_WORDS = (
    "NCHW NHWC ND NC1HWC0 FRACTAL_Z NC1C0HWPAD NHWC1C0 FSR_NCHW FRACTAL_DECONV C1HWNC0 "
    "FRACTAL_DECONV_TRANSPOSE FRACTAL_DECONV_SP_STRIDE_TRANS NC1HWC0_C04 FRACTAL_Z_C04 CHWN "
    "FRACTAL_DECONV_SP_STRIDE8_TRANS HWCN NC1KHKWHWC0 BN_WEIGHT FILTER_HWCK LOOKUP_LOOKUPS "
    "LOOKUP_KEYS LOOKUP_VALUE LOOKUP_OUTPUT LOOKUP_HITS C1HWNCoC0 MD NDHWC FRACTAL_ZZ FRACTAL_NZ "
    "NCDHW DHWCN NDC1HWC0 FRACTAL_Z_3D CN NC DHWNC FRACTAL_Z_3D_TRANSPOSE FRACTAL_ZN_LSTM "
    "FRACTAL_Z_G RESERVED ALL NULL ND_RNN_BIAS FRACTAL_ZN_RNN YUV YUV_A NCL FRACTAL_Z_WINO C1HWC0"
)
FORMATS = tuple(_FORMAT_WORDS.split())
"""Names of storage formats; the position is the number in dumps."""

_PLAIN = frozenset({"NCHW", "NHWC", "ND", "NDHWC", "NCDHW", "HWCN", "NCL", "CN", "NC", "MD"})
_BLOCKED = {
    "NC1HWC0": (4, 5),
    "NDC1HWC0": (5, 6),
    "FRACTAL_Z": (4, 4),
}
"""Formats that are unpacked: axes of the network's tensor and of the stored one."""

_CHW = (0, 3, 1, 2)


class DumpTensor(msgspec.Struct, frozen=True):
    """An input or output of a dump.

    Attributes:
        dtype: by atc-py's name; CANN's in lower case where it has none.
        layout: storage format by its name.
        dims: as stored; none where the file does not say.
        origin_dims: as the network has them.
        groups: sub-format: groups of a filter.
        origin_name: node of the network that it is a result of; empty where the file does not say.
        origin_output: which of that node's outputs.
        span: its bytes in the file.
    """

    dtype: str
    layout: str
    dims: Shape
    origin_dims: Shape
    groups: int
    origin_name: str
    origin_output: int
    span: ByteSpan


class Dump(msgspec.Struct, frozen=True):
    """The content of a file.

    Attributes:
        op: name of the op, unescaped; empty where the file does not say.
        inputs: in order.
        outputs: in order.
        data: the bytes of the file.
    """

    op: str
    inputs: tuple[DumpTensor, ...]
    outputs: tuple[DumpTensor, ...]
    data: mmap | bytes

    def array(self, tensor: DumpTensor) -> NDArray[Any]:
        """The elements in the order and dims of the network.

        Where the file says no dims it is one row, which may end in padding.

        Raises:
            UnreadTensorError: they cannot be put so.
        """
        if not (is_addressable(tensor.dims) and is_addressable(tensor.origin_dims)):
            raise UnreadTensorError(Text("it has dims that no tensor can have"))
        require_memory(_COPIES * tensor.span.size, Text("a tensor of a dump"))
        elements = _elements(tensor, self.data)
        if not tensor.dims and not tensor.origin_dims:
            return elements
        stored = elements.reshape(tensor.dims)
        return _unpacked(tensor, stored)


class UnreadTensorError(ValueError):
    """A tensor of a dump cannot be put in the dims of the network; the text says why."""

    def __init__(self, reason: Text) -> None:
        super().__init__(reason)


class DumpSource(GeSource):
    """The bytes of a dump; a fault is BAD_DUMP."""

    __slots__ = ()

    def fault(self, message: Text, part: str = "") -> AtcError:
        """BAD_DUMP with a message, at a part of the file."""
        return BAD_DUMP.error(
            message,
            place=Place(file=self.file, field=part or None),
            help=Text("copy the file again from where it was written, and compare the sizes"),
        )


def read_dump(path: Path) -> Dump:
    """The dump in a file.

    Raises:
        AtcError: FILE_NOT_FOUND, FILE_UNREADABLE or BAD_DUMP.
    """
    data = map_file(path)
    return dump_of(data, str(path))


def dump_of(data: mmap | bytes, file: str) -> Dump:
    """The dump in the bytes of a file.

    Raises:
        AtcError: BAD_DUMP.
    """
    source = DumpSource(data, file)
    if len(data) < _LENGTH.size:
        raise source.fault(Text("it has {count} bytes, too few for a dump", count=len(data)))
    (length,) = _LENGTH.unpack_from(data, 0)
    head = ByteSpan(_LENGTH.size, _LENGTH.size + length)
    if head.end > len(data):
        if data[:1] == _VERSION_TAG:  # version 1: the text of the version stands first
            return _Message(source, ByteSpan(0, len(data)), None).dump()
        raise source.fault(
            Text(
                "its header should end at byte {end}, but the file has {size}",
                end=head.end,
                size=len(data),
            )
        )
    if bytes(data[head.start : head.start + 4]) == NANO_MAGIC:
        return _nano(source, head)
    return _Message(source, head, head.end).dump()


_VERSION_TAG = b"\x0a"


def _nano(source: DumpSource, head: ByteSpan) -> Dump:
    inputs, outputs = NanoReader(source, head).sides()
    at = head.end
    sides = []
    for side in (inputs, outputs):
        found = []
        for each in side:
            span = _placed(source, at, each.size)
            at = span.end
            found.append(
                DumpTensor(
                    each.dtype, format_name(each.format), each.dims, each.origin_dims, 1,
                    each.origin_name, each.origin_output, span,
                )
            )  # fmt: skip
        sides.append(tuple(found))
    return Dump("", sides[0], sides[1], source.data)


def _placed(source: DumpSource, start: int, size: int) -> ByteSpan:
    if start + size > len(source.data):
        raise source.fault(
            Text(
                "a tensor should end at byte {end}, but the file has {size}",
                end=start + size,
                size=len(source.data),
            )
        )
    return ByteSpan(start, start + size)


def format_name(number: int) -> str:
    """The name of a storage format; the low byte of the number is the format."""
    number &= 0xFF
    return FORMATS[number] if number < len(FORMATS) else f"FORMAT_{number}"


class _Message:
    """A `DumpData` message.

    Attributes of tensors have other numbers in inputs than in outputs.
    """

    _OUTPUT: ClassVar = {
        "dtype": 1, "format": 2, "shape": 3, "origin": 4, "data": 5, "size": 6, "origin_shape": 7,
        "sub_format": 8,
    }  # fmt: skip
    _INPUT: ClassVar = {
        "dtype": 1, "format": 2, "shape": 3, "data": 4, "size": 5, "origin_shape": 6, "sub_format": 7,
    }  # fmt: skip
    _OUTPUTS, _INPUTS, _NAME = 3, 4, 6

    def __init__(self, source: DumpSource, span: ByteSpan, data_at: int | None) -> None:
        """Prepare a message whose tensors stand from `data_at` on; None where they are within."""
        self._source, self._span, self._at = source, span, data_at

    def dump(self) -> Dump:
        fields = self._source.kept_fields(self._span)
        rows = [
            [field for field in fields.get(number, ()) if field.wire == BYTES]
            for number in (self._INPUTS, self._OUTPUTS)
        ]
        if len(rows[0]) + len(rows[1]) > _MOST_TENSORS:
            raise self._source.fault(Text("it has more than {most} tensors", most=_MOST_TENSORS))
        inputs = tuple(self._tensor(field, self._INPUT) for field in rows[0])
        outputs = tuple(self._tensor(field, self._OUTPUT) for field in rows[1])
        name = self._text(fields.get(self._NAME))
        return Dump(name, inputs, outputs, self._source.data)

    def _tensor(self, field: WireField, numbers: dict[str, int]) -> DumpTensor:
        fields = self._source.kept_fields(span_of(field))

        def number(name: str) -> int:
            found = fields.get(numbers[name])
            return self._source.number(found[-1]) if found else 0

        def dims(name: str) -> Shape:
            return self._dims(fields.get(numbers[name], ()))

        name, output = self._origin(fields.get(numbers.get("origin", 0)))
        kind = number("dtype")
        word = DATA_TYPES[kind] if 0 <= kind < len(DATA_TYPES) else f"DT_{kind}"
        return DumpTensor(
            dtype=dtype_name(word),
            layout=format_name(number("format")),
            dims=dims("shape"),
            origin_dims=dims("origin_shape"),
            groups=max(number("sub_format"), 1),
            origin_name=name,
            origin_output=output,
            span=self._place_of(fields.get(numbers["data"]), number("size")),
        )

    def _place_of(self, data: list[WireField] | None, size: int) -> ByteSpan:
        """The bytes of a tensor: the next ones after the message, or those within it."""
        if self._at is None:
            bodies = [span_of(field) for field in data or () if field.wire == BYTES]
            return bodies[-1] if bodies else ByteSpan(self._span.end, self._span.end)
        if size < 0:
            raise self._source.fault(Text("a tensor has a size beyond 2^63"))
        span = _placed(self._source, self._at, size)
        self._at = span.end
        return span

    def _origin(self, fields: list[WireField] | None) -> tuple[str, int]:
        found = [field for field in fields or () if field.wire == BYTES]
        if not found:
            return "", -1
        inner = self._source.kept_fields(span_of(found[-1]))
        output = inner.get(2)
        index = self._source.number(output[-1]) if output else 0
        is_known = 0 <= index < _MOST_TENSORS  # 2^32 - 1 stands for none
        return self._text(inner.get(1)), index if is_known else -1

    def _dims(self, fields: list[WireField] | tuple[()]) -> Shape:
        dims: list[int] = []
        for field in fields:
            if field.wire != BYTES:
                continue
            for row in self._source.fields(span_of(field)):
                if row.number == 1:
                    dims += self._bounded(row)
        if len(dims) > _MOST_RANK or any(dim < 0 for dim in dims):
            raise self._source.fault(Text("a tensor has dims that no tensor can have"))
        return tuple(dims)

    def _bounded(self, row: WireField) -> Iterator[int]:
        if row.wire == BYTES and row.end - row.body > _MOST_RANK * 10:
            raise self._source.fault(Text("a tensor has dims that no tensor can have"))
        return self._source.numbers(row)

    def _text(self, fields: list[WireField] | None) -> str:
        found = [field for field in fields or () if field.wire == BYTES]
        if not found:
            return ""
        field = found[-1]
        return self._source.text(field._replace(end=min(field.end, field.body + _MOST_TEXT)))


def _elements(tensor: DumpTensor, data: mmap | bytes) -> NDArray[Any]:
    """The elements in the order of storage; padding after them is left out."""
    try:
        dtype = DType.parse(tensor.dtype)
    except UnknownDTypeError:
        reason = Text("elements of dtype {dtype} are not read", dtype=tensor.dtype)
        raise UnreadTensorError(reason) from None
    size = tensor.span.size
    room = size * 2 if dtype is DType.INT4 else size // dtype.itemsize
    count = prod(tensor.dims) if tensor.dims or tensor.origin_dims else room
    if not tensor.dims and tensor.origin_dims:
        raise UnreadTensorError(Text("the file does not say its dims as stored"))
    if count > room:
        raise UnreadTensorError(
            Text(
                "{dims} of {dtype} need more than the {size} bytes that the file has",
                dims=format_shape(tensor.dims),
                dtype=tensor.dtype,
                size=size,
            )
        )
    body = data[tensor.span.start : tensor.span.end]
    if dtype is DType.INT4:
        return _nibbles(body)[:count].astype(dtype.numpy)
    return np.frombuffer(body, dtype.numpy.newbyteorder("<"), count)


def _nibbles(data: bytes) -> NDArray[np.int8]:
    """Two numbers of a byte, the one in its low half first."""
    packed = np.frombuffer(data, np.uint8)
    halves = np.stack([packed & 15, packed >> 4], axis=1).reshape(-1).astype(np.int8)
    signed: NDArray[np.int8] = np.where(halves > 7, halves - 16, halves).astype(np.int8)  # noqa: PLR2004
    return signed


def _unpacked(tensor: DumpTensor, stored: NDArray[Any]) -> NDArray[Any]:
    dims = tensor.origin_dims or tensor.dims
    if tensor.layout in _PLAIN:
        return _turned(stored, tensor.layout, dims)
    if tensor.layout == "FRACTAL_NZ":
        return _from_fractals(stored, dims)
    ranks = _BLOCKED.get(tensor.layout)
    if ranks is None:
        raise UnreadTensorError(
            Text("storage format {format} is not unpacked", format=tensor.layout)
        )
    if (len(dims), stored.ndim) != ranks:
        raise _unfit(tensor)
    storage = Storage(Format(tensor.layout), groups=tensor.groups)
    for axes in (Format.NCHW, Format.NHWC)[: 2 if tensor.layout == "NC1HWC0" else 1]:
        try:
            found = unpack_stored(stored, dims, axes, storage)
        except (ArithmeticError, IndexError, ValueError):
            continue
        if found.shape == dims:
            return found
    raise _unfit(tensor)


def _unfit(tensor: DumpTensor) -> UnreadTensorError:
    return UnreadTensorError(
        Text(
            "{dims} in {format} do not hold {wanted}",
            dims=format_shape(tensor.dims),
            format=tensor.layout,
            wanted=format_shape(tensor.origin_dims),
        )
    )


def _turned(stored: NDArray[Any], layout: str, dims: Shape) -> NDArray[Any]:
    """A tensor that is stored row by row; images may have their channels last."""
    if stored.size != prod(dims):
        raise UnreadTensorError(
            Text(
                "it has {found} as stored and {wanted} in the network",
                found=format_shape(stored.shape),
                wanted=format_shape(dims),
            )
        )
    if layout == "NHWC" and stored.shape != dims and stored.ndim == len(_CHW):
        turned: NDArray[Any] = stored.transpose(_CHW)
        if turned.shape == dims:
            return turned
    plain: NDArray[Any] = stored.reshape(dims)
    return plain


def _from_fractals(stored: NDArray[Any], dims: Shape) -> NDArray[Any]:
    """FRACTAL_NZ; a vector counts as a row, and outer axes may be one."""
    matrix = dims if len(dims) >= MATRIX_RANK else (1,) * (MATRIX_RANK - len(dims)) + dims
    outer = matrix[:-2]
    try:
        blocks = stored.reshape(*outer, *stored.shape[-4:])
        found = unpack_stored(blocks, matrix, Format.ND, Storage(Format.FRACTAL_NZ))
        whole: NDArray[Any] = found.reshape(dims)
    except (ArithmeticError, IndexError, ValueError):
        raise UnreadTensorError(
            Text(
                "{dims} in {format} do not hold {wanted}",
                dims=format_shape(stored.shape),
                format="FRACTAL_NZ",
                wanted=format_shape(dims),
            )
        ) from None
    return whole

"""TensorProto to constants: data inline, cut out of the model's file, or in a file beside it."""

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from onnx.onnx_pb import SparseTensorProto, TensorProto

from atc_py.diag import BAD_MODEL, BAD_TENSOR, Diagnostic, Place
from atc_py.ir import ConstData, DenseConst
from atc_py.onnx_graph.graph import OnnxGraph, ValueType
from atc_py.onnx_graph.reading.mapped import (
    ByteRange,
    ExternalFiles,
    MappedConst,
    MappedFile,
    number_entry,
)
from atc_py.onnx_graph.reading.nodes import text_of
from atc_py.onnx_graph.reading.wire import CutField, Slimmed
from atc_py.onnx_graph.source.model import FOLD_LIMIT, MOST_BYTES
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import MAX_RANK, Shape, element_count, format_shape, is_addressable
from atc_py.text import Text

_ELEMENTS: dict[int, DType] = {
    TensorProto.FLOAT: DType.FLOAT32,
    TensorProto.UINT8: DType.UINT8,
    TensorProto.INT4: DType.INT4,
    TensorProto.INT8: DType.INT8,
    TensorProto.UINT16: DType.UINT16,
    TensorProto.INT16: DType.INT16,
    TensorProto.INT32: DType.INT32,
    TensorProto.INT64: DType.INT64,
    TensorProto.BOOL: DType.BOOL,
    TensorProto.FLOAT16: DType.FLOAT16,
    TensorProto.DOUBLE: DType.FLOAT64,
    TensorProto.UINT32: DType.UINT32,
    TensorProto.UINT64: DType.UINT64,
    TensorProto.BFLOAT16: DType.BFLOAT16,
}
_LABELS = {dtype: dtype.value for dtype in DType}
"""Names by dtype: a look-up takes a quarter of what reading an Enum's value does."""

_NUMBERS = {dtype: number for number, dtype in _ELEMENTS.items()}

_FIELDS = {
    DType.FLOAT32: "float_data",
    DType.FLOAT64: "double_data",
    DType.INT64: "int64_data",
    DType.UINT32: "uint64_data",
    DType.UINT64: "uint64_data",
}
"""Fields that hold numbers one by one; dtypes that are not here use int32_data."""

_BITS_IN_INT32 = {DType.FLOAT16, DType.BFLOAT16}
"""dtypes whose bit patterns, not values, are in int32_data."""

_CONVERTED = {DType.INT4, DType.BOOL}
"""Dtypes whose bytes in a file are not those of an array."""

_NIBBLE, _BYTE = 0x0F, 0xFF

_CUTS = {CutField.FLOAT_DATA: DType.FLOAT32, CutField.DOUBLE_DATA: DType.FLOAT64}


def size_complaint(element: int, shape: Shape | None) -> Text | None:
    """The reason why a tensor of that type is too large (over MOST_BYTES), or None."""
    dtype = dtype_of_element(element)
    if dtype is None or shape is None:
        return None
    if 0 in shape and not is_addressable(shape):
        return Text("no array can have the dims {shape}", shape=format_shape(shape))
    size = element_count(shape) * dtype.itemsize
    if size <= MOST_BYTES:
        return None
    actual = f"{dtype.value} {format_shape(shape)}"
    return Text(
        "tensors have at most {most_bytes} bytes, {actual} would have {size}",
        most_bytes=MOST_BYTES,
        actual=actual,
        size=size,
    )


def dtype_of_element(number: int) -> DType | None:
    """The dtype with that number in ONNX, or None if the compiler does not support it."""
    return _ELEMENTS.get(number)


def element_of_dtype(dtype: DType) -> int:
    return _NUMBERS[dtype]


def element_name(number: int) -> str:
    """The name of an element type: that of the dtype, or else ONNX's."""
    dtype = dtype_of_element(number)
    if dtype is not None:
        return _LABELS[dtype]
    try:
        return str(TensorProto.DataType.Name(number)).lower()
    except ValueError:
        return f"number {number}"


def element_label(dtype: DType) -> str:
    """The name of an element type that the compiler supports."""
    return _LABELS[dtype]


def output_fault(graph: OnnxGraph, name: str, dtype: DType) -> Diagnostic | None:
    """The fault of the dtype that the file states for a graph output of `dtype`, or None."""
    stated = graph.declared.get(name)
    if stated is None or stated.element in {0, element_of_dtype(dtype)}:
        return None
    place = Place(file=str(graph.path), field=Text("output {at}", at=repr(name)))
    actual = element_name(stated.element)
    message = Text(
        "it is declared as {actual}, but the computed dtype is {dtype}",
        actual=actual,
        dtype=dtype.value,
    )
    return BAD_MODEL.diagnostic(message, place=place)


def tensor_shape(tensor: TensorProto, place: Place) -> Shape:
    """The tensor's dims.

    BAD_TENSOR if one is negative, if there are more than MAX_RANK, or if numpy can have no such
    array, not even an empty one.
    """
    shape = tuple(tensor.dims)
    if len(shape) > MAX_RANK:
        message = Text(
            "tensors have at most {max_rank} axes, found {count}",
            max_rank=MAX_RANK,
            count=len(shape),
        )
        raise BAD_TENSOR.error(message, place=place)
    if any(dim < 0 for dim in shape):
        listed = ", ".join(map(str, shape))
        raise BAD_TENSOR.error(
            Text("dims must not be negative, found [{listed}]", listed=listed), place=place
        )
    if not is_addressable(shape):
        message = Text("no array can have the dims {shape}", shape=format_shape(shape))
        raise BAD_TENSOR.error(message, place=place)
    return shape


def decode_inline(tensor: TensorProto, place: Place) -> npt.NDArray[Any]:
    """The array in the message itself; BAD_TENSOR for other dtypes, and data that do not fit."""
    dtype, shape = _type_of(tensor, place)
    if tensor.HasField("raw_data"):
        raw = tensor.raw_data
        _expect_bytes(len(raw), dtype, shape, place)
        if dtype is DType.INT4:
            return _unpacked_int4(np.frombuffer(raw, np.uint8), shape)
        if dtype is DType.BOOL:
            return np.not_equal(np.frombuffer(raw, np.uint8), 0).reshape(shape)
        return np.frombuffer(raw, dtype.numpy).reshape(shape)
    numbers = np.array(getattr(tensor, _FIELDS.get(dtype, "int32_data")))
    if dtype is DType.INT4:
        _expect_bytes(numbers.size, dtype, shape, place)
        return _unpacked_int4(_narrowed(numbers & _BYTE, DType.UINT8, place), shape)
    if numbers.size != element_count(shape):
        message = Text(
            "{size} numbers for shape {shape}", size=numbers.size, shape=format_shape(shape)
        )
        raise BAD_TENSOR.error(message, place=place)
    return _narrowed(numbers, dtype, place).reshape(shape)


class Elsewhere(NamedTuple):
    """Tensor data outside its message, with the field of the tensor that it would be in."""

    field: CutField
    span: ByteRange


class TensorReader:
    """Makes constants of the tensors of one file."""

    def __init__(self, file: MappedFile, slimmed: Slimmed, external: ExternalFiles) -> None:
        self._file = file
        self._slimmed = slimmed
        self._external = external

    @property
    def weight_files(self) -> tuple[Path, ...]:
        """The files beside the model that tensors were found in."""
        return tuple(self._external.files)

    @property
    def file_bytes(self) -> int:
        """Bytes of the model's own file."""
        return self._file.size

    def is_external(self, tensor: TensorProto) -> bool:
        """True if the file says that the data of a tensor is in another file."""
        return tensor.data_location == TensorProto.EXTERNAL and not any(
            self.is_marker(str(entry.value)) for entry in tensor.external_data
        )

    def is_marker(self, location: str) -> bool:
        """True for a location of external data that stands for data of the file itself."""
        return location.startswith(self._slimmed.token)

    def plain(self, tensor: TensorProto) -> ConstData | None:
        """A sound tensor whose bytes stand in the message, as those of most constants do.

        None for every other one, and for one that is at fault: `const` reads or refuses it.
        """
        dtype, raw = _ELEMENTS.get(tensor.data_type), tensor.raw_data
        if dtype is None or dtype in _CONVERTED or not raw or tensor.HasField("segment"):
            return None
        if tensor.data_location == TensorProto.EXTERNAL or tensor.external_data:
            return None
        shape = tuple(tensor.dims)
        sound = len(shape) <= MAX_RANK and min(shape, default=0) >= 0
        if not sound or element_count(shape) * dtype.itemsize != len(raw):
            return None
        return DenseConst(np.ndarray(shape, dtype.numpy, raw))

    def const(self, tensor: TensorProto, place: Place) -> ConstData:
        """The tensor as a constant; large data stays in its file.

        Raises:
            AtcError: BAD_TENSOR, EXTERNAL_DATA_MISSING or EXTERNAL_DATA_OUTSIDE.
        """
        entries, markers = self._entries(tensor, place)
        if markers:
            return self._cut_tensor(tensor, len(tensor.external_data), markers[0], place)
        if tensor.data_location != TensorProto.EXTERNAL:
            return DenseConst(decode_inline(tensor, place))
        dtype, shape = _type_of(tensor, place)
        span = self._external.locate(entries, _file_bytes(dtype, shape), place)
        return _mapped_const(span.file, span.start, dtype, shape)

    def elsewhere(self, tensor: TensorProto, place: Place) -> Elsewhere | None:
        """The place of the data of a tensor of any dtype outside the message itself.

        Raises:
            AtcError: BAD_TENSOR, EXTERNAL_DATA_MISSING or EXTERNAL_DATA_OUTSIDE.
        """
        entries, markers = self._entries(tensor, place)
        if markers:
            cut = self._slimmed.cuts[int(markers[0].removeprefix(self._slimmed.token))]
            return Elsewhere(cut.field, ByteRange(self._file, cut.start, cut.size))
        if tensor.data_location != TensorProto.EXTERNAL:
            return None
        dtype = dtype_of_element(tensor.data_type)
        if dtype is not None:
            size = _file_bytes(dtype, tuple(tensor.dims))
        else:
            size = number_entry(entries, "length", 0, place)
        span = self._external.locate(entries, size, place)
        return Elsewhere(CutField.RAW_DATA, span)

    def _entries(self, tensor: TensorProto, place: Place) -> tuple[dict[str, str], list[str]]:
        """The entries of external_data, and those that stand for data of the file itself."""
        entries = {
            text_of(entry.key, place): text_of(entry.value, place) for entry in tensor.external_data
        }
        return entries, [text for text in entries.values() if self.is_marker(text)]

    def _cut_tensor(
        self, tensor: TensorProto, entries: int, marker: str, place: Place
    ) -> ConstData:
        dtype, shape = _type_of(tensor, place)
        cut = self._slimmed.cuts[int(marker.removeprefix(self._slimmed.token))]
        fields = {*_FIELDS.values(), "int32_data", "string_data"}
        inline = tensor.HasField("raw_data") or any(len(getattr(tensor, name)) for name in fields)
        if entries > 1 or inline:
            raise BAD_TENSOR.error(Text("its data is in more than one place"), place=place)
        stored = _CUTS.get(cut.field, dtype)
        if stored is not dtype:
            message = Text(
                "its dtype is {dtype}, but its data is {stored}",
                dtype=dtype.value,
                stored=stored.value,
            )
            raise BAD_TENSOR.error(message, place=place)
        _expect_bytes(cut.size, dtype, shape, place)
        return _mapped_const(self._file, cut.start, dtype, shape)


def _type_of(tensor: TensorProto, place: Place) -> tuple[DType, Shape]:
    dtype = dtype_of_element(tensor.data_type)
    if dtype is None:
        name = element_name(tensor.data_type)
        raise BAD_TENSOR.error(
            Text("the element type {element} is not supported", element=name), place=place
        )
    if tensor.HasField("segment"):
        raise BAD_TENSOR.error(Text("tensors in segments are not supported"), place=place)
    return dtype, tensor_shape(tensor, place)


def _file_bytes(dtype: DType, shape: Shape) -> int:
    """The number of bytes of a tensor's data in an ONNX file, where two int4 share one."""
    count = element_count(shape)
    return -(-count // 2) if dtype is DType.INT4 else count * dtype.itemsize


def _mapped_const(file: MappedFile, start: int, dtype: DType, shape: Shape) -> ConstData:
    """The constant whose data starts at offset `start` of `file`; int4 is unpacked to memory."""
    if dtype is not DType.INT4:
        return MappedConst(file, start, dtype, shape)
    packed = MappedConst(file, start, DType.UINT8, (_file_bytes(dtype, shape),))
    return DenseConst(_unpacked_int4(packed.numpy(), shape))


def _unpacked_int4(packed: npt.NDArray[np.generic], shape: Shape) -> npt.NDArray[Any]:
    """Int4 out of bytes that hold two each, the first in the lower half."""
    octets = np.asarray(packed, np.uint8)
    halves = np.stack([octets & _NIBBLE, octets >> 4], axis=-1).reshape(-1)
    return halves[: element_count(shape)].view(DType.INT4.numpy).reshape(shape)


def _expect_bytes(actual: int, dtype: DType, shape: Shape, place: Place) -> None:
    """Refuse data that is longer or shorter than dtype and shape say."""
    wanted = _file_bytes(dtype, shape)
    if actual != wanted:
        message = Text(
            "{actual} bytes of data, but {dtype} {shape} has {wanted}",
            actual=actual,
            dtype=dtype.value,
            shape=format_shape(shape),
            wanted=wanted,
        )
        raise BAD_TENSOR.error(message, place=place)


def _narrowed(numbers: npt.NDArray[Any], dtype: DType, place: Place) -> npt.NDArray[Any]:
    """`numbers` of a field that is wider than `dtype`, in that dtype."""
    if dtype in _BITS_IN_INT32:
        bits = _narrowed(numbers, DType.UINT16, place)
        return bits.view(dtype.numpy)
    narrowed = numbers.astype(dtype.numpy)
    if dtype.is_integer and not np.array_equal(narrowed, numbers):
        raise BAD_TENSOR.error(
            Text("numbers out of range for {dtype}", dtype=dtype.value), place=place
        )
    return narrowed


def known_type(graph: OnnxGraph, name: str) -> ValueType | None:
    """All that is known of a value: an input, a constant, or what was inferred."""
    const = graph.consts.get(name)
    if const is not None:
        return ValueType(element_of_dtype(const.dtype), const.shape)
    return graph.types.get(name) or graph.inputs.get(name)


def dense_array(sparse: SparseTensorProto) -> NDArray[Any]:
    """A sparse tensor with its zeros; positions are linear, or one number an axis in each row.

    ValueError: it would be too large, or positions do not fit the values or the dims.
    """
    from onnx import numpy_helper

    values = numpy_helper.to_array(sparse.values).reshape(-1)
    positions = numpy_helper.to_array(sparse.indices)
    dims = tuple(sparse.dims)
    if min(dims, default=0) < 0 or math.prod(dims) * values.itemsize > FOLD_LIMIT:
        raise ValueError(Text("no tensor of dims {dims}", dims=dims))
    if positions.ndim > 1:
        positions = np.ravel_multi_index(tuple(positions.T), dims)
    inside = (positions >= 0) & (positions < math.prod(dims))
    if positions.shape != values.shape or not inside.all():
        raise ValueError("positions do not fit the values or the dims")
    dense = np.zeros(math.prod(dims), values.dtype)
    dense[positions] = values
    return dense.reshape(dims)

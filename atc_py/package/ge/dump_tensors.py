"""Tensors of dumps: from the order of their storage to the dims of the network."""

from math import prod
from mmap import mmap
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.package.ge.dump_statistics import Statistics
from atc_py.package.ge.source import ByteSpan
from atc_py.system.memory_limit import require_memory
from atc_py.tensor.dtypes import DType, Format, UnknownDTypeError
from atc_py.tensor.packing import unpack_stored
from atc_py.tensor.shapes import Shape, format_shape, is_addressable
from atc_py.tensor.storage import MATRIX_RANK, Storage
from atc_py.text import Text

_COPIES = 3
"""Arrays of the size of a tensor while it is unpacked."""

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
    """An input or output of a dump."""

    dtype: str  # by atc-py's name; CANN's in lower case where it has none
    layout: str  # storage format by its name
    dims: Shape  # as stored; none where the file does not say
    origin_dims: Shape  # as the network has them
    groups: int  # sub-format: groups of a filter
    # node of the network that it is a result of; empty where the file does not say
    origin_name: str
    origin_output: int  # which of that node's outputs
    span: ByteSpan  # its bytes in the file
    statistics: Statistics | None = None  # in place of bytes; None of a tensor that is whole


class UnreadTensorError(ValueError):
    """A tensor of a dump cannot be put in the dims of the network; the text says why."""

    def __init__(self, reason: Text) -> None:
        super().__init__(reason)


def format_name(number: int) -> str:
    """The name of a storage format; the low byte of the number is the format."""
    number &= 0xFF
    return FORMATS[number] if number < len(FORMATS) else f"FORMAT_{number}"


def unpacked(tensor: DumpTensor, data: mmap | bytes) -> NDArray[Any]:
    """The elements in the order and dims of the network; one row where the file says no dims.

    Raises:
        UnreadTensorError: they cannot be put so.
    """
    if not (is_addressable(tensor.dims) and is_addressable(tensor.origin_dims)):
        raise UnreadTensorError(Text("it has dims that no tensor can have"))
    require_memory(_COPIES * tensor.span.size, Text("a tensor of a dump"))
    elements = _elements(tensor, data)
    if not tensor.dims and not tensor.origin_dims:
        return elements
    return _unpacked(tensor, elements.reshape(tensor.dims))


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
        raise UnreadTensorError(Text("the file does not state its stored dims"))
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
        raise _unfit(tensor.dims, tensor.layout, tensor.origin_dims)
    storage = Storage(Format(tensor.layout), groups=tensor.groups)
    for axes in (Format.NCHW, Format.NHWC)[: 2 if tensor.layout == "NC1HWC0" else 1]:
        try:
            found = unpack_stored(stored, dims, axes, storage)
        except (ArithmeticError, IndexError, ValueError):
            continue
        if found.shape == dims:
            return found
    raise _unfit(tensor.dims, tensor.layout, tensor.origin_dims)


def _unfit(dims: Shape, layout: str, wanted: Shape) -> UnreadTensorError:
    shown = {"dims": format_shape(dims), "wanted": format_shape(wanted)}
    return UnreadTensorError(
        Text("{dims} in {format} cannot hold {wanted}", format=layout, **shown)
    )


def _turned(stored: NDArray[Any], layout: str, dims: Shape) -> NDArray[Any]:
    """A tensor that is stored row by row; images may have their channels last."""
    if stored.size != prod(dims):
        raise UnreadTensorError(
            Text(
                "it has dims {found} in storage and {wanted} in the network",
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
        raise _unfit(stored.shape, "FRACTAL_NZ", dims) from None
    return whole

"""Tensors of a real model in the target's terms: types with storage, constants unpacked."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.ir import ConstData, DeferredConst, TensorType
from atc_py.package.ge.graph import GeOp
from atc_py.package.ge.messages import GeTensorDesc
from atc_py.package.ge.model import HuaweiModel
from atc_py.tensor.dtypes import DType, Format, UnknownDTypeError
from atc_py.tensor.packing import unpack
from atc_py.tensor.shapes import format_shape
from atc_py.tensor.storage import (
    BLOCKED_FORMATS,
    FLOAT32_C0,
    Storage,
    stored_shape,
    why_impossible,
)
from atc_py.text import Text

_BLOCKED = {form.value: form for form in BLOCKED_FORMATS}
_RANKS = {Format.NCHW: 4, Format.NHWC: 4, Format.NCDHW: 5}
_BYTE = 8
_IMAGE_RANK = 4


class NotModeledError(ValueError):
    """An op of the file has no counterpart here; the text says why."""

    def __init__(self, reason: Text) -> None:
        super().__init__(reason)


def tensor_type(desc: GeTensorDesc, groups: int = 1) -> TensorType:
    """The type of a tensor: the dims that it has in the network, and how it is stored.

    `groups` are those of the convolution whose filter it is.
    """
    dtype = _dtype(desc)
    if min((*desc.dims, *desc.origin_dims), default=0) < 0:
        raise NotModeledError(Text("dims of a tensor are known only at run time"))
    form = _BLOCKED.get(desc.layout)
    if form is None:
        return TensorType(dtype, desc.dims, _axes(desc.layout, len(desc.dims)))
    dims = desc.origin_dims
    axes = _axes(desc.origin_layout, len(dims))
    for storage in (Storage(form, groups), Storage(form, groups, FLOAT32_C0)):
        possible = why_impossible(dims, axes, storage) is None
        if possible and stored_shape(dims, axes, storage, dtype) == desc.dims:
            return TensorType(dtype, dims, axes, storage)
    text = Text("{form} of {dims} is not stored as {stored}")
    values = {"dims": format_shape(dims), "stored": format_shape(desc.dims)}
    raise NotModeledError(text.with_values(form=desc.layout, **values))


def constant_data(
    model: HuaweiModel, op: GeOp, groups: int = 1
) -> tuple[DeferredConst, TensorType]:
    """The data of a constant in the order of its dims, read from the file when it is asked for.

    A vector that is stored as an image is an image of one pixel, whose channels are its elements.
    """
    found = model.constant(op)
    if found is None or not op.outputs:
        raise NotModeledError(Text("a constant has no data"))
    desc, span = op.outputs[0], found[1]
    dtype, dims = _dtype(desc), desc.origin_dims
    is_image = desc.layout == Format.NC1HWC0.value
    if is_image and len(dims) != _IMAGE_RANK and min(dims, default=1) > 0:
        kind = TensorType(dtype, (1, prod(dims), 1, 1), Format.NCHW, Storage(Format.NC1HWC0))
        if kind.stored_dims != desc.dims:
            raise NotModeledError(Text("a constant's storage does not match its dims"))
    else:
        kind = tensor_type(desc, groups)
    count = kind.stored_nbytes // dtype.itemsize
    if kind.stored_nbytes > span.size:
        text = Text("a constant has {size} bytes but should have {wanted}")
        raise NotModeledError(text.with_values(size=span.size, wanted=kind.stored_nbytes))

    def read() -> NDArray[Any]:
        packed = np.frombuffer(model.data(span), dtype.numpy, count)
        return unpack(packed, kind.shape, kind.format, kind.storage)

    return DeferredConst(dtype, kind.shape, (), read, f"constant {op.name!r}"), kind


def same_data(data: ConstData, shape: Sequence[int], dtype: DType | None = None) -> DeferredConst:
    """The data of a constant under another shape, perhaps in another dtype."""
    kind = dtype or data.dtype

    def convert(array: NDArray[Any]) -> NDArray[Any]:
        return array.reshape(shape).astype(kind.numpy)

    return DeferredConst(kind, tuple(shape), (data,), convert, "constant under another shape")


def _dtype(desc: GeTensorDesc) -> DType:
    try:
        dtype = DType.parse(desc.dtype)
    except UnknownDTypeError as error:
        raise NotModeledError(Text("tensors of {dtype} are not known", dtype=desc.dtype)) from error
    if dtype.bits < _BYTE and dtype is not DType.BOOL:
        raise NotModeledError(Text("tensors of {dtype} are not known", dtype=desc.dtype))
    return dtype


def _axes(layout: str, rank: int) -> Format:
    """The meaning of the axes; ND where the rank is not that of the layout."""
    form = next((form for form in _RANKS if form.value == layout), Format.ND)
    return form if _RANKS.get(form) == rank else Format.ND

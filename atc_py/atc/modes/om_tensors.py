"""A tensor of an offline model as ATC's `TensorDescriptor`."""

from typing import Any

from atc_py.atc.modes.formats import GE_DTYPE_NAMES, format_number
from atc_py.atc.modes.om_attributes import set_attribute
from atc_py.frontend.protos.ge_schema import DATA_TYPES
from atc_py.package.schema import OmTensor
from atc_py.package.stored import stored_dims
from atc_py.tensor.dtypes import DType

_OPEN = -1
_UNBOUNDED = (0, -1)
"""Range of a dim that only the run knows."""


def set_tensor(message: Any, tensor: OmTensor) -> None:
    """Fill a descriptor: the shape and layout that are stored, and what they were in the model."""
    message.dtype = DATA_TYPES.index(GE_DTYPE_NAMES[DType(tensor.dtype)])
    message.layout = tensor.format if tensor.storage is None else tensor.storage.format
    message.shape.dim.extend(_dims(stored_dims(tensor)))
    message.has_out_attr = True
    message.device_type = "NPU"
    message.real_dim_cnt = len(tensor.shape)
    set_attribute(message.attr["origin_shape"], _dims(tensor.shape), "ints")
    message.attr["origin_format"].s = tensor.format.encode()
    message.attr["origin_shape_initialized"].b = True
    number = format_number(message.layout)
    if number is not None:
        message.attr["format_for_int"].i = number
    if None in tensor.shape:
        ends = [_UNBOUNDED if dim is None else (dim, dim) for dim in tensor.shape]
        ranges = message.attr["shape_range"].list_list_int
        for pair in ends:
            ranges.list_list_i.add(list_i=pair)


def _dims(shape: tuple[int | None, ...] | list[int | None]) -> list[int]:
    """Return dims, -1 for one that only the run knows."""
    return [_OPEN if dim is None else dim for dim in shape]

"""Storage of the tensors of a description: shape and bytes."""

from atc_py.package.schema import OmTensor
from atc_py.package.stored_types import storage_of
from atc_py.tensor.dtypes import DType
from atc_py.tensor.formats import Format
from atc_py.tensor.shapes import Dims, element_count
from atc_py.tensor.storage import stored_shape


def stored_dims(tensor: OmTensor) -> Dims:
    """The shape of the array that holds a tensor, padding included; None for open dims.

    Raises:
        ImpossibleStorageError: a tensor of this type cannot have this storage.
    """
    dims = tuple(tensor.shape)
    if tensor.storage is None:
        return dims
    return stored_shape(dims, Format(tensor.format), storage_of(tensor), DType(tensor.dtype))


def stored_nbytes(tensor: OmTensor) -> int:
    """Bytes that a tensor takes; 0 for a tensor with open dims, whose size is not known.

    Raises:
        ImpossibleStorageError: a tensor of this type cannot have this storage.
    """
    dims = [0 if dim is None else dim for dim in stored_dims(tensor)]
    return element_count(dims) * DType(tensor.dtype).itemsize

"""Operands of a launch on the host as the device's memory stores them, and results read back."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.node import TensorFacts
from atc_py.diag.codes import OM_CONTENT
from atc_py.kernels.index import KernelEntry, PortEntry
from atc_py.tensor.dtypes import DType
from atc_py.tensor.formats import Format
from atc_py.tensor.packing import pack, unpack
from atc_py.tensor.shapes import closed_shape
from atc_py.tensor.storage import Storage, stored_shape
from atc_py.text import Text


class Unpacked(NamedTuple):
    """A result taken out of its storage.

    Attributes:
        array: its elements in their logical order.
        stray: elements of the padding that are not zero, though readers assume zeros.
    """

    array: NDArray[Any]
    stray: int


def packed_inputs(kernel: KernelEntry, arrays: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], ...]:
    """Return inputs as the kernel addresses them: in blocks or row by row.

    Args:
        kernel: its entry in the list of kernels.
        arrays: the inputs that are there.

    Raises:
        AtcError: OM_CONTENT where the list names a storage that an operand cannot have.
    """
    found = []
    for port, array in zip(kernel["inputs"], arrays, strict=True):
        origin, storage = _place(kernel, port, TensorFacts(_dtype(array), array.shape))
        found.append(array if storage is None else pack(array, origin, storage))
    return tuple(found)


def stored_outputs(kernel: KernelEntry, outputs: Sequence[TensorFacts]) -> tuple[TensorFacts, ...]:
    """Return the arrays that a kernel writes, as it addresses them.

    Raises:
        AtcError: OM_CONTENT as for inputs.
    """
    found = []
    for port, facts in zip(kernel["outputs"], outputs, strict=True):
        origin, storage = _place(kernel, port, facts)
        shape = closed_shape(stored_shape(facts.shape, origin, storage, facts.dtype))
        found.append(TensorFacts(facts.dtype, shape))
    return tuple(found)


def unpacked_result(
    kernel: KernelEntry, port: PortEntry, stored: NDArray[Any], facts: TensorFacts
) -> Unpacked:
    """Return a result as the kernel wrote it, of the type in `facts`."""
    origin, storage = _place(kernel, port, facts)
    if storage is None:
        return Unpacked(stored, 0)
    array = unpack(stored, facts.shape, origin, storage)
    inside = pack(np.ones(facts.shape, stored.dtype), origin, storage).reshape(-1) != 0
    return Unpacked(array, int(np.count_nonzero(stored.reshape(-1)[~inside] != 0)))


def _dtype(array: NDArray[Any]) -> DType:
    """Return the dtype of an array in its true dtype."""
    return DType.from_numpy(array.dtype)


def _place(
    kernel: KernelEntry, port: PortEntry, facts: TensorFacts
) -> tuple[Format, Storage | None]:
    """Return origin format and storage in which a kernel addresses an operand."""
    entry = port.get("storage")
    if entry is None or kernel.get("addresses") != "storage":
        return Format.ND, None
    try:
        origin = Format(port.get("format", ""))
        storage = Storage(Format(entry["format"]), entry["groups"], entry.get("c0", 0))
        stored_shape(facts.shape, origin, storage, facts.dtype)
    except ValueError as error:  # ImpossibleStorageError is one
        raise OM_CONTENT.error(
            Text(
                "{kernel} addresses {port} in a storage that it cannot have: {error}",
                kernel=kernel["name"],
                port=port["name"],
                error=error,
            ),
            help="convert the ONNX model again",
        ) from error
    return origin, storage

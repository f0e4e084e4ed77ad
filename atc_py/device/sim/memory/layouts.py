"""How each tensor of a model is stored: its bytes, packed and unpacked."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.package.node_view import TensorFacts
from atc_py.package.schema import OmMemory, OmModel
from atc_py.package.stored_types import storage_of
from atc_py.target import JOINED_IN_PLACE, find_operator
from atc_py.tensor.dtypes import Format
from atc_py.tensor.packing import pack, unpack
from atc_py.tensor.shapes import Shape, closed_shape, element_count
from atc_py.tensor.storage import stored_shape

Bytes = NDArray[np.uint8]


CHIP = "chip"
"""The place, in a memory plan, of what never reaches memory."""


class Layouts:
    """The storage of the tensors of one model; methods take the position of a tensor.

    Attributes:
        roots: of each tensor the one whose bytes it shows; itself where it has bytes of its own.
    """

    def __init__(self, types: Sequence[TensorFacts], model: OmModel) -> None:
        self._types = types
        self._origins = [Format(tensor.format) for tensor in model.tensors]
        self._storages = [storage_of(tensor) for tensor in model.tensors]
        self.roots = _roots(model)
        self._wholes = _wholes(model)

    def images(self, tensor: int, shape: Shape) -> tuple[int, int]:
        """The pieces in which a tensor is stored, and the bytes from one to the next.

        What is computed inside another tensor has a piece in each image of that.
        """
        whole = self._wholes.get(tensor)
        if whole is None:
            return 1, 0
        count = shape[0]
        return count, self.nbytes(whole, self._types[whole].shape) // max(1, count)

    def nbytes(self, tensor: int, shape: Shape) -> int:
        dtype = self._types[tensor].dtype
        stored = stored_shape(shape, self._origins[tensor], self._storages[tensor], dtype)
        return element_count(closed_shape(stored)) * dtype.itemsize

    def total(self, memory: OmMemory | None) -> int:
        """Bytes of a plan's arena and of all tensors of known dims elsewhere.

        Without a plan every tensor is stored elsewhere.
        """
        places = memory.places if memory else [""] * len(self.roots)
        return (memory.arena if memory else 0) + sum(
            self.nbytes(tensor, facts.shape)
            for tensor, (facts, place) in enumerate(zip(self._types, places, strict=True))
            if isinstance(place, str)
            and place != CHIP
            and self.roots[tensor] == tensor
            and not facts.is_open
        )

    def packed(self, tensor: int, array: NDArray[Any]) -> Bytes:
        packed = pack(array, self._origins[tensor], self._storages[tensor])
        return packed.reshape(-1).view(np.uint8)

    def unpacked(self, tensor: int, stored: Bytes, shape: Shape) -> NDArray[Any]:
        elements = stored.view(self._types[tensor].dtype.numpy)
        return unpack(elements, shape, self._origins[tensor], self._storages[tensor])


def _roots(model: OmModel) -> list[int]:
    wholes = _wholes(model)
    roots = [wholes.get(tensor, tensor) for tensor in range(len(model.tensors))]
    for node in model.nodes:
        row = find_operator(node.op)
        if row is not None and not row.launches_kernel:
            for tensor in node.outputs:
                roots[tensor] = roots[node.inputs[0]]
    return roots


def _wholes(model: OmModel) -> dict[int, int]:
    """For each tensor that is computed inside another one, that one."""
    return {
        part: node.outputs[0]
        for node in model.nodes
        if node.op == JOINED_IN_PLACE
        for part in node.inputs
    }

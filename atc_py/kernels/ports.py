"""Operands of kernels, tensors beside their queues, and formulas, as families and templates see them."""

from collections.abc import Sequence
from typing import Any

import msgspec

from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Shape, closed_shape
from atc_py.tensor.storage import Storage, stored_shape


class KernelPort(msgspec.Struct, frozen=True):
    """An operand of a kernel that is there."""

    name: str  # its C++ name, unique in the kernel
    position: int  # its place among the node's inputs or outputs
    dtype: DType
    format: str  # what the axes mean
    ctype: str  # element type in C++ on the AI Core
    host: str  # element type in C++ on the AI CPU
    storage: Storage | None = None  # the blocked format in which it is stored; None for row by row

    @property
    def layout(self) -> str:
        """The format in which it is stored, by its name in CANN."""
        name: str = self.format if self.storage is None else self.storage.format.value
        return name

    def stored(self, shape: Shape) -> Shape:
        dims = stored_shape(shape, Format(self.format), self.storage, self.dtype)
        return closed_shape(dims)


CTYPE_SIZES = {
    "half": 2, "bfloat16_t": 2, "float": 4, "double": 8,
    **{f"{sign}int{bits}_t": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip
"""Bytes an element of C++ types."""


class Scratch(msgspec.Struct, frozen=True):
    """A tensor beside the queues."""

    name: str
    ctype: str  # its C++ type
    mask: bool = False  # whether it has one bit an element instead of one of its type

    @property
    def bits(self) -> int:
        return 1 if self.mask else 8 * CTYPE_SIZES[self.ctype]

    @property
    def size(self) -> str:
        return "row_->bufferLength / 8" if self.mask else f"row_->bufferLength * {self.bits // 8}"


class Loaded(msgspec.Struct, frozen=True):
    """A tensor that a kernel loads tile by tile."""

    name: str
    port: KernelPort  # the operand that it is loaded from
    ctype: str  # its C++ type in the buffer
    load: str | None = None  # the member function that loads it; None for the plain copy


class Formula(msgspec.Struct, frozen=True):
    """An elementwise kernel's way to compute."""

    compute: str  # C++ type of its arithmetic, or `scalar` for the scalar unit
    # tensors to load; inputs that are not among them are single values
    operands: tuple[Loaded, ...]
    wide: bool = False  # True if operands and result go through float32
    scratch: tuple[Scratch, ...] = ()  # further tensors
    along_channels: bool = False  # True if operands but the first have one element for each channel
    context: tuple[tuple[str, Any], ...] = ()  # what else the template knows


def loaded(ports: Sequence[KernelPort]) -> tuple[Loaded, ...]:
    return tuple(Loaded(port.name, port, port.ctype) for port in ports)

"""Operands of kernels, tensors beside their queues, and formulas, as families and templates see them."""

from collections.abc import Sequence
from typing import Any

import msgspec

from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Shape, closed_shape
from atc_py.tensor.storage import Storage, stored_shape


class KernelPort(msgspec.Struct, frozen=True):
    """An operand of a kernel that is there.

    Attributes:
        name: its C++ name, unique in the kernel.
        position: its place among the node's inputs or outputs.
        format: what the axes mean.
        storage: the blocked format in which it is stored; None for row by row.
        ctype: element type in C++ on the AI Core.
        host: element type in C++ on the AI CPU.
    """

    name: str
    position: int
    dtype: DType
    format: str
    ctype: str
    host: str
    storage: Storage | None = None

    @property
    def layout(self) -> str:
        """The format in which it is stored, by its name in CANN."""
        name: str = self.format if self.storage is None else self.storage.format.value
        return name

    def stored(self, shape: Shape) -> Shape:
        """The shape of the array that holds an operand of `shape`."""
        dims = stored_shape(shape, Format(self.format), self.storage, self.dtype)
        return closed_shape(dims)


CTYPE_SIZES = {
    "half": 2, "bfloat16_t": 2, "float": 4, "double": 8,
    **{f"{sign}int{bits}_t": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip
"""Bytes an element of C++ types."""


class Scratch(msgspec.Struct, frozen=True):
    """A tensor beside the queues.

    Attributes:
        ctype: its C++ type.
        mask: whether it has one bit an element instead of one of its type.
    """

    name: str
    ctype: str
    mask: bool = False

    @property
    def bits(self) -> int:
        return 1 if self.mask else 8 * CTYPE_SIZES[self.ctype]

    @property
    def size(self) -> str:
        """Its bytes, in C++."""
        return "row_->bufferLength / 8" if self.mask else f"row_->bufferLength * {self.bits // 8}"


class Loaded(msgspec.Struct, frozen=True):
    """A tensor that a kernel loads tile by tile.

    Attributes:
        port: the operand that it is loaded from.
        ctype: its C++ type in the buffer.
        load: the member function that loads it; None for the plain copy.
    """

    name: str
    port: KernelPort
    ctype: str
    load: str | None = None


class Formula(msgspec.Struct, frozen=True):
    """An elementwise kernel's way to compute.

    Attributes:
        compute: C++ type of its arithmetic, or `scalar` for the scalar unit.
        operands: tensors to load; inputs that are not among them are single values.
        wide: True if operands and result go through float32.
        scratch: further tensors.
        along_channels: True if operands but the first have one element for each channel.
        context: what else the template knows.
    """

    compute: str
    operands: tuple[Loaded, ...]
    wide: bool = False
    scratch: tuple[Scratch, ...] = ()
    along_channels: bool = False
    context: tuple[tuple[str, Any], ...] = ()


def loaded(ports: Sequence[KernelPort]) -> tuple[Loaded, ...]:
    """Operands that are loaded as they are."""
    return tuple(Loaded(port.name, port, port.ctype) for port in ports)

"""Tensors that a kernel has beside its queues."""

import msgspec

CTYPE_SIZES = {
    "half": 2, "bfloat16_t": 2, "float": 4, "double": 8,
    **{f"{sign}int{bits}_t": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip
"""Bytes an element of C++ types."""


class Scratch(msgspec.Struct, frozen=True):
    """A tensor beside the queues.

    Attributes:
        name: its name in the kernel.
        ctype: its C++ type.
        mask: whether it has one bit an element instead of one of its type.
    """

    name: str
    ctype: str
    mask: bool = False

    @property
    def bits(self) -> int:
        """Bits an element."""
        return 1 if self.mask else 8 * CTYPE_SIZES[self.ctype]

    @property
    def size(self) -> str:
        """Its bytes, in C++."""
        return "row_->bufferLength / 8" if self.mask else f"row_->bufferLength * {self.bits // 8}"

"""Operands of kernels, as families and templates see them."""

import msgspec

from atc_py.tensor.dtypes import DType
from atc_py.tensor.formats import Format
from atc_py.tensor.shapes import Shape, closed_shape
from atc_py.tensor.storage import Storage, stored_shape


class KernelPort(msgspec.Struct, frozen=True):
    """An operand of a kernel that is there.

    Attributes:
        name: its C++ name, unique in the kernel.
        position: its place among the node's inputs or outputs.
        dtype: element type.
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

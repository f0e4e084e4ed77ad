"""Constants of kernels as bits."""

import msgspec
import numpy as np

from atc_py.ir import AttrValue
from atc_py.tensor.dtypes import DType


class Word(msgspec.Struct, frozen=True):
    """A constant as `Duplicate` fills memory with it.

    Attributes:
        word: the C++ type of 16 or 32 bits.
        bits: its value, as a C++ literal.
        text: the intended constant.
    """

    word: str
    bits: str
    text: str


def repeated_word(value: AttrValue | None, dtype: DType) -> Word:
    """`value` in `dtype` (at most 4 bytes); a constant of one byte fills the word twice."""
    with np.errstate(all="ignore"):
        constant = np.asarray(value).astype(dtype.numpy)
    data = constant.tobytes()
    size = max(2, len(data))
    bits = int.from_bytes(data * (size // len(data)), "little")
    return Word(f"uint{8 * size}_t", f"0x{bits:0{2 * size}x}u", f"{constant} as {dtype.value}")

"""Number formats of the simulator: carriers of 16-bit floats, and rounding onto their grids.

Carrier rule. numpy converts and computes float16 one element at a time, so the simulator keeps
float16 and bfloat16 tensors in float32 arrays whose values lie on the 16-bit type's grid. A
kernel computes in float32 and its results are rounded onto the grid once, at its boundary. For a
single addition, subtraction, multiplication, division or square root of float16 operands that is
bit-identical to native float16 arithmetic: rounding twice is innocuous when the wider format
has at least 2p + 2 bits of significand (Figueroa 1995), and float32 has 24 = 2 * 11 + 2. int4
lives in int8, which numpy computes in. Every other dtype is its own carrier.

Rounding to float16. For x in the binade of e = 2^E, E >= -14, neighbours on the grid are 2^(E-10)
apart. That is the spacing of float32 around c = 1.5 * 2^13 * e, so (x + c) - c is x rounded half
to even: the addition rounds, the subtraction is exact. Below 2^-14 the spacing stays 2^-24, which
e = max(e, 2^-14) gives. Zeros come out without their sign, which is put back; blocks that hold
values of 65520 and more, infinities or NaN go the slow way through numpy's conversion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.dtypes import DType

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["carrier_dtype", "from_carrier", "is_rounded", "round_to_grid", "to_carrier"]

_BLOCK = 32 * 1024
"""Elements rounded at a time: input, scratch and output of a block stay in the L2 cache.

One thread does it: passes over a block take microseconds, and handing the interpreter's lock to
and fro between two threads takes longer than the second one saves.
"""

_EXPONENT = np.uint32(0x7F800000)
_SIGN = np.uint32(0x80000000)
_MAGNITUDE = np.uint32(0x7FFFFFFF)

# Float32 bit patterns, of which the order as integers is the order of the values.
_TO_ANCHOR = np.uint32((13 << 23) + (1 << 22))  # added to the bits of e gives those of c
_LEAST_NORMAL = 0x38800000  # 2^-14
_LEAST_SUBNORMAL = 0x33800000  # 2^-24
_LAST_BINADE = 0x47000000  # 2^15
_OVERFLOW = 65520.0  # halfway between the largest float16 and the next that it lacks

_FLOOR = np.full(_BLOCK, _LEAST_NORMAL, np.uint32)
_FLOOR.flags.writeable = False  # an array, because numpy's maximum with a scalar is 3 times slower

_BF16_LOW_BITS = np.uint32(16)
_BF16_HALF = np.uint32(0x7FFF)
_BF16_KEPT = np.uint32(0xFFFF0000)


def is_rounded(dtype: DType) -> bool:
    """Whether tensors of `dtype` live in a wider carrier and need rounding."""
    return dtype in {DType.FLOAT16, DType.BFLOAT16}


def carrier_dtype(dtype: DType) -> np.dtype[Any]:
    """Element type of the arrays that hold tensors of `dtype` inside the simulator."""
    if dtype is DType.INT4:
        return np.dtype(np.int8)
    return np.dtype(np.float32) if is_rounded(dtype) else dtype.numpy


def to_carrier(array: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """`array`, of `dtype`, as its carrier: C order, native byte order; copied only if need be."""
    return np.ascontiguousarray(array, dtype=carrier_dtype(dtype)).reshape(array.shape)


def from_carrier(array: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """A new array of the true `dtype` with the values of a carrier."""
    return array.astype(dtype.numpy)


def round_to_grid(
    x: NDArray[np.float32], dtype: DType, out: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """`x` rounded to `dtype`, half to even, as float32 values on the grid of `dtype`.

    Bit-exact with numpy's and ml_dtypes' conversions there and back: subnormals and the sign of
    zero are kept, what is too large becomes infinite, NaN stays NaN.

    Args:
        x: float32 in C order, any shape.
        dtype: FLOAT16 or BFLOAT16; for another nothing is rounded.
        out: where to write, in C order; may be `x` itself but not overlap it otherwise.
    """
    if out is None:
        out = np.empty(x.shape, np.float32)
    if not is_rounded(dtype):
        np.copyto(out, x)
        return out
    round_block = _round_float16 if dtype is DType.FLOAT16 else _round_bfloat16
    source, target = x.reshape(-1), out.reshape(-1)
    scratch = np.empty(min(source.size, _BLOCK), np.uint32)
    for start in range(0, source.size, _BLOCK):
        block = source[start : start + _BLOCK]
        round_block(block, target[start : start + _BLOCK], scratch[: block.size])
    return out


def _round_float16(
    x: NDArray[np.float32], out: NDArray[np.float32], scratch: NDArray[np.uint32]
) -> None:
    """Round one block; the module's docstring derives the arithmetic."""
    bits = x.view(np.uint32)
    np.bitwise_and(bits, _EXPONENT, out=scratch)
    low, high = np.minimum.reduce(scratch), np.maximum.reduce(scratch)
    if high >= _LAST_BINADE and not np.abs(x).max() < _OVERFLOW:
        with np.errstate(over="ignore", invalid="ignore"):
            out[...] = x.astype(np.float16)
        return
    signs = bits & _SIGN if low < _LEAST_SUBNORMAL else None
    if low < _LEAST_NORMAL:
        np.maximum(scratch, _FLOOR[: scratch.size], out=scratch)
    np.add(scratch, _TO_ANCHOR, out=scratch)
    anchor = scratch.view(np.float32)
    np.add(x, anchor, out=out)
    np.subtract(out, anchor, out=out)
    if signs is not None:
        rounded = out.view(np.uint32)
        np.bitwise_or(rounded, signs, out=rounded)


def _round_bfloat16(
    x: NDArray[np.float32], out: NDArray[np.float32], scratch: NDArray[np.uint32]
) -> None:
    """Round one block: add just under half of the last place kept, one more if it is odd, cut."""
    bits = x.view(np.uint32)
    np.bitwise_and(bits, _MAGNITUDE, out=scratch)
    if np.maximum.reduce(scratch) > _EXPONENT:
        with np.errstate(invalid="ignore"):
            out[...] = x.astype(DType.BFLOAT16.numpy)
        return
    np.right_shift(bits, _BF16_LOW_BITS, out=scratch)
    np.bitwise_and(scratch, np.uint32(1), out=scratch)
    np.add(scratch, _BF16_HALF, out=scratch)
    np.add(scratch, bits, out=scratch)
    np.bitwise_and(scratch, _BF16_KEPT, out=out.view(np.uint32))

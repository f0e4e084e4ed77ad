"""Number formats of the simulator: carriers of 16-bit floats, and rounding onto their grids.

Carrier rule. numpy converts and computes float16 one element at a time, so the simulator keeps
float16 and bfloat16 tensors in float32 arrays whose values are on the 16-bit type's grid. A
kernel computes in float32 and its results are rounded onto the grid once, at its boundary. For a
single addition, subtraction, multiplication, division or square root of float16 operands that is
bit-identical to native float16 arithmetic: rounding twice is innocuous when the wider format
has at least 2p + 2 bits of significand (Figueroa 1995), and float32 has 24 = 2 * 11 + 2. int4
lives in int8, which numpy computes in. Every other dtype is its own carrier.

Rounding to float16. For x in the binade of e = 2^E, E >= -14, neighbors on the grid are 2^(E-10)
apart. That is the spacing of float32 around c = 1.5 * 2^13 * e, so (x + c) - c is x rounded half
to even: the addition rounds, the subtraction is exact. Below 2^-14 the spacing stays 2^-24, which
e = max(e, 2^-14) gives. Zeros come out without their sign, which is put back; blocks that hold
values of 65520 and more, infinities or NaN go the slow way through numpy's conversion.

Two kinds of values take less. For sums of two numbers on the grid, which are multiples of 2^-24,
p = 8193 x rounded to float32 leaves p - (p - x), which is x rounded half to even (Veltkamp's
splitting); zeros keep their sign. For x >= 0, p = max(8193 x, 3 / 4) does the same: as long
as 3 / 4 is larger, p - x is where the spacing of float32 is 2^-24.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from atc_py.device.sim.execution.parallel import ELEMENTS_AT_ONCE
from atc_py.tensor.dtypes import DType


def _constant(value: float, dtype: DTypeLike) -> NDArray[Any]:
    """An array without dims, which numpy else makes of a number in every call."""
    array = np.array(value, dtype)
    array.flags.writeable = False
    return array


_EXPONENT = _constant(0x7F800000, np.uint32)
_SIGN = _constant(0x80000000, np.uint32)
_MAGNITUDE = _constant(0x7FFFFFFF, np.uint32)

# Float32 bit patterns, of which the order as integers is the order of the values.
_TO_ANCHOR = _constant((13 << 23) + (1 << 22), np.uint32)  # added to the bits of e gives those of c
_LEAST_NORMAL = 0x38800000  # 2^-14
_LEAST_SUBNORMAL = 0x33800000  # 2^-24
_OVERFLOW = 65520.0  # halfway between the largest float16 and the next that it lacks
_SAFE_SQUARES = 2.0**31  # a sum of squares below it has no term of 65520 and more, and no NaN

_FLOOR = np.full(ELEMENTS_AT_ONCE, _LEAST_NORMAL, np.uint32)
_FLOOR.flags.writeable = False  # an array, because numpy's maximum with a scalar is 3 times slower

_SPLIT = _constant(8193, np.float32)
_LEAST_SPLIT = np.full(ELEMENTS_AT_ONCE, 0.75, np.float32)
_LEAST_SPLIT.flags.writeable = False

_FEW = 64
"""Elements that numpy converts to float16 and back in no more time than the steps take, even where
all of them are subnormal, which takes it 100 ns each."""

_BF16_LOW_BITS = _constant(16, np.uint32)
_BF16_HALF = _constant(0x7FFF, np.uint32)
_BF16_KEPT = _constant(0xFFFF0000, np.uint32)
_ONE = _constant(1, np.uint32)


class Kind(Enum):
    """The facts known of values to round; the module's docstring says what for.

    ANY: nothing.
    SUMS: each is the sum or difference of two values of the dtype.
    POSITIVE: each is 0 or more, or NaN; zeros lose their sign.
    BOUNDED: as POSITIVE, and no more than the largest value of float16.
    """

    ANY = "any"
    SUMS = "sums"
    POSITIVE = "positive"
    BOUNDED = "bounded"


def is_rounded(dtype: DType) -> bool:
    """True if tensors of `dtype` live in a wider carrier and need rounding."""
    return dtype in {DType.FLOAT16, DType.BFLOAT16}


def carrier_dtype(dtype: DType) -> np.dtype[Any]:
    """Element type of the arrays that hold tensors of `dtype` inside the simulator."""
    if dtype is DType.INT4:
        return np.dtype(np.int8)
    return np.dtype(np.float32) if is_rounded(dtype) else dtype.numpy


def to_carrier(array: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """`array` of `dtype` as its carrier, in C order and native byte order, or itself."""
    found = np.ascontiguousarray(array, dtype=carrier_dtype(dtype))
    return found if found.shape == array.shape else found.reshape(array.shape)


def from_carrier(array: NDArray[Any], dtype: DType) -> NDArray[Any]:
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
    scratch = np.empty(2 * min(x.size, ELEMENTS_AT_ONCE), np.uint32)
    with np.errstate(over="ignore", invalid="ignore"):
        for block in _blocks(x, out, scratch):
            block.bound(dtype)()
    return out


def rounding(
    x: NDArray[np.float32],
    dtype: DType,
    scratch: NDArray[np.uint32],
    kind: Kind = Kind.ANY,
    source: NDArray[np.float32] | None = None,
) -> Callable[[], object]:
    """A function that rounds `x` in place to `dtype` each time, as `round_to_grid` does.

    Infinities and NaN make numpy warn there, unless the caller has it ignore them.

    Args:
        x: float32 in C order, any shape.
        dtype: FLOAT16 or BFLOAT16.
        scratch: 2 * ELEMENTS_AT_ONCE elements that nothing else uses during a call.
        kind: what is known of x.
        source: as many numbers, in C order, that are rounded to `x` instead of what that holds.
    """
    blocks = _blocks(x if source is None else source, x, scratch)
    launches = [block.bound(dtype, kind) for block in blocks]
    if len(launches) == 1:
        return launches[0]

    def launch() -> None:
        for step in launches:
            step()

    return launch


class _Block:
    """Elements that are rounded together, as the views that this takes."""

    __slots__ = ("anchor", "bits", "floor", "least", "out", "rounded", "scratch", "signs", "x")

    def __init__(
        self, x: NDArray[np.float32], out: NDArray[np.float32], scratch: NDArray[np.uint32]
    ) -> None:
        self.x, self.out = x, out
        self.scratch, self.signs = scratch[: x.size], scratch[x.size : 2 * x.size]
        self.bits, self.rounded = x.view(np.uint32), out.view(np.uint32)
        self.anchor = self.scratch.view(np.float32)
        self.floor, self.least = _FLOOR[: x.size], _LEAST_SPLIT[: x.size]

    def bound(self, dtype: DType, kind: Kind = Kind.ANY) -> Callable[[], object]:
        x, out, scratch = self.x, self.out, self.scratch
        if dtype is DType.BFLOAT16:
            return partial(_round_bfloat16, x, out, scratch)
        if kind is Kind.BOUNDED:
            return self._round_positive
        if x.size <= _FEW and kind is not Kind.POSITIVE:
            return partial(_convert, x, scratch.view(np.float16)[: x.size], out)
        steps, dot = self._round_sums if kind is Kind.SUMS else self._round_positive, x.dot
        if kind is Kind.ANY:
            steps = self._bound_any()

        def launch() -> None:
            if float(dot(x)) < _SAFE_SQUARES or np.abs(x).max() < _OVERFLOW:
                steps()
            else:
                out[...] = x.astype(np.float16)

        return launch

    def _round_sums(self) -> None:
        """Round multiples of 2^-24."""
        x, out, anchor = self.x, self.out, self.anchor
        np.multiply(x, _SPLIT, anchor)
        np.subtract(anchor, x, out)
        np.subtract(anchor, out, out)

    def _round_positive(self) -> None:
        """Round values of 0 or more."""
        x, out, anchor = self.x, self.out, self.anchor
        np.multiply(x, _SPLIT, anchor)
        np.maximum(anchor, self.least, out=anchor)
        np.subtract(anchor, x, out)
        np.subtract(anchor, out, out)

    def _bound_any(self) -> Callable[[], None]:
        """A function that rounds finite values; arrays are looked up here, once."""
        x, out, scratch, anchor = self.x, self.out, self.scratch, self.anchor
        bits, rounded, signs, floor = self.bits, self.rounded, self.signs, self.floor
        # argmin takes half the time of minimum.reduce, and numbers of Python compare faster
        lowest, number = scratch.argmin, scratch.item

        def launch() -> None:
            np.bitwise_and(bits, _EXPONENT, scratch)
            low = number(lowest())
            has_zeros = low < _LEAST_SUBNORMAL
            if has_zeros:
                np.bitwise_and(bits, _SIGN, signs)
            if low < _LEAST_NORMAL:
                np.maximum(scratch, floor, out=scratch)
            np.add(scratch, _TO_ANCHOR, scratch)
            np.add(x, anchor, out)
            np.subtract(out, anchor, out)
            if has_zeros:
                np.bitwise_or(rounded, signs, rounded)

        return launch


def _convert(x: NDArray[np.float32], half: NDArray[np.float16], out: NDArray[np.float32]) -> None:
    """Round a few values, of any kind but POSITIVE: zeros keep their sign."""
    np.copyto(half, x, "same_kind")
    np.copyto(out, half)


def _blocks(
    x: NDArray[np.float32], out: NDArray[np.float32], scratch: NDArray[np.uint32]
) -> Iterator[_Block]:
    source, target = x.reshape(-1), out.reshape(-1)
    for start in range(0, source.size, ELEMENTS_AT_ONCE):
        part = source[start : start + ELEMENTS_AT_ONCE]
        yield _Block(part, target[start : start + ELEMENTS_AT_ONCE], scratch)


def _round_bfloat16(
    x: NDArray[np.float32], out: NDArray[np.float32], scratch: NDArray[np.uint32]
) -> None:
    """Round one block: add just under half of the last place kept, one more if it is odd, cut."""
    bits = x.view(np.uint32)
    np.bitwise_and(bits, _MAGNITUDE, out=scratch)
    if np.maximum.reduce(scratch) > _EXPONENT:
        out[...] = x.astype(DType.BFLOAT16.numpy)
        return
    np.right_shift(bits, _BF16_LOW_BITS, out=scratch)
    np.bitwise_and(scratch, _ONE, out=scratch)
    np.add(scratch, _BF16_HALF, out=scratch)
    np.add(scratch, bits, out=scratch)
    np.bitwise_and(scratch, _BF16_KEPT, out=out.view(np.uint32))

"""Scale words: the 64-bit numbers that carry factor, shift and offset of (re)quantization.

There are two packings. The graph word is what quantization tools write into a model:

    bits 31:0   factor, the bits of a float32
    bits 39:32  N, the count of a right shift; 0 where there is none
    bits 47:40  offset_w, the offset of the weights, signed

The hardware word is what the units of the device read, and with it AscendRequant and the S16 pair:

    bits 31:13  factor, a float32 cut off to sign, exponent and 10 bits of fraction
    bits 35:32  N - 1
    bits 45:37  offset, signed
    bit  46     the 8-bit result is signed
    bit  47     negative values become zero

Both have the factor in the same place, so a graph word without N and offset_w is a hardware word.
Sources: the published layouts of CANN's quantization toolkit and of its operator TransQuantParamV2.
"""

from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.tensor.shapes import Dims
from atc_py.text import Text

Words: TypeAlias = NDArray[np.uint64]
Integers: TypeAlias = NDArray[np.int64]

_FACTOR = np.uint64(0xFFFFFFFF)
_FACTOR_19 = np.uint64(0xFFFFE000)
_SHIFTS = (1, 16)
_OFFSETS = (-256, 255)


class WordRangeError(ValueError):
    """A field does not fit the bits that a word has for it."""


class GraphWords(msgspec.Struct, frozen=True, eq=False):
    """Graph words taken apart; the arrays have one shape."""

    scale: NDArray[np.float32]  # factors, float32
    shift: Integers  # N from 0 to 255; 0 where there is no shift
    offset_w: Integers  # offsets of the weights from -128 to 127


class HardwareWords(msgspec.Struct, frozen=True, eq=False):
    """Hardware words taken apart; the arrays have one shape."""

    scale: NDArray[np.float32]  # factors, float32 of which the low 13 bits are 0
    shift: Integers  # N from 1 to 16
    offset: Integers  # offsets of the result from -256 to 255
    relu: NDArray[np.bool_]  # whether negative values become zero
    signed: NDArray[np.bool_]  # whether the 8-bit result is signed


def encode_graph(parts: GraphWords) -> Words:
    """The graph words of `parts`; WordRangeError where a factor or a field does not fit."""
    words: Words = (
        _factor_bits(parts.scale)
        | _field("shift", parts.shift, (0, 255)) << np.uint64(32)
        | _field("offset_w", parts.offset_w, (-128, 127)) << np.uint64(40)
    )
    return words


def decode_graph(words: Words) -> GraphWords:
    """The parts of graph words; bits 63:48 have no meaning."""
    return GraphWords(
        _factor(words & _FACTOR),
        _unsigned(words, 32, 8),
        _twos_complement(_unsigned(words, 40, 8), 8),
    )


def encode_hardware(parts: HardwareWords) -> Words:
    """The hardware words of `parts`; factors are cut off to 19 bits, toward zero."""
    words: Words = (
        (_factor_bits(parts.scale) & _FACTOR_19)
        | _field("shift", parts.shift, _SHIFTS, base=1) << np.uint64(32)
        | _field("offset", parts.offset, _OFFSETS, bits=9) << np.uint64(37)
        | parts.signed.astype(np.uint64) << np.uint64(46)
        | parts.relu.astype(np.uint64) << np.uint64(47)
    )
    return words


def decode_hardware(words: Words) -> HardwareWords:
    """The parts of hardware words; bits 63:48, bit 36 and bits 12:0 have no meaning."""
    return HardwareWords(
        scale=_factor(words & _FACTOR_19),
        shift=_unsigned(words, 32, 4) + 1,
        offset=_twos_complement(_unsigned(words, 37, 9), 9),
        relu=_unsigned(words, 47, 1) != 0,
        signed=_unsigned(words, 46, 1) != 0,
    )


def is_a_list(shape: Dims) -> bool:
    """True if factors of this shape are one or are along one axis: [C], [1, C, 1, 1].

    A matrix of as many factors as there are channels does not say which is whose.
    """
    return sum(dim != 1 for dim in shape) <= 1


def channel_axis(shape: Dims, count: int) -> int | None:
    """The axis that `count` per-channel factors run along; None where none fits.

    An open dim fits no count. Channels are axis 1 of three axes and more (NCH, NCHW, NCDHW) and
    the last axis of fewer. Where
    axis 1 has another dim the last axis may fit instead, as in stacked products of matrices.
    """
    last = len(shape) - 1
    axes = (1, last) if last > 1 else (last,)
    return next((axis for axis in axes if axis >= 0 and shape[axis] == count), None)


def _factor(bits: Words) -> NDArray[np.float32]:
    return bits.astype(np.uint32).view(np.float32)


def _factor_bits(scale: NDArray[np.float32]) -> Words:
    if not np.isfinite(scale).all():
        raise WordRangeError("scale must be finite")
    return np.asarray(scale, np.float32).view(np.uint32).astype(np.uint64)


def _field(
    name: str, values: Integers, bounds: tuple[int, int], bits: int = 8, base: int = 0
) -> Words:
    """`values`, held to `bounds`, less `base`, as numbers of `bits` bits."""
    low, high = bounds
    wrong = values[(values < low) | (values > high)]
    if wrong.size:
        raise WordRangeError(
            Text(
                "{name} must be in [{least}, {most}], found {value}",
                name=name,
                least=low,
                most=high,
                value=wrong[0],
            )
        )
    return (values - base & (1 << bits) - 1).astype(np.uint64)


def _unsigned(words: Words, first: int, bits: int) -> Integers:
    """The number in `bits` bits from bit `first` on."""
    field: Words = words >> np.uint64(first) & np.uint64((1 << bits) - 1)
    return field.astype(np.int64)


def _twos_complement(values: Integers, bits: int) -> Integers:
    sign = 1 << (bits - 1)
    numbers: Integers = (values ^ sign) - sign
    return numbers

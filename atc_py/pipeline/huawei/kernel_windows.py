"""Windows of convolutions in their kernels: the settings of the loads that unroll data for the cube.

A kernel moves 16 bits at a time into a register, and two registers say how windows are loaded: one
has strides, sizes of the filter and dilations, the other the data's width and height and the pads.
The fields are those that Ascend C's LoadData3D documents. That the words of these moves are as here
is inferred, from kernels of 310B whose network is known: those of all 45 convolutions with larger
filters than 1x1 say what the network says, of strides, dilations and pads. Kernels of transposed
convolutions load dilated data with steps of 1, and tell nothing.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

_MOVE = 0x07
"""The highest byte of a move of 16 bits; below it are the quarter of a register, the register, and
whether its other bits stay."""

_UNBOUND = 0xFF
"""The pad below, in kernels that let rows beyond the end be zero."""

_ALL = 0b111


class LoadWindow(NamedTuple):
    """Settings of the loads of a kernel, (height, width) each."""

    strides: tuple[int, int]
    dilations: tuple[int, int]


class KernelWindows(NamedTuple):
    """Windows in the instructions of a kernel."""

    loads: frozenset[LoadWindow]  # the settings that fit the filter
    starts: frozenset[tuple[int, int]]  # pads above and on the left


def kernel_windows(binary: bytes, taps: tuple[int, int]) -> KernelWindows:
    """The settings in a kernel for a filter of that height and width."""
    loads, starts = set(), set()
    for quarters, written in _registers(binary):
        value = sum(quarter << 16 * at for at, quarter in enumerate(quarters))
        fields = (0, 6), (6, 6), (12, 8), (20, 8), (28, 8), (36, 8)
        across, down, width, height, wide, far = (value >> at & (1 << n) - 1 for at, n in fields)
        if written & _ALL == _ALL and (height, width) == taps and across and down and wide and far:
            loads.add(LoadWindow((down, across), (far, wide)))
        if quarters[3] >> 8 == _UNBOUND:
            starts.add((quarters[3] & 0xFF, quarters[2] & 0xFF))
    return KernelWindows(frozenset(loads), frozenset(starts))


def _registers(binary: bytes) -> Iterator[tuple[list[int], int]]:
    """Quarters of a register after each move into it, and which of them were moved."""
    registers: dict[int, list[int]] = {}
    written: dict[int, int] = {}
    for (word,) in struct.iter_unpack("<I", binary[: len(binary) // 4 * 4]):
        if word >> 24 != _MOVE:
            continue
        register, quarter, value = word >> 16 & 0x3E, word >> 22 & 3, word & 0xFFFF
        if not word >> 16 & 1:
            registers[register], written[register] = [0] * 4, 0
        quarters = registers.setdefault(register, [0] * 4)
        quarters[quarter] = value
        written[register] = written.get(register, 0) | 1 << quarter
        yield quarters, written[register]

"""Windows of convolutions that the op of a fused launch no longer has: by its shapes, or its kernel.

A kernel moves 16 bits at a time into a register, and two registers say how windows are loaded: one
has strides, sizes of the filter and dilations, the other the data's width and height and the pads.
The fields are those that Ascend C's LoadData3D documents. That the words of these moves are as here
is inferred, from kernels of 310B whose network is known: those of all 45 convolutions with larger
filters than 1x1 say what the network says, of strides, dilations and pads. Kernels of transposed
convolutions load dilated data with steps of 1, and tell nothing.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_MOST_STRIDE = 63
"""The largest stride that kernels take."""


class SolvedAxis(NamedTuple):
    """An axis of a window: its stride, the pads at both ends, and whether others fit as well."""

    stride: int
    before: int
    after: int
    assumed: bool


class WindowAxis(NamedTuple):
    """An axis of a convolution."""

    length: int  # of the longer side: what a convolution reads, or a transposed one writes
    windows: int  # of the other side
    taps: int  # of the filter
    dilation: int  # between taps
    extra: int | None = None  # output_padding of a transposed convolution; None of others
    strides: Sequence[int] = range(1, _MOST_STRIDE + 1)  # those that may be; one where it is known

    @property
    def reach(self) -> int:
        return self.dilation * (self.taps - 1) + 1

    def pads(self, stride: int) -> range:
        """Sums of both pads with which as many windows fit, each pad shorter than a window.

        windows = (length + pads - reach) // stride + 1, and of a transposed convolution
        length = (windows - 1) * stride + reach - pads + extra.
        """
        least = (self.windows - 1) * stride + self.reach - self.length
        slack = range(stride) if self.extra is None else range(self.extra, self.extra + 1)
        most = 2 * (self.reach - 1)
        return range(max(least + slack.start, 0), min(least + slack.stop, most + 1))


def solve(axes: Sequence[WindowAxis]) -> tuple[SolvedAxis, ...] | None:
    """Stride and pads of each axis; None where none fit.

    The smallest stride that all axes can have is taken, or else the smallest of each; then equal
    pads, as few as fit, or one more at the end.
    """
    strides = [[step for step in axis.strides if axis.pads(step)] for axis in axes]
    if not all(strides):
        return None
    common = [step for step in strides[0] if all(step in others for others in strides)]
    return tuple(
        _chosen(axis, common[0] if common else steps[0], len(steps) > 1)
        for axis, steps in zip(axes, strides, strict=True)
    )


def _chosen(axis: WindowAxis, stride: int, others: bool) -> SolvedAxis:
    """The pads for a stride; `others` says that other strides fit as well."""
    sums = axis.pads(stride)
    pads = min(sums, key=lambda both: (both % 2, both))
    splits = min(pads, 2 * (axis.reach - 1) - pads) + 1
    assumed = others or len(sums) > 1 or splits > 1
    return SolvedAxis(stride, pads // 2, pads - pads // 2, assumed)


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

"""Formulas of elementwise kernels: loaded operands, type of the arithmetic, scratch."""

from collections.abc import Sequence
from typing import Any

import msgspec

from atc_py.kernels.ports import KernelPort
from atc_py.kernels.scratch import Scratch


class Loaded(msgspec.Struct, frozen=True):
    """A tensor that a kernel loads tile by tile.

    Attributes:
        name: its name in the kernel.
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

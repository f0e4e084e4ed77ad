"""The memory plan of a graph: where each value is stored while the model runs."""

from collections.abc import Mapping
from enum import Enum
from typing import TypeAlias

import msgspec

from atc_py.ir.nodes import Value


def size_in_arena(nbytes: int, alignment: int, padding: int = 0) -> int:
    """The bytes that a value of `nbytes` takes in an arena, with the bytes that follow and align it."""
    if padding:
        nbytes = (nbytes + 2 * padding - 1) // padding * padding
    return -(-nbytes // alignment) * alignment


class Home(Enum):
    """Location of a value outside the arena.

    WEIGHTS: among the constants, which are loaded once with the model.
    INPUT: in the buffer that the caller feeds; nothing writes to it.
    OUTPUT: in the buffer that the caller takes a result from.
    CHIP: in the buffers of a core, for the time of one launch; never in the device's memory.
    RUN: in memory that is taken when the run knows the dims.
    """

    WEIGHTS = "weights"
    INPUT = "input"
    OUTPUT = "output"
    CHIP = "chip"
    RUN = "run"


Spot: TypeAlias = int | Home
"""An offset in the arena in bytes, or the place outside it where a value is."""


class MemoryPlan(msgspec.Struct, frozen=True):
    """Memory plan of a graph: the location of each value.

    The arena is one piece of device memory in which values share addresses when they are not
    needed at the same time. Sizes in it are rounded up to `alignment`.

    Attributes:
        alignment: bytes; every offset is a multiple of it.
        reuse: whether values may share addresses.
        arena: bytes of the arena.
        bound: bytes that the arena cannot be smaller than: the sum over the values that are
            needed at the widest moment.
        spots: where each value of the graph is; a view is where its source is.
        workspace: bytes that the hungriest kernel needs beside its operands; launches run one
            after another and share them.
        padding: bytes; the size of a value in the arena is rounded up to as many, and as many
            follow it, before it is rounded up to `alignment`. 0 where nothing follows.
    """

    alignment: int
    reuse: bool
    arena: int
    bound: int
    spots: Mapping[Value, Spot]
    workspace: int = 0
    padding: int = 0

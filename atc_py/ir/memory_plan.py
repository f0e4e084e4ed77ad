"""The memory plan of a graph: where each value is stored while the model runs."""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import TypeAlias

import msgspec

from atc_py.ir.nodes import Value
from atc_py.tensor.shapes import Dims
from atc_py.text import Text


def size_in_arena(nbytes: int, alignment: int, padding: int = 0) -> int:
    """The bytes that a value of `nbytes` takes in an arena, with the bytes that follow and align it."""
    if padding:
        nbytes = (nbytes + 2 * padding - 1) // padding * padding
    return -(-nbytes // alignment) * alignment


def size_of_weights(sizes: Iterable[int], alignment: int, padding: int = 0) -> int:
    """Bytes of constants of `sizes` bytes as CANN's graph engine lays them out.

    Each begins at a multiple of `alignment`, the first after one that is empty; `padding` bytes
    follow the last one, and what aligns them. They do since CANN 7; files of 2022 have none.
    """
    end = alignment + sum(-(-size // alignment) * alignment for size in sizes)
    return -(-(end + padding) // alignment) * alignment


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
    """

    alignment: int  # bytes; every offset is a multiple of it
    reuse: bool  # whether values may share addresses
    arena: int  # bytes of the arena
    # bytes that the arena cannot be smaller than: the sum over the values that are needed at the
    # widest moment
    bound: int
    spots: Mapping[Value, Spot]  # where each value of the graph is; a view is where its source is
    # bytes that the hungriest kernel needs beside its operands; launches run one after another and
    # share them
    workspace: int = 0
    # bytes; the size of a value in the arena is rounded up to as many, and as many follow it,
    # before it is rounded up to `alignment`. 0 where nothing follows
    padding: int = 0


class PlacedTensor(msgspec.Struct, frozen=True):
    """A tensor and where it is stored."""

    name: str  # for messages
    dims: Dims  # the stored shape; None for one that only the run knows
    itemsize: int  # bytes of an element
    spot: Spot  # where the plan puts it
    source: Home | None = None  # WEIGHTS of a constant, INPUT of an input, None of a node's result
    is_output: bool = False  # whether it is an output of the model
    # how its elements are ordered; two tensors of one storage and the same dims have their elements
    # at the same places
    storage: str = ""


class PlacedNode(msgspec.Struct, frozen=True):
    """A node and what it does to tensors, which are named by position."""

    name: str  # for messages
    reads: tuple[int, ...]  # what it reads, each position once for every use
    writes: tuple[int, ...]  # what it computes
    scope: int = 0  # number of the launch that it shares with others; 0 for one of its own
    # whether what it computes is the first tensor that it reads, seen otherwise
    is_view: bool = False
    # whether it is a view whose tensors read are parts of what it computes, in order
    is_join: bool = False
    # whether it has read an element of its operands by the time at which it writes the element of
    # the same place
    in_place: bool = False


class Placement(msgspec.Struct, frozen=True):
    """Tensors, nodes with producers first, and the sizes that a plan states.

    A tensor takes its bytes, rounded up to `padding`, and `padding` after them; that is rounded up
    to `alignment`.
    """

    tensors: Sequence[PlacedTensor]
    nodes: Sequence[PlacedNode]
    alignment: int
    arena: int
    bound: int
    padding: int = 0


class Moment(msgspec.Struct, frozen=True):
    """The launch during which most of the arena is needed."""

    nbytes: int  # bytes needed, each tensor's rounded up to the alignment
    node: int  # position of the launch's last node; -1 where nothing is in the arena
    # positions of the tensors that are needed then, largest first; of a tensor and its views, the
    # first that was made
    tensors: tuple[int, ...]


class Proof(msgspec.Struct, frozen=True):
    """Result of the proof."""

    # (position of a tensor or None, sentence) of everything that is wrong
    faults: tuple[tuple[int | None, Text], ...]
    widest: Moment
    nbytes: dict[int, int]  # of each tensor in the arena, by position, rounded up to the alignment

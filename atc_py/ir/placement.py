"""A memory plan in the terms of its proof: tensors, where they are, and nodes."""

from collections.abc import Sequence

import msgspec

from atc_py.ir.memory_plan import Home, Spot
from atc_py.tensor.shapes import Dims
from atc_py.text import Text


class PlacedTensor(msgspec.Struct, frozen=True):
    """A tensor and where it is stored.

    Attributes:
        name: for messages.
        dims: the stored shape; None for one that only the run knows.
        itemsize: bytes of an element.
        spot: where the plan puts it.
        source: WEIGHTS of a constant, INPUT of an input, None of a node's result.
        is_output: whether it is an output of the model.
        storage: how its elements are ordered; two tensors of one storage and the same dims have
            their elements at the same places.
    """

    name: str
    dims: Dims
    itemsize: int
    spot: Spot
    source: Home | None = None
    is_output: bool = False
    storage: str = ""


class PlacedNode(msgspec.Struct, frozen=True):
    """A node and what it does to tensors, which are named by position.

    Attributes:
        name: for messages.
        reads: what it reads, each position once for every use.
        writes: what it computes.
        scope: number of the launch that it shares with others; 0 for one of its own.
        is_view: whether what it computes is the first tensor that it reads, seen otherwise.
        in_place: whether it has read an element of its operands by the time at which it writes
            the element of the same place.
    """

    name: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    scope: int = 0
    is_view: bool = False
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
    """The launch during which most of the arena is needed.

    Attributes:
        nbytes: bytes needed, each tensor's rounded up to the alignment.
        node: position of the launch's last node; -1 where nothing is in the arena.
        tensors: positions of the tensors that are needed then, largest first; of a tensor and its
            views, the first that was made.
    """

    nbytes: int
    node: int
    tensors: tuple[int, ...]


class Proof(msgspec.Struct, frozen=True):
    """Result of the proof.

    Attributes:
        faults: (position of a tensor or None, sentence) of everything that is wrong.
        widest: the widest moment.
        nbytes: of each tensor in the arena, by position, rounded up to the alignment.
    """

    faults: tuple[tuple[int | None, Text], ...]
    widest: Moment
    nbytes: dict[int, int]

"""Emulations and their registry: a function for each target operator writes its nodes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from atc_py.export.body import Body
from atc_py.system.register import Register, place_of

Write: TypeAlias = Callable[[Body], "str | Sequence[str]"]


@dataclass(frozen=True, slots=True)
class Emulation:
    """An emulation as it is registered.

    Attributes:
        write: writes the nodes into a body; returns the name of the result, or of each of them,
            empty where nothing reads it and it was left out.
        moves: it moves elements without arithmetic: operands and results are in their own dtypes.
            Else a 16-bit float is read as float32, and a result in float32 is rounded to the dtype
            that the model declares.
    """

    write: Write
    moves: bool = False


EMULATIONS: Register[str, Emulation] = Register("emulation of", "atc_py.export.operators")
"""By target operator."""

find_emulation = EMULATIONS.get


def emulates(*operators: str, moves: bool = False) -> Callable[[Write], Write]:
    """Register a function as the emulation of target operators.

    Raises:
        ValueError: an operator has one already.
    """

    def register(write: Write) -> Write:
        emulation = Emulation(write, moves)
        for op in operators:
            EMULATIONS.add(op, emulation, place_of(write))
        return write

    return register

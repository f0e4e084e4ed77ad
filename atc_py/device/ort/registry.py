"""Emulations and their registry: a function for each target operator writes its nodes."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from atc_py.device.ort.body import Body

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


_EMULATIONS: dict[str, Emulation] = {}


def emulates(*operators: str, moves: bool = False) -> Callable[[Write], Write]:
    """Register a function as the emulation of target operators.

    Raises:
        ValueError: an operator has one already.
    """

    def register(write: Write) -> Write:
        for op in operators:
            if op in _EMULATIONS:
                raise ValueError(f"two emulations of {op}")
            _EMULATIONS[op] = Emulation(write, moves)
        return write

    return register


def emulations() -> Mapping[str, Emulation]:
    """Every emulation, by operator."""
    _import_operators()
    return _EMULATIONS


def find_emulation(op: str) -> Emulation | None:
    """The emulation of `op`, or None."""
    return emulations().get(op)


@lru_cache(maxsize=1)
def _import_operators() -> None:
    """Import every module of `operators/`, whose functions then register themselves."""
    from atc_py.device.ort import operators as package

    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")

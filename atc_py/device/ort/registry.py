"""Emulations and their registry: a function for each target operator writes its nodes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from onnx import defs

from atc_py.device.ort.body import Body
from atc_py.device.ort.functions import OPSET
from atc_py.system.register import Register, place_of
from atc_py.target import find_operator

Write: TypeAlias = Callable[[Body], "str | Sequence[str]"]


@dataclass(frozen=True, slots=True)
class Emulation:
    """An emulation as it is registered."""

    # writes the nodes into a body; returns the name of the result, or of each of them, empty where
    # nothing reads it and it was left out
    write: Write
    # it moves elements without arithmetic: operands and results are in their own dtypes. Else a
    # 16-bit float is read as float32, and a result in float32 is rounded to the dtype that the
    # model declares
    moves: bool = False


EMULATIONS: Register[str, Emulation] = Register("emulation of", "atc_py.device.ort.operators")
"""By target operator."""


def find_emulation(op: str) -> Emulation | None:
    return EMULATIONS.get(op) or _same_name(op)


@cache
def _same_name(op: str) -> Emulation | None:
    """The emulation of a function of each element that ONNX has, too, and calls the same."""
    row = find_operator(op)
    if row is None or row.vector is None or row.attributes or not defs.has(op, OPSET, ""):
        return None

    def write(body: Body) -> str:
        return body.add(op, *body.all())

    write.__doc__ = f"Write {op} of ONNX: {row.summary}"
    return Emulation(write)


def emulates(*operators: str, moves: bool = False) -> Callable[[Write], Write]:
    """Register a function as the emulation of target operators."""

    def register(write: Write) -> Write:
        emulation = Emulation(write, moves)
        for op in operators:
            EMULATIONS.add(op, emulation, place_of(write))
        return write

    return register

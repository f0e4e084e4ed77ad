"""Vector functions as kernels compute them: C++ types, scratch tensors, instructions."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from atc_py.kernels.cpp import C_TYPES
from atc_py.kernels.ports import Scratch
from atc_py.target import TargetOp, find_operator, operators
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from atc_py.target.vector import Form, Temporary, VectorFunction


_FLOATS = frozenset({DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16})


def compute_type(function: VectorFunction, dtype: DType) -> str:
    """The C++ type that the vector unit computes a function of `dtype` in.

    It is `scalar` where the unit has no such arithmetic.
    """
    if function.bits:
        return "uint16_t"
    if dtype in function.native:
        return C_TYPES[dtype]
    return "float" if dtype in _FLOATS else "scalar"


def scratch_of(function: VectorFunction) -> tuple[Scratch, ...]:
    """The buffers that a function's formula needs beside its operands and its result."""
    return tuple(tensor_of(each) for each in function.scratch)


def tensor_of(temporary: Temporary) -> Scratch:
    """A temporary as a tensor of a kernel."""
    return Scratch(temporary.name, C_TYPES[temporary.dtype], temporary.is_mask)


class _FunctionsOf(AbstractSet[str]):
    """The operators that are functions of one form; asked for one, it imports no other's row."""

    def __init__(self, form: Form) -> None:
        self._form = form

    def __contains__(self, op: object) -> bool:
        row = find_operator(op) if isinstance(op, str) else None
        return row is not None and self._has(row)

    def __iter__(self) -> Iterator[str]:
        return (row.name for row in operators() if self._has(row))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _has(self, row: TargetOp) -> bool:
        return row.vector is not None and row.vector.form is self._form


def operators_of(form: Form) -> AbstractSet[str]:
    """The operators that are functions of one form."""
    return _FunctionsOf(form)


def instruction_of(op: str) -> str:
    """The vector instruction that an operator is; empty where its formula is a template's."""
    row = find_operator(op)
    return "" if row is None or row.vector is None else row.vector.instruction

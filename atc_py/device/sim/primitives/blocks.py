"""Functions of single elements, done block by block on all workers, sums of rows, and copies."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial, wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.formulas import FORMULAS, ROUND, Formula, FormulaStep, Term, trace
from atc_py.device.sim.execution.parallel import ELEMENTS_AT_ONCE
from atc_py.device.sim.kernel import (
    Call,
    Launch,
    Part,
    Rounding,
    TypeRule,
    bound_kernel,
    sequence,
    split_among_workers,
)
from atc_py.tensor.dtypes import DType

_ROW = 2048
"""Elements up to which a row is repeated."""

_COMPARISONS = {"equal", "greater", "greater_equal", "less"}


def _maximum_and_zeros(x: NDArray[Any], other: NDArray[Any], out: NDArray[Any]) -> None:
    zeros = np.flatnonzero(x == 0)
    kept = x[zeros]
    np.maximum(x, other, out=out)
    out[zeros] = kept


def _tan_of_integers(x: NDArray[Any], out: NDArray[Any]) -> None:
    np.copyto(out, np.tan(x.astype(np.float32)), casting="unsafe")


_FUNCTIONS: dict[str, Callable[..., object]] = {
    "expm1 of negative": np.expm1,
    "maximum, zeros of the first": _maximum_and_zeros,
    "tan of integers": _tan_of_integers,
}
"""Functions of formulas that numpy has not by their name."""


def by_formula(call: Call, formula: Formula | None) -> Launch:
    """A launch of a formula of the first input, the operator's where None, on flat blocks.

    The output has as many elements, and may be the input's memory.
    """
    term, steps = trace(partial(formula or FORMULAS[call.node.op], call.node))
    source, target = call.x.reshape(-1), call.out.reshape(-1)

    def part(start: int, stop: int) -> Launch:
        launches: list[Launch] = []
        for first in range(start, stop, ELEMENTS_AT_ONCE):
            here = slice(first, min(first + ELEMENTS_AT_ONCE, stop))
            values = target[here]
            launches += _Writer(call, term, source[here], values).written(steps)
            if call.finishing is not None:
                launches.append(call.finishing(values, ((target.size,), (here,))))
        return sequence(launches)

    return split_among_workers(call.workers, target.size, part, least=ELEMENTS_AT_ONCE)


class _Writer:
    """Writes the steps of a formula for one block: which function of numpy fills which memory.

    A result takes the memory of an operand that nothing reads any more, or else scratch memory.
    That of x is then the memory of the block's result, which may be the same.
    """

    def __init__(self, call: Call, term: Term, x: NDArray[Any], out: NDArray[Any]) -> None:
        self._call, self._out = call, out
        self._arrays = {term: x}
        self._memory = {term: out}
        self._free: list[NDArray[Any]] = []
        self._taken = 0

    def written(self, steps: Sequence[FormulaStep]) -> Iterator[Launch]:
        last = {term: at for at, step in enumerate(steps) for term in step.terms}
        for at, step in enumerate(steps):
            self._free += [self._memory[term] for term in step.terms if last[term] == at]
            dtype = np.dtype(bool) if step.function in _COMPARISONS else self._out.dtype
            out = self._out if step is steps[-1] else self._place(dtype)
            yield from self._launches(step, out)
            self._arrays[step.result] = self._memory[step.result] = out

    def _place(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        for at, array in enumerate(self._free):
            if array.dtype == dtype:
                return self._free.pop(at)
        self._taken += 1
        return self._call.workspace.take(f"block {self._taken}", self._out.shape, dtype)

    def _array(self, operand: Term | float) -> Any:
        if isinstance(operand, Term):
            return self._arrays[operand]
        return np.array(operand, self._out.dtype)  # of a number numpy makes one in every call

    def _launches(self, step: FormulaStep, out: NDArray[Any]) -> Iterator[Launch]:
        first, *others = operands = [self._array(operand) for operand in step.operands]
        if step.function == "where":
            yield from self._choice(step, out)
        elif step.function == "clip":
            yield partial(first.clip, *others, out)
        elif step.function == "as number":
            yield partial(np.copyto, out, first, "unsafe")
        elif step.function == ROUND:
            yield self._call.rounding(out, DType.FLOAT16, source=None if first is out else first)
        else:
            function = _FUNCTIONS.get(step.function) or getattr(np, step.function)
            yield partial(function, *operands, out=out)

    def _choice(self, step: FormulaStep, out: NDArray[Any]) -> Iterator[Launch]:
        """Fill memory with one operand, then with the other where the comparison says so.

        The first is the one that `out` may hold already.
        """
        mask, chosen, other = map(self._array, step.operands)
        term = step.operands[1]
        if isinstance(term, Term) and self._memory[term] is out:
            yield partial(np.logical_not, mask, mask)
            chosen, other = other, chosen
        if other is not out:
            yield partial(np.copyto, out, other)
        yield partial(np.copyto, out, chosen, where=mask)


def by_pairs(call: Call, function: np.ufunc) -> Launch:
    """A launch of `out = function(x1, x2)`, on flat blocks unless an operand repeats."""
    x1, x2, out = call.input(0), call.input(1), call.out
    if not {x1.size, x2.size} <= {out.size, 1}:
        return _pair(call, function, (x1, x2), out, (out.shape, (...,)))
    left, right, target = x1.reshape(-1), x2.reshape(-1), out.reshape(-1)
    size = target.size

    def block(first: int, stop: int) -> Launch:
        here = slice(first, min(first + ELEMENTS_AT_ONCE, stop))
        operands = tuple(each[here] if each.size == size else each for each in (left, right))
        return _pair(call, function, operands, target[here], ((size,), (here,)))

    def part(start: int, stop: int) -> Launch:
        return sequence([block(first, stop) for first in range(start, stop, ELEMENTS_AT_ONCE)])

    return split_among_workers(call.workers, size, part, least=ELEMENTS_AT_ONCE)


def _pair(
    call: Call,
    function: np.ufunc,
    operands: tuple[NDArray[Any], ...],
    out: NDArray[Any],
    part: Part,
) -> Launch:
    launch = partial(function, *operands, out=out)
    return launch if call.finishing is None else sequence([launch, call.finishing(out, part)])


def with_row(
    function: np.ufunc, values: NDArray[Any], row: NDArray[Any], *, is_fixed: bool
) -> Launch:
    """A launch of `function(values, row)` in place, `values` being [rows, length].

    numpy copies short rows that it repeats. One that is the same in every launch is repeated here.
    """
    if is_fixed and values.size and values.flags.c_contiguous:
        rows, most = values.size // row.size, _ROW // row.size
        some = next((count for count in range(min(most, rows), 1, -1) if rows % count == 0), 1)
        if some > 1:
            row, values = np.tile(row, some), values.reshape(-1, row.size * some)
    return partial(function, values, row, values)


_LONG_AXIS = 16
"""Length from which an axis can be cut into about equal parts."""


def _copying(call: Call, out: NDArray[Any], source: NDArray[Any]) -> Launch:
    """A launch that copies one view to another, on all workers if they are large."""
    if out.size < 2 * ELEMENTS_AT_ONCE:
        return partial(np.copyto, out, source)
    axis = max(range(out.ndim), key=lambda at: min(out.shape[at], _LONG_AXIS))
    whole = np.broadcast_to(source, out.shape)

    def part(start: int, stop: int) -> Launch:
        here = (slice(None),) * axis + (slice(start, stop),)
        return partial(np.copyto, out[here], whole[here])

    least = -(-out.shape[axis] * ELEMENTS_AT_ONCE // out.size)
    return split_among_workers(call.workers, out.shape[axis], part, least)


Copies = Iterable[tuple[NDArray[Any], NDArray[Any]]]


def moving(
    op: str, types: TypeRule
) -> Callable[[Callable[[Call], Copies]], Callable[[Call], Copies]]:
    """Register what says which copies the kernel of `op` makes.

    The function gives, for a call, pairs of a view of an output and a view of an input that is
    broadcast to it; all of the outputs is covered. `kernel` explains the rest.
    """

    def register(copies: Callable[[Call], Copies]) -> Callable[[Call], Copies]:
        @bound_kernel(op, types, rounding=Rounding.ON_GRID)
        @wraps(copies)
        def bind(call: Call) -> Launch:
            return sequence([_copying(call, *views) for views in copies(call)])

        return copies

    return register


_LONGEST = 1024
"""Elements of a row up to which BLAS adds up: numpy does it by halves, which loses less in long
rows; in those of this length BLAS has 64 partial sums of 16 elements."""

ROWS_TOGETHER = 16
"""BLAS adds rows up so many at a time, and what is left after them, or one row alone, in another
order. Where rows are cut at multiples of it and never one is left, sums do not depend on the cut.
"""

_KEPT = 64


def summing(rows: NDArray[Any], out: NDArray[Any]) -> Launch:
    """A launch that fills `out` [rows, 1] with the sum of each row of `rows` [rows, length].

    Both are in C order and of the same dtype, in which is added up; integers wrap around.
    """
    length = rows.shape[1]
    if rows.dtype.kind == "f" and 1 < length <= _LONGEST:
        ones = _ones(length, rows.dtype)
        if len(rows) == 1:  # the same call of BLAS in half the time
            return partial(np.dot, rows[0], ones[:, 0], out.reshape(()))
        return partial(np.matmul, rows, ones, out)
    return partial(np.add.reduce, rows, 1, None, out, keepdims=True)


@lru_cache(maxsize=_KEPT)
def _ones(length: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    ones = np.ones((length, 1), dtype)
    ones.flags.writeable = False
    return ones

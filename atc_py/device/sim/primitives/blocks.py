"""Functions of single elements, done block by block on all workers."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.execution.parallel import ELEMENTS_AT_ONCE
from atc_py.device.sim.kernel import Call, Launch, Part, sequence, split_among_workers

Formula: TypeAlias = Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], None]


def by_blocks(call: Call, formula: Formula) -> None:
    """Call `formula(x, out, scratch)` on flat blocks of the first input and the first output.

    Args:
        call: its output has as many elements as its first input.
        formula: fills `out`, which may be the memory of `x`; `scratch` is a block of x's dtype
            that nothing else uses. It runs on several threads at once.
    """
    source, target = call.x.reshape(-1), call.out.reshape(-1)

    def part(start: int, stop: int) -> None:
        scratch = call.workspace.take("block", (min(ELEMENTS_AT_ONCE, stop - start),), source.dtype)
        for first in range(start, stop, ELEMENTS_AT_ONCE):
            last = min(first + ELEMENTS_AT_ONCE, stop)
            values = target[first:last]
            formula(source[first:last], values, scratch[: last - first])
            call.finish(values, ((target.size,), (slice(first, last),)))

    call.workers.split(source.size, part, least=ELEMENTS_AT_ONCE)


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

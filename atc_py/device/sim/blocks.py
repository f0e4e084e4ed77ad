"""Functions of single elements, done block by block on all workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from atc_py.device.sim.kernel import Call

    Formula: TypeAlias = Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], None]

__all__ = ["by_blocks"]

_BLOCK = 32 * 1024
"""Elements at a time: operand, result and scratch of a block stay in the L2 cache."""


def by_blocks(call: Call, formula: Formula) -> None:
    """Call `formula(x, out, scratch)` on flat blocks of the first input and the first output.

    Args:
        call: its output has as many elements as its first input.
        formula: fills `out`, which may be the memory of `x`; `scratch` is a block of x's dtype
            that nothing else uses. It runs on several threads at once.
    """
    source, target = call.x.reshape(-1), call.out.reshape(-1)

    def part(start: int, stop: int) -> None:
        scratch = call.workspace.take("block", (min(_BLOCK, stop - start),), source.dtype)
        for first in range(start, stop, _BLOCK):
            last = min(first + _BLOCK, stop)
            formula(source[first:last], target[first:last], scratch[: last - first])

    call.workers.split(source.size, part, least=_BLOCK)

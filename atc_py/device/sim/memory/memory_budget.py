"""The share of the memory limit that a model may use, checked before anything is allocated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atc_py.device.sim.memory.passing import slot_sizes
from atc_py.device.sim.numerics.rounding import carrier_dtype
from atc_py.diag.codes import DEVICE_MEMORY
from atc_py.system.memory_limit import RAISE_IT, format_size, memory_limit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from atc_py.device.sim.execution.program import Program, Step
    from atc_py.device.sim.node import TensorFacts

__all__ = ["MemoryBudget"]

_LEAST_SCRATCH = 64 * 1024**2
"""Bytes; blocks that kernels work in take less."""


class MemoryBudget:
    """The memory limit as it was when the model was loaded, and what its runs need of it.

    Attributes:
        limit: bytes.
        planned: bytes that every run needs: what is fed, slots of results, constants and inputs as
            carriers where those are wider, and the outputs that are returned.
    """

    def __init__(self, program: Program, passing: Mapping[int, int] | None = None) -> None:
        """Plan for `program`; constants that are `passing` share the memory of their slots."""
        self.limit = memory_limit()
        self._program = program
        self.planned = _planned(program, passing or {})

    @property
    def scratch(self) -> int:
        """Bytes that are left to kernels beside their results; a little is there always."""
        return max(self.limit - self.planned, min(self.limit, _LEAST_SCRATCH))

    def require_plan(self) -> None:
        """Refuse a model whose runs need more than the limit.

        Raises:
            AtcError: DEVICE_MEMORY, at the node with the largest results.
        """
        if self.planned <= self.limit:
            return
        largest = max(self._program.steps, key=_result_bytes, default=None)
        most = "" if largest is None else (
            f"; most of all needs the {largest.node.op} here, whose results are "
            f"{format_size(_result_bytes(largest))}"
        )  # fmt: skip
        raise DEVICE_MEMORY.error(
            f"a run takes {format_size(self.planned)}, the limit is {format_size(self.limit)}{most}",
            place=None if largest is None else largest.place,
            help=f"{RAISE_IT}; or convert with a smaller input shape",
        )

    def require_results(
        self, step: Step, results: Iterable[TensorFacts], held: Iterable[NDArray[Any] | None]
    ) -> None:
        """Refuse results of dims that only this run knows.

        Args:
            step: what makes them.
            results: their types, of which all dims are known.
            held: what was computed before and is still needed; views take nothing of their own.

        Raises:
            AtcError: DEVICE_MEMORY at the node.
        """
        there = sum(array.nbytes for array in held if array is not None and array.base is None)
        wanted = sum(map(_carrier_bytes, results))
        if self.planned + there + wanted > self.limit:
            raise DEVICE_MEMORY.error(
                f"results of {step.node.op} would take {format_size(wanted)} beside the "
                f"{format_size(self.planned + there)} that are taken, the limit is "
                f"{format_size(self.limit)}",
                place=step.place,
                help=f"{RAISE_IT}; the dims follow from the data that the model was given",
            )


def _planned(program: Program, passing: Mapping[int, int]) -> int:
    """Return bytes that every run of `program` needs."""
    tensors = program.tensors
    wider = [
        tensors[each]
        for each in (*program.constants, *program.inputs.values())
        if each not in passing and carrier_dtype(tensors[each].dtype) != tensors[each].dtype.numpy
    ]
    passed = [tensors[each] for each in (*program.inputs.values(), *program.outputs.values())]
    return (
        sum(program.memory.slots)
        + sum(slot_sizes(program, passing))
        + sum(_carrier_bytes(each) for each in wider if not each.is_open)
        + sum(each.nbytes for each in passed if not each.is_open)
    )


def _result_bytes(step: Step) -> int:
    """Return bytes of a step's results, as far as they are known before a run; views have none."""
    if step.kernel.alias:
        return 0
    return sum(_carrier_bytes(each) for each in step.node.outputs if not each.is_open)


def _carrier_bytes(facts: TensorFacts) -> int:
    """Return bytes of a tensor as the simulator holds it."""
    return facts.elements * carrier_dtype(facts.dtype).itemsize

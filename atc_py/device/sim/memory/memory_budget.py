"""The share of the memory limit that a model may use, checked before anything is allocated.

The float32 carriers of float16 weights take twice the file's bytes. Up to `HELD_WHOLE` all are kept
from the first run on. Of a larger model the smallest are, up to `HELD_OF_LARGE`; the others pass: each
has a slot of memory, shared with constants of other steps, and is copied there before a step reads it.
"""

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

from numpy.typing import NDArray

from atc_py.device.sim.execution.program import Program, Step
from atc_py.device.sim.numerics.rounding import carrier_dtype
from atc_py.diag import DEVICE_MEMORY
from atc_py.package.node_view import TensorFacts
from atc_py.system.memory_limit import RAISE_IT, format_size, memory_limit
from atc_py.text import Text

HELD_WHOLE = 2 * 1024**3
"""Bytes of carriers up to which all constants of a model are kept."""

HELD_OF_LARGE = 256 * 1024**2
"""Bytes of carriers that are kept of a larger one."""


def passing_slots(program: Program) -> Mapping[int, int]:
    """The slot of each constant that passes, by tensor; those of one step have several."""
    nbytes = _constant_bytes(program)
    if sum(nbytes.values()) <= HELD_WHOLE:
        return {}
    readers = _readers(program)
    held = 0
    slots: dict[int, int] = {}
    for tensor in sorted(nbytes, key=lambda each: (each in readers, nbytes[each], each)):
        if tensor not in readers or held + nbytes[tensor] <= HELD_OF_LARGE:
            held += nbytes[tensor]
            continue
        others = (other for step in readers[tensor] for other in step.inputs if other in slots)
        taken = {slots[other] for other in others}
        slots[tensor] = next(slot for slot in count() if slot not in taken)
    return slots


def slot_sizes(program: Program, slots: Mapping[int, int]) -> list[int]:
    nbytes = _constant_bytes(program)
    sizes = [0] * (max(slots.values(), default=-1) + 1)
    for tensor, slot in slots.items():
        sizes[slot] = max(sizes[slot], nbytes[tensor])
    return sizes


def _constant_bytes(program: Program) -> dict[int, int]:
    return {
        tensor: data.size * carrier_dtype(program.tensors[tensor].dtype).itemsize
        for tensor, data in program.constants.items()
    }


def _readers(program: Program) -> dict[int, list[Step]]:
    """The steps that read each constant that may pass.

    What is returned, or seen through views, must stay where it is. One value that is repeated
    takes no memory as it is.
    """
    readers: dict[int, list[Step]] = {}
    staying = set(program.outputs.values())
    for step in program.steps:
        kernel = step.kernel
        if step.is_late or kernel.alias or kernel.results is not None:
            staying.update(step.inputs)
        for tensor in step.inputs:
            if tensor in program.constants:
                readers.setdefault(tensor, []).append(step)
    staying.update(at for at, data in program.constants.items() if not data.flags.c_contiguous)
    return {tensor: steps for tensor, steps in readers.items() if tensor not in staying}


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
            Text("; the {op} here needs the most, with results of {size}", op=largest.node.op, size=format_size(_result_bytes(largest)))
        )  # fmt: skip
        raise DEVICE_MEMORY.error(
            Text(
                "a run takes {size}; the limit is {size_2}{most}",
                size=format_size(self.planned),
                size_2=format_size(self.limit),
                most=most,
            ),
            place=None if largest is None else largest.place,
            help=Text("{raise_it}; or convert with a smaller input shape", raise_it=RAISE_IT),
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
            text = Text("{raise_it}; the dims follow from the data that the model was given")
            raise DEVICE_MEMORY.error(
                Text(
                    "results of {op} would take {size} beside the {size_2} that are taken, "
                    "the limit is {size_3}",
                    op=step.node.op,
                    size=format_size(wanted),
                    size_2=format_size(self.planned + there),
                    size_3=format_size(self.limit),
                ),
                place=step.place,
                help=text.with_values(raise_it=RAISE_IT),
            )


def _planned(program: Program, passing: Mapping[int, int]) -> int:
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
    if step.kernel.alias:
        return 0
    return sum(_carrier_bytes(each) for each in step.node.outputs if not each.is_open)


def _carrier_bytes(facts: TensorFacts) -> int:
    return facts.elements * carrier_dtype(facts.dtype).itemsize

"""Constants of models too large to be held as carriers: copied where a step reads them, one by one.

The float32 carriers of float16 weights take twice the file's bytes. Up to `HELD_WHOLE` all are kept
from the first run on. Of a larger model the smallest are, up to `HELD_OF_LARGE`; the others pass: each
has a slot of memory, shared with constants of other steps, and is copied there before a step reads it.
"""

from collections.abc import Mapping
from itertools import count

from atc_py.device.sim.execution.program import Program, Step
from atc_py.device.sim.numerics.rounding import carrier_dtype

HELD_WHOLE = 2 * 1024**3
"""Bytes of carriers up to which all constants of a model are kept."""

HELD_OF_LARGE = 256 * 1024**2
"""Bytes of carriers that are kept of a larger one."""


def passing_slots(program: Program) -> Mapping[int, int]:
    """The slot of each constant that passes, by tensor; those of one step have several."""
    nbytes = _carrier_bytes(program)
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
    """The bytes of each slot: what the largest of its constants takes."""
    nbytes = _carrier_bytes(program)
    sizes = [0] * (max(slots.values(), default=-1) + 1)
    for tensor, slot in slots.items():
        sizes[slot] = max(sizes[slot], nbytes[tensor])
    return sizes


def _carrier_bytes(program: Program) -> dict[int, int]:
    """The bytes of the carrier of each constant."""
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

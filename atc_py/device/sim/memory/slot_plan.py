"""The memory plan of a loaded model: which tensors share which piece of device memory.

Lifetimes are known before anything runs. A tensor that the device computes gets a slot; the slot
is free again after the last node that reads it, or any alias of it, and a later tensor takes it.
A kernel that may work in place reuses the slot of an input that nobody reads afterwards.
Inputs of the model and constants have no slot, so nothing ever writes to them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from atc_py.device.sim.execution.program import SlotPlan, Step
from atc_py.device.sim.numerics.rounding import carrier_dtype
from atc_py.package.node_view import TensorFacts


def plan_memory(
    steps: Sequence[Step], tensors: Sequence[TensorFacts], outputs: Iterable[int]
) -> SlotPlan:
    """Give every tensor that `steps` compute a slot; `outputs` keep theirs to the end."""
    return _Planner(steps, tensors, outputs).plan()


class _Planner:
    """Walks through the steps in order and keeps count of who still needs what.

    `_root` maps a tensor to the one whose memory it is, itself or what it is an alias of;
    `_held` has the slots of roots that are alive.
    """

    def __init__(
        self, steps: Sequence[Step], tensors: Sequence[TensorFacts], outputs: Iterable[int]
    ) -> None:
        self._steps = steps
        self._tensors = tensors
        self._root = list(range(len(tensors)))
        self._uses: Counter[int] = Counter()
        self._sizes: list[int] = []
        self._free: list[int] = []
        self._held: dict[int, int] = {}
        self._slot_of: dict[int, int] = {}
        for step in steps:
            if step.kernel.alias:
                for tensor in step.outputs:
                    self._root[tensor] = self._root[step.inputs[0]]
            self._uses.update(self._roots(step))
        self._uses.update(self._root[tensor] for tensor in outputs)

    def plan(self) -> SlotPlan:
        """Place the outputs of each step, then free what nobody needs after it."""
        for step in self._steps:
            if not step.kernel.alias and not step.is_late:
                self._place(step)
            read = self._roots(step)
            self._uses.subtract(read)
            for root in (*read, *step.outputs):
                if not self._uses[root] and root in self._held:
                    self._free.append(self._held.pop(root))
        return SlotPlan(tuple(self._sizes), self._slot_of)

    def _roots(self, step: Step) -> list[int]:
        """The tensors whose memory a step reads, once per use."""
        return [self._root[tensor] for tensor in step.inputs if tensor >= 0]

    def _place(self, step: Step) -> None:
        """Find a slot for each output of a step; the first may have an input's."""
        donor = self._donor(step) if step.kernel.in_place else None
        for tensor in step.outputs:
            slot = self._take(self._nbytes(tensor)) if donor is None else self._held.pop(donor)
            self._held[tensor] = self._slot_of[tensor] = slot
            donor = None

    def _donor(self, step: Step) -> int | None:
        """The input whose memory the output may reuse: this is its last use."""
        wanted = self._tensors[step.outputs[0]]
        for tensor in step.inputs:
            facts, root = self._tensors[tensor], self._root[tensor]
            fits = facts.dims == wanted.dims and (
                carrier_dtype(facts.dtype) == carrier_dtype(wanted.dtype)
            )
            if tensor >= 0 and fits and root in self._held and self._uses[root] == 1:
                return root
        return None

    def _nbytes(self, tensor: int) -> int:
        facts = self._tensors[tensor]
        return facts.elements * carrier_dtype(facts.dtype).itemsize

    def _take(self, nbytes: int) -> int:
        """The smallest free slot that fits, else the largest enlarged, else a new one."""
        if not self._free:
            self._sizes.append(nbytes)
            return len(self._sizes) - 1
        large_enough = [slot for slot in self._free if self._sizes[slot] >= nbytes]
        if large_enough:
            slot = min(large_enough, key=self._sizes.__getitem__)
        else:
            slot = max(self._free, key=self._sizes.__getitem__)
            self._sizes[slot] = nbytes
        self._free.remove(slot)
        return slot

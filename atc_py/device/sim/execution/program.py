"""A model that was checked and can run: its tensors, its constants, its steps in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Kernel
from atc_py.device.sim.numerics.rounding import carrier_dtype
from atc_py.diag import Place
from atc_py.package.node_view import NodeView, TensorFacts
from atc_py.package.stored_types import TRANS_DATA
from atc_py.system.structs import replace


class Step(msgspec.Struct, frozen=True):
    """One node, ready to launch."""

    index: int  # its position in the description
    node: NodeView
    kernel: Kernel
    inputs: tuple[int, ...]  # positions of its inputs in the list of tensors; -1 where absent
    outputs: tuple[int, ...]  # positions of its outputs
    is_late: bool = False  # only the run knows all dims, or a number on which they depend
    frees: tuple[int, ...] = ()  # positions of the tensors that nobody reads after it

    @property
    def place(self) -> Place:
        return Place(node=self.index, node_name=self.node.name, op_type=self.node.op)


class SlotPlan(msgspec.Struct, frozen=True):
    """Slots and their tenants."""

    slots: tuple[int, ...]  # size of each slot in bytes
    # slot of each tensor that the device computes and that is not an alias; none where only the run
    # knows its dims
    slot_of: Mapping[int, int]


class Program(msgspec.Struct, frozen=True):
    """A model that was checked."""

    tensors: tuple[TensorFacts, ...]
    # position of the tensor of each input of the model, by the input's name
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]  # the same for the outputs
    # read-only data of the constants, in their true dtypes, by position
    constants: Mapping[int, NDArray[Any]]
    steps: tuple[Step, ...]  # the nodes, producers first
    memory: SlotPlan


def without_moves(steps: Sequence[Step]) -> tuple[list[Step], dict[int, int]]:
    """`steps` without changes of storage format, and what stands for their results.

    A carrier has its elements in their logical order whatever the format, so the result of such a
    step is its input.
    """
    stands_for: dict[int, int] = {}
    found: list[Step] = []
    for step in steps:
        if step.node.op == TRANS_DATA:
            (source,), (target,) = step.inputs, step.outputs
            stands_for[target] = stands_for.get(source, source)
        elif stands_for.keys().isdisjoint(step.inputs):
            found.append(step)
        else:
            found.append(replace(step, inputs=tuple(stands_for.get(t, t) for t in step.inputs)))
    return found, stands_for


def freeing(steps: Sequence[Step], kept: Iterable[int]) -> tuple[Step, ...]:
    """`steps`, each with the tensors not read after it; `kept` are read at the end."""
    read = set(kept)
    found: list[Step] = []
    for step in reversed(steps):
        mentioned = dict.fromkeys(each for each in (*step.inputs, *step.outputs) if each >= 0)
        found.append(replace(step, frees=tuple(each for each in mentioned if each not in read)))
        read.update(mentioned)
    return tuple(reversed(found))


def settled(program: Program, passing: Iterable[int] = ()) -> frozenset[int]:
    """The steps, by index, that read and fill the same arrays in every run.

    Their results stay where they were, and nothing that they read is fed, shows what is fed,
    is one of the constants `passing` through memory, or is made anew by a late step. In a model
    with gates there are none: any may be left out.
    """
    if any(step.kernel.gate is not None for step in program.steps):
        return frozenset()
    found: list[int] = []
    moving = {*program.inputs.values(), *passing}
    for step in program.steps:
        if not step.is_late and moving.isdisjoint(step.inputs):
            found.append(step.index)
        elif step.is_late or step.kernel.alias:
            moving.update(step.outputs)
    return frozenset(found)


def plan_memory(
    steps: Sequence[Step], tensors: Sequence[TensorFacts], outputs: Iterable[int]
) -> SlotPlan:
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
        donor = self._donor(step) if step.kernel.in_place else None
        for tensor in step.outputs:
            facts = self._tensors[tensor]
            nbytes = facts.elements * carrier_dtype(facts.dtype).itemsize
            slot = self._take(nbytes) if donor is None else self._held.pop(donor)
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

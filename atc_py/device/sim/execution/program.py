"""A model that was checked and can run: its tensors, its constants, its steps in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Kernel
from atc_py.diag import Place
from atc_py.package.node_view import NodeView, TensorFacts
from atc_py.package.stored_types import TRANS_DATA


class Step(msgspec.Struct, frozen=True):
    """One node, ready to launch.

    Attributes:
        index: its position in the description.
        node: its static facts.
        kernel: what computes it.
        inputs: positions of its inputs in the list of tensors; -1 where absent.
        outputs: positions of its outputs.
        is_late: only the run knows all dims, or a number on which they depend.
        frees: positions of the tensors that nobody reads after it.
    """

    index: int
    node: NodeView
    kernel: Kernel
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    is_late: bool = False
    frees: tuple[int, ...] = ()

    def freeing(self, tensors: tuple[int, ...]) -> Step:
        """This step freeing `tensors`; `dataclasses.replace` takes several times as long."""
        return Step(
            self.index, self.node, self.kernel, self.inputs, self.outputs, self.is_late, tensors
        )

    def reading(self, inputs: tuple[int, ...]) -> Step:
        """This step with other inputs, of the same types."""
        return Step(
            self.index, self.node, self.kernel, inputs, self.outputs, self.is_late, self.frees
        )

    @property
    def place(self) -> Place:
        """The place of a finding about this node."""
        return Place(node=self.index, node_name=self.node.name, op_type=self.node.op)


class SlotPlan(msgspec.Struct, frozen=True):
    """Slots and their tenants.

    Attributes:
        slots: size of each slot in bytes.
        slot_of: slot of each tensor that the device computes and that is not an alias; none where
            only the run knows its dims.
    """

    slots: tuple[int, ...]
    slot_of: Mapping[int, int]


class Program(msgspec.Struct, frozen=True):
    """A model that was checked.

    Attributes:
        tensors: type of every tensor.
        inputs: position of the tensor of each input of the model, by the input's name.
        outputs: the same for the outputs.
        constants: read-only data of the constants, in their true dtypes, by position.
        steps: the nodes, producers first.
        memory: where results are stored.
    """

    tensors: tuple[TensorFacts, ...]
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    constants: Mapping[int, NDArray[Any]]
    steps: tuple[Step, ...]
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
            found.append(step.reading(tuple(stands_for.get(t, t) for t in step.inputs)))
    return found, stands_for


def freeing(steps: Sequence[Step], kept: Iterable[int]) -> tuple[Step, ...]:
    """`steps`, each with the tensors not read after it; `kept` are read at the end."""
    read = set(kept)
    found: list[Step] = []
    for step in reversed(steps):
        mentioned = dict.fromkeys(each for each in (*step.inputs, *step.outputs) if each >= 0)
        found.append(step.freeing(tuple(each for each in mentioned if each not in read)))
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

"""A model that was checked and can run: its tensors, its constants, its steps in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atc_py.diag import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from atc_py.device.sim.kernel import Kernel
    from atc_py.device.sim.memory import MemoryPlan
    from atc_py.device.sim.node import NodeFacts, TensorFacts

__all__ = ["Program", "Step", "freeing"]


@dataclass(frozen=True, slots=True)
class Step:
    """One node, ready to launch.

    Attributes:
        index: its position in the description.
        node: its static facts.
        kernel: what computes it.
        inputs: positions of its inputs in the list of tensors; -1 where absent.
        outputs: positions of its outputs.
        is_late: only the run knows all extents, or a number on which they depend.
        frees: positions of the tensors that nobody reads after it.
    """

    index: int
    node: NodeFacts
    kernel: Kernel
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    is_late: bool = False
    frees: tuple[int, ...] = ()

    def freeing(self, tensors: tuple[int, ...]) -> Step:
        """This step, letting go of `tensors`; `dataclasses.replace` takes several times as long."""
        return Step(
            self.index, self.node, self.kernel, self.inputs, self.outputs, self.is_late, tensors
        )

    @property
    def place(self) -> Place:
        """Where a finding about this node lies."""
        return Place(node=self.index, node_name=self.node.name, op_type=self.node.op)


@dataclass(frozen=True, slots=True)
class Program:
    """A model that was checked.

    Attributes:
        tensors: type of every tensor.
        inputs: position of the tensor behind each input of the model, by the input's name.
        outputs: the same for the outputs.
        constants: read-only data of the constants, in their true dtypes, by position.
        steps: the nodes, producers first.
        memory: where results lie.
    """

    tensors: tuple[TensorFacts, ...]
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    constants: Mapping[int, NDArray[Any]]
    steps: tuple[Step, ...]
    memory: MemoryPlan


def freeing(steps: Sequence[Step], kept: Iterable[int]) -> tuple[Step, ...]:
    """`steps`, each with the tensors that nobody reads after it; `kept` are read at the end."""
    read = set(kept)
    found: list[Step] = []
    for step in reversed(steps):
        mentioned = dict.fromkeys(each for each in (*step.inputs, *step.outputs) if each >= 0)
        found.append(step.freeing(tuple(each for each in mentioned if each not in read)))
        read.update(mentioned)
    return tuple(reversed(found))

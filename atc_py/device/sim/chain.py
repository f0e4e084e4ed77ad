"""Nodes that a compiled model launches as one kernel, and results rounded where they are made.

The compiler gives nodes that are one kernel a common scope: the head, which computes, and functions
of each element behind it. The head's kernel finishes every part of its result while that is in the
cache of the core that made it: it is rounded, each function is applied to it in turn, and what
comes out is rounded again where the function rounds. Every element goes through the same
operations in the same order as in launches of their own, so results are the same bit by bit.

Scopes are hints: what does not fit together here is launched node by node.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.device.sim.blocks import by_blocks
from atc_py.device.sim.kernel import Call, Kernel, Rounding
from atc_py.device.sim.numerics import is_rounded, round_to_grid
from atc_py.device.sim.parallel import Workers
from atc_py.device.sim.program import Step
from atc_py.device.sim.tables import look_up, table_of
from atc_py.shapes import element_count
from atc_py.target import Unit, find_operator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from atc_py.device.sim.kernel import Part
    from atc_py.device.sim.node import NodeFacts

__all__ = ["chained"]

_ELEMENTWISE = frozenset({"unary", "binary"})
"""Families of kernels that are functions of each element."""


def chained(steps: Sequence[Step], scopes: Sequence[int]) -> list[Step]:
    """`steps` with each scope as one step, at the place of its last node.

    Args:
        steps: one for each node, in order.
        scopes: of each node; 0 for one that is launched alone.
    """
    members: dict[int, list[Step]] = {}
    for step, scope in zip(steps, scopes, strict=True):
        if scope:
            members.setdefault(scope, []).append(step)
    merged = {scope: _together(found) for scope, found in members.items()}
    found: list[Step] = []
    for step, scope in zip(steps, scopes, strict=True):
        whole = merged.get(scope)
        if whole is None:
            found.append(_alone(step))
        elif step is members[scope][-1]:
            found.append(whole)
    return found


def _alone(step: Step) -> Step:
    """A step whose kernel rounds its own parts where it can."""
    rounds = step.kernel.rounding is Rounding.BOUNDARY and is_rounded(step.node.outputs[0].dtype)
    return _chain([step], ()) if step.kernel.finishes and rounds and not step.is_late else step


def _together(steps: list[Step]) -> Step | None:
    """One step for all, or None where they do not fit together, or one stands alone."""
    if len(steps) == 1:
        return None
    links = tuple(_links(steps))
    return _chain(steps, links) if len(links) == len(steps) - 1 else None


@dataclass(frozen=True)
class _Link:
    """A function of each element behind a head; what it reads, None standing for the part itself.

    Attributes:
        node: static facts.
        kernel: computes it.
        operands: position of each input among the inputs of the whole chain, or None.
    """

    node: NodeFacts
    kernel: Kernel
    operands: tuple[int | None, ...]

    @cached_property
    def table(self) -> NDArray[Any] | None:
        """All its results, where it reads nothing but the part and looking them up is faster."""
        if self.operands != (None,) or self.kernel.rounding is not Rounding.BOUNDARY:
            return None
        return table_of(self.node, self.kernel, _one_worker())


@dataclass(frozen=True, slots=True)
class _Chain:
    """A head and what follows it, as one kernel.

    Attributes:
        node: the head's facts.
        kernel: the head's.
        inputs: how many of the chain's inputs are the head's.
        links: in order.
        lead: the head as a link where it is a function of one number, else None.
    """

    node: NodeFacts
    kernel: Kernel
    inputs: int
    links: tuple[_Link, ...]
    lead: _Link | None = None

    def run(self, call: Call) -> None:
        """Launch the head on the memory of the last result; it finishes its parts."""
        out = call.out.reshape(self.node.outputs[0].shape)
        finish = partial(self._finish, call)
        head = Call(
            self.node, call.inputs[: self.inputs], (out,), call.workspace, call.workers, finish
        )
        table = None if self.lead is None else self.lead.table
        if table is None:
            self.kernel.run(head)
        else:
            by_blocks(head, lambda x, values, _: look_up(table, x, values, call.workspace))

    def _finish(self, call: Call, values: NDArray[Any], part: Part) -> None:
        """Round a part of the head's result and apply the links to it, in place."""
        dtype = self.node.outputs[0].dtype
        rounded = is_rounded(dtype)
        looked_up = self.lead is not None and self.lead.table is not None
        if rounded and self.kernel.rounding is Rounding.BOUNDARY and not looked_up:
            round_to_grid(values, dtype, values)
        for link in self.links:
            if link.table is not None:
                look_up(link.table, values, values, call.workspace)
                continue
            inputs = tuple(
                values if at is None else _operand(call.input(at), values, part)
                for at in link.operands
            )
            link.kernel.run(Call(link.node, inputs, (values,), call.workspace, _one_worker()))
            if rounded and link.kernel.rounding is Rounding.BOUNDARY:
                round_to_grid(values, dtype, values)


@cache
def _one_worker() -> Workers:
    """The thread itself: a part is work for one."""
    return Workers(1)


def _operand(array: NDArray[Any], values: NDArray[Any], part: Part) -> NDArray[Any]:
    """What of another operand belongs to a part: the part of its own, or what is repeated."""
    shape, index = part
    if array.size == 1:
        return array.reshape(-1)
    if array.size == element_count(shape):
        return array.reshape(shape)[index].reshape(values.shape)
    return np.broadcast_to(array, shape)[index].reshape(values.shape)


def _links(steps: Sequence[Step]) -> Iterator[_Link]:
    """The links behind the first of `steps`, up to one that does not fit."""
    head = steps[0]
    if not head.kernel.finishes or head.is_late or len(head.outputs) != 1:
        return
    facts = head.node.outputs[0]
    position = len(head.inputs)
    for before, step in pairwise(steps):
        (value,) = before.outputs
        made = step.node.outputs[0]
        same = made.dtype is facts.dtype and not made.is_open and made.elements == facts.elements
        if step.is_late or len(step.outputs) != 1 or value not in step.inputs or not same:
            return
        if not step.kernel.alias and not _is_elementwise(step, head, value):
            return
        operands: list[int | None] = []
        for tensor in step.inputs:
            operands.append(None if tensor == value else position)
            position += tensor != value
        yield _Link(step.node, step.kernel, () if step.kernel.alias else tuple(operands))


def _is_elementwise(step: Step, head: Step, value: int) -> bool:
    """Whether a step is a function of each element whose operands can be cut as its result is."""
    row, out = find_operator(step.node.op), step.node.outputs[0]
    if row is None or row.family not in _ELEMENTWISE or row.unit is not Unit.VECTOR:
        return False
    for tensor, facts in zip(step.inputs, step.node.inputs, strict=True):
        if tensor == value:
            continue
        if facts is None or facts.is_open:
            return False
        repeats = head.kernel.keeps_shape and out.dims == head.node.outputs[0].dims
        if facts.elements not in {1, out.elements} and not repeats:
            return False
    return True


def _chain(steps: Sequence[Step], links: tuple[_Link, ...]) -> Step:
    """One step that does what `steps` do; profiles and findings name all their operators."""
    head = steps[0]
    inputs = [*head.inputs]
    for before, step in pairwise(steps):
        inputs += [tensor for tensor in step.inputs if tensor != before.outputs[0]]
    active = tuple(link for link in links if link.operands)
    row = find_operator(head.node.op)
    is_function = row is not None and row.family == "unary" and len(head.inputs) == 1
    lead = _Link(head.node, head.kernel, (None,)) if is_function else None
    chain = _Chain(head.node, head.kernel, len(head.inputs), active, lead)
    kernel = replace(
        head.kernel,
        run=chain.run,
        rounding=Rounding.ON_GRID,
        in_place=head.kernel.in_place and len(inputs) == len(head.inputs),
    )
    names = [step.node.op for step in steps if not step.kernel.alias]
    node = replace(head.node, op="+".join(names), outputs=steps[-1].node.outputs)
    return Step(head.index, node, kernel, tuple(inputs), steps[-1].outputs)

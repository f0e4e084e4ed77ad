"""Gives every value a place in memory."""

from collections.abc import Sequence

from atc_py.ir import Graph, MemoryPlan, size_in_arena
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.memory.arena_packing import Span, pack, widest
from atc_py.passes.memory.liveness import Block, Tenancy, live_ranges, merged


class PlanMemoryPass(Pass):
    """Offsets in one arena; the smallest of several packings, compared with the widest moment.

    Inputs and outputs of the model are in buffers of the caller, constants among the weights,
    and what only the run can size outside of the plan.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        soc = context.soc
        plan = plan_memory(graph, soc.gm_align, reuse=context.reuse_memory, padding=soc.gm_padding)
        graph.memory = plan
        return sum(isinstance(spot, int) for spot in plan.spots.values())


def plan_memory(
    graph: Graph, alignment: int, *, reuse: bool = True, padding: int = 0
) -> MemoryPlan:
    """A plan for `graph`, which must have its engines; offsets are multiples of `alignment` bytes.

    With `reuse` values may share addresses. A value is rounded up to `padding` bytes, and as many
    follow it.
    """
    live = live_ranges(graph)
    blocks = [block for block in live.blocks if block.home is None]
    for block in blocks:
        block.units = size_in_arena(block.nbytes, alignment, padding) // alignment
    tenancies = merged(live)
    spans = _spans(tenancies)
    bound = widest(spans)
    peak = _place(tenancies, spans, bound, blocks) if reuse else _place_apart(blocks)
    spots = {
        value: (
            alignment * block.offset + live.shifts.get(value, 0)
            if block.home is None
            else block.home
        )
        for value, block in live.block_of.items()
    }
    arena, lower = alignment * peak, alignment * bound
    return MemoryPlan(alignment, reuse, arena, lower, spots, padding=padding)


def _spans(tenancies: Sequence[Tenancy]) -> list[Span]:
    return [Span(row[0].units, row[0].first, row[-1].last) for row in tenancies]


def _place(
    joined: Sequence[Tenancy], spans: Sequence[Span], bound: int, blocks: Sequence[Block]
) -> int:
    """Give blocks their offsets, results over operands unless it is smaller without; the arena's end.

    `spans` are those of the tenancies `joined`, and `bound` is their widest moment.
    """
    chosen, packing = joined, pack(spans, bound)
    if packing.peak > bound:  # all blocks apart need as much as the tenancies, or more
        apart = [(block,) for block in blocks]
        others = _spans(apart)
        least = widest(others)
        second = pack(others, least) if packing.peak > least else packing
        if second.peak < packing.peak:
            chosen, packing = apart, second
    for tenancy, offset in zip(chosen, packing.offsets, strict=True):
        for block in tenancy:
            block.offset = offset
    return packing.peak


def _place_apart(blocks: Sequence[Block]) -> int:
    top = 0
    for block in blocks:
        block.offset = top
        top += block.units
    return top

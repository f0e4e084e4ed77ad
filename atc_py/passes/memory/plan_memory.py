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
    sizes = {
        block: size_in_arena(block.nbytes, alignment, padding) // alignment for block in blocks
    }
    tenancies = merged(live, sizes)
    bound = widest(_spans(tenancies, sizes))
    if reuse:
        offsets, peak = _best(tenancies, [(block,) for block in blocks], sizes)
    else:
        offsets, peak = _apart(blocks, sizes)
    spots = {
        value: (
            block.home
            if block.home is not None
            else alignment * offsets[block] + live.shifts.get(value, 0)
        )
        for value, block in live.block_of.items()
    }
    arena, lower = alignment * peak, alignment * bound
    return MemoryPlan(alignment, reuse, arena, lower, spots, padding=padding)


def _spans(tenancies: Sequence[Tenancy], sizes: dict[Block, int]) -> list[Span]:
    return [Span(sizes[row[0]], row[0].first, row[-1].last) for row in tenancies]


def _best(
    joined: Sequence[Tenancy], apart: Sequence[Tenancy], sizes: dict[Block, int]
) -> tuple[dict[Block, int], int]:
    """Offsets with results written over operands, or without where that is smaller."""
    spans = _spans(joined, sizes)
    chosen, packing = joined, pack(spans)
    others = _spans(apart, sizes)
    if packing.peak > widest(others):
        second = pack(others)
        if second.peak < packing.peak:
            chosen, packing = apart, second
    pairs = zip(chosen, packing.offsets, strict=True)
    return {block: offset for tenancy, offset in pairs for block in tenancy}, packing.peak


def _apart(blocks: Sequence[Block], sizes: dict[Block, int]) -> tuple[dict[Block, int], int]:
    offsets, top = {}, 0
    for block in blocks:
        offsets[block] = top
        top += sizes[block]
    return offsets, top

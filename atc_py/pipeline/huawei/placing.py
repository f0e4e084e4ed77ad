"""The memory plan of a real model's graph: the file's own where it is sound for the graph."""

from collections.abc import Mapping

from atc_py.ir import Graph, MemoryPlan, Value, peak, size_in_arena
from atc_py.passes.memory.plan_memory import plan_memory
from atc_py.passes.memory.proof import placement_of, unsound_places
from atc_py.system.structs import replace

ALIGNMENT, PADDING = 512, 32
"""Bytes: offsets in real files are multiples, sizes are rounded up and as much follows [proven]."""


def place(graph: Graph, places: Mapping[Value, int]) -> bool:
    """Give the graph a memory plan; True if it is that of the file.

    Args:
        graph: in phase laid out.
        places: offsets of results in the file's arena.
    """
    plan = plan_memory(graph, ALIGNMENT, padding=PADDING)
    graph.memory = plan
    in_arena = [value for value, spot in plan.spots.items() if isinstance(spot, int)]
    if not all(value in places for value in in_arena):
        return False
    spots = dict(plan.spots) | {value: places[value] for value in in_arena}
    ends = (
        places[value] + size_in_arena(value.type.stored_nbytes, ALIGNMENT, PADDING)
        for value in in_arena
    )
    graph.memory = _sound(graph, replace(plan, spots=spots, arena=max(ends, default=0)))
    if graph.memory is None:
        graph.memory = plan
        return False
    return True


def _sound(graph: Graph, plan: MemoryPlan) -> MemoryPlan | None:
    """The plan with the bound that its order has; None where it is not sound."""
    graph.memory = replace(plan, bound=peak(placement_of(graph, plan))[0].nbytes)
    faults = list(unsound_places(graph, ALIGNMENT, PADDING))
    return None if faults else graph.memory

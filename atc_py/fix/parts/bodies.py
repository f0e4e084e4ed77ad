"""Graphs inside of control-flow nodes, and their steps, as rules write them out."""

from collections.abc import Sequence

import numpy as np

from atc_py.diag import AtcError
from atc_py.fix.site import Site
from atc_py.fix.unfit import require
from atc_py.onnx_graph.folding.graph import WorkNode
from atc_py.onnx_graph.rewriting.graph_body import GraphBody, graph_bodies
from atc_py.onnx_graph.rewriting.loop_count import LoopTrace, trace_loop


def body_of(site: Site, attribute: str, work: WorkNode | None = None) -> GraphBody:
    """A graph that a node holds.

    Args:
        site: the node.
        attribute: that has the graph.
        work: another node around it that holds the graph.
    """
    found: dict[str, GraphBody] = {}
    holder = work or site.work
    if holder is not None and site.around is not None:
        try:
            found = graph_bodies(holder, site.around.tensors, _whole_numbers(site))
        except (AtcError, ValueError):
            require(condition=False, template="its graphs have plain tensors")
    require(attribute in found, "the node has {attribute}", attribute=attribute)
    return found[attribute]


def _whole_numbers(site: Site) -> dict[str, int]:
    """The constants around the node's graphs that are one int64 each."""
    if site.work is None or site.around is None:
        return {}
    consts = site.around.graph.consts
    found = {name: consts[name] for name in site.work.captured if name in consts}
    return {
        name: int(const.numpy().reshape(-1)[0])
        for name, const in found.items()
        if const.dtype.numpy == np.int64 and const.shape in {(), (1,)}
    }


def trace(
    site: Site, most: int, *, going: bool, first: int, wanted: Sequence[str] = ()
) -> LoopTrace | None:
    """The steps of a Loop, one more than `most` at most.

    It is None where values that are not constant decide them.

    Args:
        site: the Loop.
        most: limit of the steps.
        going: the condition before the first step.
        first: position of the first state among the inputs.
        wanted: values of the body that are traced.
    """
    if site.work is None or site.around is None:
        return None
    states = [
        None if tensor is None or tensor.const is None else tensor.const.numpy()
        for tensor in site.node.inputs[first:]
    ]
    known = {name: site.around.known(name) for name in site.work.captured}
    constants = {name: value for name, value in known.items() if value is not None}
    return trace_loop(site.work, constants, states, most, condition=going, wanted=wanted)


MOST_STEPS = 512
"""Steps of a Scan or Loop that are written out at most."""

MOST_COUNTED = 16_384
"""Steps of a Loop that are counted at most."""

FIRST_STATE = 2
"""Inputs of a Loop before its states: the trip count and the condition."""


def starts_true(site: Site) -> bool:
    """The condition of a Loop before its first step."""
    return site.tensor(1) is None or bool(site.constant(1).reshape(-1)[0])


def loop_steps(site: Site, most: int = MOST_STEPS) -> int:
    """Return how often the body of a Loop runs, one more than `most` for more."""
    trips = most + 1
    if site.tensor(0) is not None:
        trips = max(0, min(trips, int(site.constant(0).reshape(-1)[0])))
    found = trace(site, trips - 1, going=starts_true(site), first=FIRST_STATE)
    require(found is not None, "constants decide the number of steps")
    return trips if found is None else min(found.steps, trips)


def check_room(site: Site, body: GraphBody, steps: int) -> None:
    """Refuse a body that would become too many nodes."""
    room = 0 if site.around is None else site.around.room
    require(steps * (body.size + 1) <= room, "the model does not grow beyond its limit of nodes")


def stack(site: Site, parts: Sequence[str], axis: int, *, backward: bool = False) -> str:
    """Write values of all steps along a new axis, the last one first if `backward`."""
    rows = [site.unsqueeze(each, [axis]) for each in (reversed(parts) if backward else parts)]
    return rows[0] if len(rows) == 1 else site.op("Concat", *rows, axis=axis)

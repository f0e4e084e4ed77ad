"""Graphs that a node holds, as rules read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import AtcError
from atc_py.fix.unfit import require
from atc_py.frontend.rewriting.graph_body import graph_bodies
from atc_py.frontend.rewriting.loop_count import trace_loop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site
    from atc_py.frontend.folding.graph import WorkNode
    from atc_py.frontend.rewriting.graph_body import GraphBody
    from atc_py.frontend.rewriting.loop_count import LoopTrace

__all__ = ["body_of", "trace"]


def body_of(site: Site, attribute: str, work: WorkNode | None = None) -> GraphBody:
    """Return a graph that a node holds.

    Args:
        site: the node.
        attribute: that has the graph.
        work: another node around it that holds the graph.

    Raises:
        UnfitError: it holds none of that name, or one with tensors that have no plain form.
    """
    found: dict[str, GraphBody] = {}
    holder = work or site.work
    if holder is not None and site.around is not None:
        try:
            found = graph_bodies(holder, site.around.tensors, _whole_numbers(site))
        except (AtcError, ValueError):
            require(condition=False, en="its graphs have plain tensors", zh="子图中的张量均可读取")
    require(attribute in found, f"the node has {attribute}", f"节点有 {attribute}")
    return found[attribute]


def _whole_numbers(site: Site) -> dict[str, int]:
    """Return the constants around the node's graphs that are one int64 each."""
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
    """Return the steps of a Loop, one more than `most` at most.

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
        None if each is None or each.const is None else each.const.numpy()
        for each in site.node.inputs[first:]
    ]
    known = {name: site.around.known(name) for name in site.work.captured}
    constants = {name: value for name, value in known.items() if value is not None}
    return trace_loop(site.work, constants, states, most, condition=going, wanted=wanted)

"""Steps of loops, and the limits of writing them out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.parts.bodies import trace
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site
    from atc_py.frontend.rewriting.graph_body import GraphBody

__all__ = [
    "FIRST_STATE",
    "MOST_COUNTED",
    "MOST_STEPS",
    "check_room",
    "loop_steps",
    "stack",
    "starts_true",
]

MOST_STEPS = 512
"""Steps of a Scan or Loop that are written out at most."""

MOST_COUNTED = 16_384
"""Steps of a Loop that are counted at most."""

FIRST_STATE = 2
"""Inputs of a Loop before its states: the trip count and the condition."""


def starts_true(site: Site) -> bool:
    """Return the condition of a Loop before its first step.

    Raises:
        UnfitError: it is not constant.
    """
    return site.tensor(1) is None or bool(site.constant(1).reshape(-1)[0])


def loop_steps(site: Site, most: int = MOST_STEPS) -> int:
    """Return how often the body of a Loop runs, one more than `most` for more.

    Raises:
        UnfitError: values of a run decide it.
    """
    trips = most + 1
    if site.tensor(0) is not None:
        trips = max(0, min(trips, int(site.constant(0).reshape(-1)[0])))
    found = trace(site, trips - 1, going=starts_true(site), first=FIRST_STATE)
    en, zh = "constants decide the number of steps", "步数由常量决定"
    require(found is not None, en, zh)
    return trips if found is None else min(found.steps, trips)


def check_room(site: Site, body: GraphBody, steps: int) -> None:
    """Refuse a body that would become too many nodes.

    Raises:
        UnfitError: it would.
    """
    room = 0 if site.around is None else site.around.room
    require(
        steps * (body.size + 1) <= room,
        "the model does not grow beyond its limit of nodes",
        "模型节点数不超过上限",
    )


def stack(site: Site, parts: Sequence[str], axis: int, *, backward: bool = False) -> str:
    """Write values of all steps along a new axis, the last one first if `backward`."""
    rows = [site.unsqueeze(each, [axis]) for each in (reversed(parts) if backward else parts)]
    return rows[0] if len(rows) == 1 else site.op("Concat", rows, axis=axis)

"""Notes on what was left out: steps that lose, and layers in the graphs of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag.codes import LAYERS_IN_BODIES, STEP_LEFT_OUT
from atc_py.frontend.quantizing.bodies import layers_in_bodies

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from atc_py.diag import Diagnostic
    from atc_py.frontend.folding.graph import WorkGraph
    from atc_py.results.step_gain import StepGain

__all__ = ["notes_on_bodies", "notes_on_steps"]

_STEPS = {
    "equalize": "--no-equalize",
    "smooth": "--no-smooth",
    "correct_bias": "--no-correct-bias",
}
"""The options that leave steps out."""


def notes_on_steps(steps: Iterable[StepGain]) -> list[Diagnostic]:
    """Return a note for each step that made the outputs worse with all of its parts."""
    found = []
    for each in steps:
        if each.whole_gain is None or each.kept == each.parts:
            continue
        found.append(
            STEP_LEFT_OUT.diagnostic(
                f"step {each.name!r} makes the outputs worse by {-each.whole_gain:.2f} dB with all of "
                f"its {each.parts} parts: {each.kept} are kept",
                help=f"the report has the gain of each step; {_STEPS[each.name]} leaves this one out",
            )
        )
    return found


def notes_on_bodies(graph: WorkGraph) -> Sequence[Diagnostic]:
    """Return a note for each node whose own graphs have layers."""
    return [
        LAYERS_IN_BODIES.diagnostic(
            f"layers in the graphs of {node.op_type} stay in floats: {_listed(counts)}",
            place=node.place,
        )
        for node, counts in layers_in_bodies(graph)
    ]


def _listed(counts: dict[str, int]) -> str:
    """Return `2 Conv, 1 MatMul`."""
    return ", ".join(f"{count} {kind}" for kind, count in counts.items())

"""Notes on what was left out: steps that lose, and layers in the graphs of nodes."""

from collections.abc import Iterable, Sequence

from atc_py.diag import Diagnostic
from atc_py.diag.codes import LAYERS_IN_BODIES, STEP_LEFT_OUT
from atc_py.frontend.folding.graph import WorkGraph
from atc_py.frontend.quantizing.bodies import layers_in_bodies
from atc_py.results.step_gain import StepGain
from atc_py.text import Text

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
                Text(
                    "step {name} makes the outputs worse by {whole_gain} dB with all of its "
                    "{parts} parts: {kept} are kept",
                    name=repr(each.name),
                    whole_gain=f"{-each.whole_gain:.2f}",
                    parts=each.parts,
                    kept=each.kept,
                ),
                help=Text(
                    "the report has the gain of each step; {steps} leaves this one out",
                    steps=_STEPS[each.name],
                ),
            )
        )
    return found


def notes_on_bodies(graph: WorkGraph) -> Sequence[Diagnostic]:
    """Return a note for each node whose own graphs have layers."""
    return [
        LAYERS_IN_BODIES.diagnostic(
            Text(
                "layers in the graphs of {op_type} stay in floats: {listed}",
                op_type=node.op_type,
                listed=_listed(counts),
            ),
            place=node.place,
        )
        for node, counts in layers_in_bodies(graph)
    ]


def _listed(counts: dict[str, int]) -> str:
    """Return `2 Conv, 1 MatMul`."""
    return ", ".join(f"{count} {kind}" for kind, count in counts.items())

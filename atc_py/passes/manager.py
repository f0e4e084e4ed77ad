"""The pass manager: runs the pipeline, and checks the graph around each pass."""

import time
from collections.abc import Callable

import msgspec

from atc_py.diag import BROKEN_INVARIANT
from atc_py.ir import Graph, Phase, verify_graph
from atc_py.passes.base import PassContext
from atc_py.passes.pipeline import PIPELINE, PassRow, check_names
from atc_py.passes.precision.verifier_rules import verifier_rules
from atc_py.text import Text


class PassRun(msgspec.Struct, frozen=True):
    """The work of one pass: its name, how many changes it made, and how long it took."""

    name: str
    changes: int
    seconds: float


def run_passes(
    graph: Graph,
    context: PassContext,
    *,
    disabled: frozenset[str] = frozenset(),
    verify: bool = False,
    until: Phase | None = None,
    after: Callable[[str, Graph], None] | None = None,
) -> list[PassRun]:
    """Run the pipeline on `graph` in place.

    Args:
        graph: phase `lowered`.
        context: SoC, precision mode and file.
        disabled: names of optional passes that do not run, ours or ATC's.
        verify: check the graph after every pass; at phase changes it is checked always.
        until: stop when the graph has reached this phase; None for the last one.
        after: called with the pass's name and the graph after each pass that ran.

    Raises:
        AtcError: a name is wrong, a pass refuses the model, or an invariant is broken.
    """
    check_names(disabled)
    rules = verifier_rules(context.soc)
    verify_graph(graph, rules)
    runs = []
    for row in PIPELINE:
        if not disabled.isdisjoint((row.name, *row.atc_names)):
            continue
        if context.only_atc_passes and not row.in_atc:
            continue
        runs.append(_run(row, graph, context))
        if verify or row.ensures is not None:
            verify_graph(graph, rules)
        if after is not None:
            after(row.name, graph)
        if graph.phase is until:
            break
    return runs


def _run(row: PassRow, graph: Graph, context: PassContext) -> PassRun:
    """Run one pass, if it has work, and put the nodes in order."""
    if graph.phase < row.requires:
        raise BROKEN_INVARIANT.error(
            Text(
                "pass {step} needs phase {label}, found {label_2}",
                step=row.name,
                label=row.requires.label,
                label_2=graph.phase.label,
            )
        )
    started = time.perf_counter()
    changes: int = row.load()().run(graph, context) if row.has_work(graph) else 0
    if changes:
        graph.sort()
    if row.ensures is not None:
        graph.phase = row.ensures
    return PassRun(row.name, changes, time.perf_counter() - started)

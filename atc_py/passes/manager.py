"""The pass manager: runs the pipeline, and checks the graph around each pass by rows and engines."""

import os
import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import partial

import msgspec

from atc_py.diag import BROKEN_INVARIANT
from atc_py.ir import Graph, Node, Phase, Rules, verify_graph
from atc_py.passes.base import PassContext
from atc_py.passes.memory.proof import unsound_places
from atc_py.passes.pipeline import PIPELINE, PassRow, check_names
from atc_py.passes.precision.columns import cast_engine, fits
from atc_py.target import Soc, find_operator
from atc_py.target.soc import IMAGE_CONVS, SLOPED
from atc_py.target.storage_choices import select_storages
from atc_py.target.stored_nodes import in_blocks, is_stored_as
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

PHASES_VARIABLE = "ATC_PY_VERIFY_PHASES"
"""Environment variable with which the graph is verified where each phase ends, as in our tests."""


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
    until: Phase = Phase.PLACED,
    after: Callable[[str, Graph], None] | None = None,
) -> list[PassRun]:
    """Run the pipeline on `graph` in place.

    Args:
        graph: phase `lowered`.
        context: SoC, precision mode and file.
        disabled: names of optional passes that do not run, ours or ATC's.
        verify: check the graph after every pass, and before the first. The graph that comes out is
            checked always: to all that its phase and those before promise.
        until: stop when the graph has reached this phase, by default the last one.
        after: called with the pass's name and the graph after each pass that ran.

    Raises:
        AtcError: a name is wrong, a pass refuses the model, or an invariant is broken.
    """
    check_names(disabled)
    rules = verifier_rules(context.soc)
    at_phases = verify or PHASES_VARIABLE in os.environ
    if at_phases:
        verify_graph(graph, rules)
    runs = []
    operators: set[str] = set()  # none while they must be looked at
    for row in PIPELINE:
        if not disabled.isdisjoint((row.name, *row.atc_names)):
            continue
        if context.only_atc_passes and not row.in_atc:
            continue
        operators = operators or {node.op for node in graph.nodes}
        try:
            runs.append(_run(row, graph, context, operators))
        except (ArithmeticError, LookupError, TypeError, ValueError):
            verify_graph(graph, rules)  # a graph that was faulty already is the better reason
            raise
        operators = set() if runs[-1].changes else operators
        done = graph.phase is until
        if verify or done or (at_phases and row.ensures is not None):
            verify_graph(graph, rules)
        if after is not None:
            after(row.name, graph)
        if done:
            break
    return runs


def _run(row: PassRow, graph: Graph, context: PassContext, operators: AbstractSet[str]) -> PassRun:
    """Run one pass, if it has work on a graph of these operators, and put the nodes in order."""
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
    has_work = row.has_work(operators, context.soc)
    changes: int = row.load()().run(graph, context) if has_work else 0
    if changes and row.disorders:
        graph.sort()
    if row.ensures is not None:
        graph.phase = row.ensures
    return PassRun(row.name, changes, time.perf_counter() - started)


def verifier_rules(soc: Soc) -> Rules:
    return Rules(
        rows=find_operator,
        dtypes_ok=partial(_dtypes_ok, soc=soc),
        storage_ok=partial(storage_fault, soc=soc),
        unsound_places=partial(unsound_places, alignment=soc.gm_align, padding=soc.gm_padding),
    )


def _dtypes_ok(node: Node, *, soc: Soc) -> Text | None:
    row = find_operator(node.op)
    if row is None:
        return None
    if node.op == "Cast":
        wanted = cast_engine(node, soc)
        belongs = Text("Cast belongs on {engine}", engine=wanted.value)
        return None if node.engine is wanted else belongs
    if fits(node, row, soc) or _has_wide_slopes(node, soc) or _has_sums_inside(node, soc):
        return None
    found = ", ".join(value.type.dtype.value for value in (*node.present_inputs, *node.outputs))
    engine = node.engine.value if node.engine else Text("no engine")
    text = Text("the row of {op} has no column for {found} on {engine} of {soc}")
    return text.with_values(op=node.op, found=found, engine=engine, soc=soc.name)


def _has_wide_slopes(node: Node, soc: Soc) -> bool:
    """True for a PRelu of float16 in a fix pipe, whose slopes are float32."""
    dtypes = [value.type.dtype for value in (*node.present_inputs, *node.outputs)]
    wide = [DType.FLOAT16, DType.FLOAT32, DType.FLOAT16]
    joined = node.op == SLOPED and node.scope != 0
    return joined and SLOPED in soc.fix_pipe_functions and dtypes == wide


def _has_sums_inside(node: Node, soc: Soc) -> bool:
    """True for a float16 convolution whose float32 sums do not leave the pipe that quantizes them."""
    joined = node.op in IMAGE_CONVS and node.scope != 0 and soc.fix_pipe_half_images
    readers = {reader.op for reader, _ in node.output.uses}
    wide = {value.type.dtype for value in (*node.present_inputs[2:], node.output)}
    data = {value.type.dtype for value in node.present_inputs[:2]}
    sums = data == {DType.FLOAT16} and wide == {DType.FLOAT32}
    return joined and sums and readers == {"AscendQuant"}


def storage_fault(node: Node, soc: Soc) -> Text | None:
    """The reason why `node` cannot work with its operands and results as they are stored, or None.

    A node that is stored row by row as a whole always can: so it is where no storage was chosen.
    """
    if node.op == "TransData" or not in_blocks(node):
        return None
    choice = select_storages(node, soc)
    if choice is None:
        text = Text("{op} produces none of its results as {type}")
        return text.with_values(op=node.op, type=node.output.type)
    for position, value in enumerate(node.inputs):
        wanted = choice.input(position)
        if value is None or is_stored_as(value.type, wanted):
            continue
        form = Text("row by row") if wanted is None else Text("as {form}", form=wanted)
        text = Text("{op} takes %{v} {form}, found {found}")
        return text.with_values(op=node.op, v=value.name, form=form, found=value.type)
    return None

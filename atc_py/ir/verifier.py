"""Verifier: whether a graph keeps the promises of its phase; every broken one is reported.

The table at the end of this module gives each phase its checks. A graph is held to those of its
own phase and of all earlier ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from atc_py.diag import AtcError, Place
from atc_py.diag.codes import BROKEN_INVARIANT
from atc_py.ir.nodes import Return
from atc_py.ir.phases import Phase
from atc_py.ir.signature import (
    AttributeRow,
    OperandRow,
    OperatorRow,
    check_attributes,
    check_operands,
)
from atc_py.ir.structure import (
    Finding,
    check_cycles,
    check_interface,
    check_names,
    check_order,
    check_producers,
    check_uses,
)
from atc_py.tensor.formats import Format
from atc_py.tensor.storage import why_impossible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from atc_py.diag import Diagnostic
    from atc_py.ir.graph import Graph
    from atc_py.ir.nodes import Node, Value

__all__ = ["AttributeRow", "OperandRow", "OperatorRow", "Rules", "verify_graph"]


def _any_dtypes(_node: Node) -> str | None:
    """Accept every node."""
    return None


def _any_storage(_node: Node) -> str | None:
    """Accept every node."""
    return None


def _any_places(_graph: Graph) -> tuple[Finding, ...]:
    """Accept every plan, and a missing one."""
    return ()


class Rules(msgspec.Struct, frozen=True):
    """Facts about the target that the verifier needs.

    Attributes:
        rows: the row of the operator with a name, or None where there is no such operator.
        dtypes_ok: what is wrong with the dtypes of a node on its engine, or None. It is asked
            from phase `typed` on, and only about nodes with an engine and the right operands.
        storage_ok: what is wrong with the storage of a node's operands and results, or None. It is
            asked of phase `placed`, when all conversions stand.
        unsound_places: what is wrong with the memory plan of a graph of phase `placed`; asked
            where nothing else is wrong.
    """

    rows: Callable[[str], OperatorRow | None]
    dtypes_ok: Callable[[Node], str | None] = _any_dtypes
    storage_ok: Callable[[Node], str | None] = _any_storage
    unsound_places: Callable[[Graph], Iterable[Finding]] = _any_places


def verify_graph(graph: Graph, rules: Rules) -> None:
    """Check every promise of the graph's phase.

    Raises:
        AtcError: one BROKEN_INVARIANT for each violation; their places are the source nodes.
    """
    found = [
        _diagnostic(finding)
        for phase, checks in _CHECKS.items()
        if phase <= graph.phase
        for check in checks
        for finding in check(graph, rules)
    ]
    if not found and graph.phase >= Phase.PLACED:
        found = [_diagnostic(finding) for finding in rules.unsound_places(graph)]
    if found:
        raise AtcError(*found)


def _diagnostic(finding: Finding) -> Diagnostic:
    """Build a finding that names the target node, placed at its first source node."""
    node, message = finding
    if node is None:
        return BROKEN_INVARIANT.diagnostic(message)
    place = None
    if node.origins:
        origin = node.origins[0]
        place = Place(node=origin.index, node_name=origin.name, op_type=origin.op_type)
    return BROKEN_INVARIANT.diagnostic(f"{node.op} {node.name!r}: {message}", place=place)


def _check_structure(graph: Graph, _rules: Rules) -> Iterator[Finding]:
    """Yield the SSA rules."""
    for check in _STRUCTURE:
        yield from check(graph)


def _check_signatures(graph: Graph, rules: Rules) -> Iterator[Finding]:
    """Yield faults of nodes whose operator, operands or attributes the target lacks."""
    for node in graph.nodes:
        row = rules.rows(node.op)
        if row is None:
            yield node, f"the target has no operator {node.op}"
            continue
        for message in (*check_operands(node, row), *check_attributes(node, row)):
            yield node, message


def _check_types(graph: Graph, _rules: Rules) -> Iterator[Finding]:
    """Yield faults of negative dims and of constants that contradict their type.

    What nodes compute may have open dims, and inputs with dims that each run decides.
    """
    for value in _all_values(graph):
        node = _node_at(value)
        if any(dim is not None and dim < 0 for dim in value.type.dims):
            yield node, f"dims of %{value.name} must be at least 0, found {value.type}"
        if value.const is None:
            continue
        data = value.const.dtype, tuple(value.const.shape)
        if data != (value.type.dtype, value.type.dims):
            text = f"{data[0].value}[{','.join(map(str, data[1]))}]"
            yield node, f"constant %{value.name} is declared as {value.type}, its data are {text}"


def _check_engines(graph: Graph, rules: Rules) -> Iterator[Finding]:
    """Yield nodes without an engine, or with dtypes that their engine does not take."""
    for node in graph.nodes:
        row = rules.rows(node.op)
        if node.engine is None:
            yield node, f"a node of phase {graph.phase.label} must have an engine, found none"
        elif row is not None and not any(check_operands(node, row)):
            message = rules.dtypes_ok(node)
            if message is not None:
                yield node, message


def _check_formats(graph: Graph, _rules: Rules) -> Iterator[Finding]:
    """Yield values whose format names another number of axes."""
    for value in _all_values(graph):
        rank = _RANKS.get(value.type.format)
        if rank is not None and value.type.rank != rank:
            name = value.type.format.value
            message = f"%{value.name} must have {rank} axes in format {name}, found {value.type}"
            yield _node_at(value), message


def _check_storage(graph: Graph, _rules: Rules) -> Iterator[Finding]:
    """Yield values whose storage does not accept their type."""
    for value in _all_values(graph):
        kind = value.type
        if kind.storage is None:
            continue
        reason = why_impossible(kind.dims, kind.format, kind.storage)
        if reason is not None:
            message = f"%{value.name} of type {kind} cannot be stored so: {reason}"
            yield _node_at(value), message


def _check_conversions(graph: Graph, rules: Rules) -> Iterator[Finding]:
    """Yield faults of operands not stored as taken, and of outputs not stored in rows."""
    for node in graph.nodes:
        message = rules.storage_ok(node)
        if message is not None:
            yield node, message
    for value in graph.outputs:
        if value.type.storage is not None:
            yield (
                value.producer,
                f"the output %{value.name} must be stored row by row, found {value.type}",
            )


def _all_values(graph: Graph) -> dict[Value, None]:
    """Return every value that the graph can reach, each once."""
    return dict.fromkeys([*graph.values(), *graph.outputs])


def _node_at(value: Value) -> Node | None:
    """Return the node to blame for a value: its producer, or the first node that reads it."""
    if value.producer is not None:
        return value.producer
    return next((user for user in value.consumers if not isinstance(user, Return)), None)


_RANKS = {
    Format.NCHW: 4,
    Format.NHWC: 4,
    Format.NCDHW: 5,
    Format.NC1HWC0: 5,
    Format.C1HWNCOC0: 6,
    Format.NDC1HWC0: 6,
}

_STRUCTURE = (
    check_names,
    check_producers,
    check_uses,
    check_order,
    check_cycles,
    check_interface,
)

_Check: TypeAlias = "Callable[[Graph, Rules], Iterator[Finding]]"

_CHECKS: dict[Phase, tuple[_Check, ...]] = {
    Phase.LOWERED: (_check_structure, _check_signatures, _check_types),
    Phase.TYPED: (_check_engines,),
    Phase.LAID_OUT: (_check_formats, _check_storage),
    Phase.PLACED: (_check_conversions,),
}

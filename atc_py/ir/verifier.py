"""Verifier: whether a graph keeps the promises of its phase; every broken one is reported.

The table at the end of this module gives each phase its checks. A graph is held to those of its
own phase and of all earlier ones.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from atc_py.diag import BROKEN_INVARIANT, AtcError, Diagnostic, Place
from atc_py.ir.graph import Graph
from atc_py.ir.nodes import Node, Value
from atc_py.ir.signature import Signature
from atc_py.ir.structure import (
    Finding,
    check_cycles,
    check_interface,
    check_names,
    check_order,
    check_producers,
    check_uses,
    is_sound,
)
from atc_py.ir.types import Phase, TensorType
from atc_py.target.row import TargetOp
from atc_py.tensor.dtypes import Format
from atc_py.tensor.storage import why_impossible
from atc_py.text import Text, verbatim


class Rules(msgspec.Struct, frozen=True):
    """Facts about the target that the verifier needs."""

    # the row of the operator with a name, or None where there is no such operator
    rows: Callable[[str], TargetOp | None]
    # what is wrong with the dtypes of a node on its engine, or None. It is asked from phase `typed`
    # on, and only about nodes with an engine and the right operands
    dtypes_ok: Callable[[Node], Text | None] = lambda _node: None
    # what is wrong with the storage of a node's operands and results, or None. It is asked of phase
    # `placed`, when all conversions stand
    storage_ok: Callable[[Node], Text | None] = lambda _node: None
    # what is wrong with the memory plan of a graph of phase `placed`, whose values are given; asked
    # where nothing else is wrong
    unsound_places: Callable[[Graph, Sequence[Value]], Iterable[Finding]] = lambda _graph, _values: ()


def verify_graph(graph: Graph, rules: Rules) -> None:
    """Check every promise of the graph's phase.

    Raises:
        AtcError: one BROKEN_INVARIANT for each violation; their places are the source nodes.
    """
    subject = _Subject(graph, rules)
    found = [
        _diagnostic(finding)
        for phase, checks in _CHECKS.items()
        if phase <= graph.phase
        for check in checks
        for finding in check(subject)
    ]
    if not found and graph.phase >= Phase.PLACED:
        found = [_diagnostic(finding) for finding in rules.unsound_places(graph, subject.values)]
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
    return BROKEN_INVARIANT.diagnostic(
        verbatim(f"{node.op} {node.name!r}: ") + message, place=place
    )


class _Subject:
    """A graph that is checked, and what several checks ask about it.

    Attributes:
        graph: the graph, which does not change meanwhile.
        rules: facts about the target.
        values: every value that the graph can reach, each once.
        types: their types: far fewer, so that checks ask about types and then for values.
        signatures: the signature of each operator in the graph; None for one that does not exist.
        unfit: nodes that `_check_signatures` found without their row or operands.
    """

    def __init__(self, graph: Graph, rules: Rules) -> None:
        self.graph = graph
        self.rules = rules
        self.values = tuple(dict.fromkeys([*graph.values(), *graph.outputs]))
        self.types = {value.type for value in self.values}
        rows = {op: rules.rows(op) for op in {node.op for node in graph.nodes}}
        self.signatures = {op: None if row is None else Signature(row) for op, row in rows.items()}
        self.unfit: set[Node] = set()

    def values_of(self, types: Collection[TensorType]) -> Iterable[Value]:
        return [value for value in self.values if value.type in types] if types else ()


def _check_structure(subject: _Subject) -> Iterator[Finding]:
    if is_sound(subject.graph):
        return
    for check in _STRUCTURE:
        yield from check(subject.graph)


def _check_signatures(subject: _Subject) -> Iterator[Finding]:
    for node in subject.graph.nodes:
        signature = subject.signatures[node.op]
        if signature is None:
            subject.unfit.add(node)
            yield node, Text("the target has no operator {op}", op=node.op)
            continue
        if not signature.has_operands(node):
            subject.unfit.add(node)
        for message in signature.faults(node):
            yield node, message


def _check_types(subject: _Subject) -> Iterator[Finding]:
    """Yield faults of negative dims and of constants that contradict their type.

    What nodes compute may have open dims, and inputs with dims that each run decides.
    """
    negative = {kind for kind in subject.types if any(dim and dim < 0 for dim in kind.dims)}
    for value in subject.values_of(negative):
        text = Text("dims of %{v} must be at least 0, found {t}", v=value.name, t=value.type)
        yield _node_at(value), text
    for value in subject.values:
        if value.const is None:
            continue
        data = value.const.dtype, tuple(value.const.shape)
        if data != (value.type.dtype, value.type.dims):
            data_type = f"{data[0].value}[{','.join(map(str, data[1]))}]"
            text = Text("constant %{v} is declared as {t}, its data are {d}")
            yield _node_at(value), text.with_values(v=value.name, t=value.type, d=data_type)


def _check_engines(subject: _Subject) -> Iterator[Finding]:
    for node in subject.graph.nodes:
        if node.engine is None:
            text = Text("a node of phase {phase} must have an engine, found none")
            yield node, text.with_values(phase=subject.graph.phase.label)
        elif node not in subject.unfit:
            message = subject.rules.dtypes_ok(node)
            if message is not None:
                yield node, message


def _check_formats(subject: _Subject) -> Iterator[Finding]:
    wrong = {kind for kind in subject.types if kind.rank != _RANKS.get(kind.format, kind.rank)}
    for value in subject.values_of(wrong):
        kind = value.type
        text = Text("%{v} must have {n} axes in format {format}, found {t}")
        numbers = {"n": _RANKS[kind.format], "format": kind.format.value}
        yield _node_at(value), text.with_values(v=value.name, t=kind, **numbers)


def _check_storage(subject: _Subject) -> Iterator[Finding]:
    reasons = {
        kind: why_impossible(kind.dims, kind.format, kind.storage)
        for kind in subject.types
        if kind.storage is not None
    }
    wrong = {kind: reason for kind, reason in reasons.items() if reason is not None}
    for value in subject.values_of(wrong):
        kind = value.type
        text = Text("%{v} of type {t} cannot be stored in this way: {why}")
        yield _node_at(value), text.with_values(v=value.name, t=kind, why=wrong[kind])


def _check_conversions(subject: _Subject) -> Iterator[Finding]:
    for node in subject.graph.nodes:
        message = subject.rules.storage_ok(node)
        if message is not None:
            yield node, message
    for value in subject.graph.outputs:
        if value.type.storage is not None:
            text = Text("the output %{v} must be stored row by row, found {t}")
            yield value.producer, text.with_values(v=value.name, t=value.type)


def _node_at(value: Value) -> Node | None:
    """The node to blame for a value: its producer, or the first node that reads it."""
    return value.producer or next(iter(value.readers), None)


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

_Check: TypeAlias = "Callable[[_Subject], Iterator[Finding]]"

_CHECKS: dict[Phase, tuple[_Check, ...]] = {
    Phase.LOWERED: (_check_structure, _check_signatures, _check_types),
    Phase.TYPED: (_check_engines,),
    Phase.LAID_OUT: (_check_formats, _check_storage),
    Phase.PLACED: (_check_conversions,),
}

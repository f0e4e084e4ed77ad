"""The check of a model: every node, every rule, every reason."""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from atc_py.check.alike import Reads, node_signature
from atc_py.check.bound_node import BoundNode, Conditions
from atc_py.check.condition_words import predicate_of
from atc_py.check.conditions import NodesBefore, ask, concerns, is_outweighed
from atc_py.check.deviations import deviation_findings, with_one_of_opset
from atc_py.check.findings import (
    Finding,
    ModelCheck,
    NodeCount,
    NodeRow,
    Standing,
    ranked,
    worst,
)
from atc_py.check.findings_builder import Conclusions, labelled
from atc_py.check.open_dims import (
    MAY_FOLD,
    NOT_YET,
    Consequences,
    doubted,
    in_branch,
    of_vanishing_node,
    open_help,
    reserved,
)
from atc_py.check.predicate import Predicate
from atc_py.check.quantized import QuantizedModel, attribute_findings
from atc_py.check.reading import State
from atc_py.check.restating import OpsetPlacement, place_node
from atc_py.diag import Diagnostic
from atc_py.onnx_graph.source import INTERNAL_PREFIX, SchemaHistory, SourceModel, SourceNode
from atc_py.spec import Library, OpSpec, Rule
from atc_py.spec.implied import OperandAbsent, rules_of

_AGAINST = (Standing.ERROR, Standing.UNKNOWN, Standing.LIST)
"""Standings of findings for which the next list is asked about a node."""

_NAMING = (OperandAbsent,)
"""Rules whose findings name a value of the node, so that alike nodes have findings of their own."""


class Checked(msgspec.Struct, frozen=True):
    """The check of one model."""

    check: ModelCheck
    # by node, the listed opset at which it stands; None where it stands at none
    placements: tuple[OpsetPlacement | None, ...]
    # by node, a number that only nodes that are alike share, weights included
    kinds: tuple[int, ...]


class _Judged(NamedTuple):
    """Judgment of one list on a node."""

    against: tuple[int, ...]  # how many of its findings are of each standing of _AGAINST
    findings: list[Finding]
    placement: OpsetPlacement | None  # the listed opset; None where the node stands at none
    list_name: str  # the list; "" for a user's file

    @property
    def errors(self) -> int:
        return self.against[0]


def check_view(
    model: SourceModel, conditions: Conditions, library: Library, history: SchemaHistory
) -> Checked:
    return _Checker(model, conditions, library, history).run()


class _Checker:
    def __init__(
        self,
        model: SourceModel,
        conditions: Conditions,
        library: Library,
        history: SchemaHistory,
    ) -> None:
        self._model = model
        self._nodes = model.all_nodes
        self._conditions = conditions
        self._library = library
        self._history = history
        self._rules: dict[tuple[str, int, int], tuple[tuple[Rule, Predicate], ...]] = {}
        self._specs: dict[tuple[str, str], OpSpec | None] = {}
        self._later: set[int] = set()  # kinds that a list takes after another has refused them
        self._newer: dict[str, Counter[str]] = {}
        self._before = NodesBefore(self._nodes, self._spec, model.inputs)
        self._verdicts: dict[int, tuple[list[Finding], OpsetPlacement | None]] = {}
        self._numbers: dict[Hashable, int] = {}
        self._unread: dict[Hashable, int] = {}  # sound kinds of which no long constant was read
        self._naming: dict[tuple[str, str], bool] = {}
        self._kinds: dict[tuple[str, int, str], str] = {}
        places = [fault.place for fault in model.faults]
        self._faulty = {place.node for place in places if place and place.node is not None}
        self._conclude = Conclusions(model, self._common_opsets())
        self._quantized = QuantizedModel(model, conditions.soc)
        self._in_branches: dict[tuple[int | None, str], list[Diagnostic]] = {}
        for finding in model.branch_faults:
            if finding.place is not None:
                key = finding.place.node, finding.place.node_name or ""
                self._in_branches.setdefault(key, []).append(finding)
        self._consequences = Consequences(
            model, self._faulty, self._is_listed, self._in_branches.keys()
        )
        self._doubts: dict[int | None, list[Diagnostic]] = {}
        for doubt in model.doubts:
            node = None if doubt.place is None else doubt.place.node
            self._doubts.setdefault(node, []).append(doubt)

    def run(self) -> Checked:
        findings: list[Finding] = []
        placements: list[OpsetPlacement | None] = []
        rows: list[NodeRow] = []
        kinds = [self._kind(view) for view in self._nodes]
        for view, own_kind in zip(self._nodes, kinds, strict=True):
            kind = self._judged_kind(view, own_kind)
            own, placement = self._node(view, kind)
            own = self._with_others(view, own)
            rows.append(self._row(view, own))
            if own and (view.index in self._faulty or self._consequences.concern(view)):
                # What is unknown there follows from what is reported about the refused node.
                own = [finding for finding in own if finding.standing is not Standing.UNKNOWN]
            findings += own
            placements.append(placement)
            if placement is not None and kind in self._later:
                counts = self._newer.setdefault(placement.spec.list_name, Counter())
                counts[view.op_type] += 1
        check = ModelCheck(
            path=str(self._model.path),
            name=self._model.name,
            opsets=self._model.opsets,
            file_nodes=self._model.file_nodes,
            nodes=len(self._nodes),
            findings=tuple(with_one_of_opset(findings)),
            faults=self._model.faults,
            operators=self._operators(rows),
            rows=tuple(rows),
            layers=self._quantized.layers,
            bias_convention=self._model.bias_convention,
            newer={name: dict(counts) for name, counts in self._newer.items()},
        )
        return Checked(check, tuple(placements), tuple(kinds))

    def _kind(self, view: SourceNode) -> int:
        """A number that nodes share which rules cannot tell from each other.

        What rules make of a node follows from its signature, from the nodes before it, from what of
        it is fed and from its scope, as long as nothing is open that it depends on.
        """
        return self._numbers.setdefault(self._key(view), len(self._numbers))

    def _key(self, view: SourceNode, *, unread: bool = False) -> Hashable:
        fed = self._before.fed(view, self._spec(view))
        signature = node_signature(view, weights=True, unread=unread)
        return signature, self._before(view), fed, view.scope

    def _judged_kind(self, view: SourceNode, kind: int) -> int:
        """The kind whose verdict holds for a node: its own, or a sound one of other constants."""
        if kind in self._verdicts:
            return kind
        return self._unread.get(self._key(view, unread=True), kind)

    def _with_others(self, view: SourceNode, findings: list[Finding]) -> list[Finding]:
        findings += self._quantized.findings(view, listed=self._is_listed(view))
        findings += attribute_findings(view, self._conditions.soc, str(self._model.path))
        if view.vanishes and self._may_change(view):
            findings = of_vanishing_node(findings, open_help(view))
        if self._doubts:
            # Once for all nodes of their place in the file.
            doubts = self._doubts.pop(view.index, [])
            findings += [doubted(doubt, view.scope, MAY_FOLD, open_help(view)) for doubt in doubts]
        if view.scope:
            findings += self._branch_faults(view, findings)
        return findings

    def _row(self, view: SourceNode, findings: list[Finding]) -> NodeRow:
        # What contradicts ONNX is an error, whatever the rules find.
        broken = view.index in self._faulty
        standing = Standing.ERROR if broken else Standing.SUPPORTED
        if findings and not broken:
            standing = worst(finding.standing for finding in findings)
        key = view.domain, view.opset, view.op_type
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = f"{view.domain or 'ai.onnx'}::{view.opset}::{view.op_type}"
        return NodeRow(view.index, view.name, kind, view.scope, standing)

    def _operators(self, rows: list[NodeRow]) -> tuple[NodeCount, ...]:
        standings: dict[tuple[str, str], list[Standing]] = {}
        for view, row in zip(self._nodes, rows, strict=True):
            standings.setdefault((view.domain, view.op_type), []).append(row.standing)
        counts: dict[str, Counter[Standing]] = {}
        listed: dict[str, bool] = {}
        for (domain, op_type), standing in standings.items():
            label = labelled(op_type, domain)
            counts.setdefault(label, Counter()).update(standing)
            listed[label] = self._specs[domain, op_type] is not None
        return ranked(NodeCount(op, listed[op], dict(count)) for op, count in counts.items())

    def _node(self, view: SourceNode, kind: int) -> tuple[list[Finding], OpsetPlacement | None]:
        """The findings of one node, and its placement; alike nodes are judged once.

        Findings on a node that depends on open dims name inputs, so they are its own. A node like a
        sound one is sound in any case.
        """
        settled = not self._may_change(view)
        known = self._verdicts.get(kind)
        if known is not None and (settled or not known[0]):
            findings = [finding.about(view.index, view.name) for finding in known[0]]
            return findings, self._placed_like(view, known[1])
        reads = Reads.of_long
        findings, placement = self._node_findings(view, kind)
        is_sound = not findings and placement is not None
        if is_sound or (settled and self._speaks_of_kinds(view)):
            self._verdicts[kind] = [*findings], placement
        if is_sound and Reads.of_long == reads:
            self._unread[self._key(view, unread=True)] = kind
        return findings, placement

    def _speaks_of_kinds(self, view: SourceNode) -> bool:
        key = view.domain, view.op_type
        if key not in self._naming:
            specs = self._library.candidates(view.op_type, view.domain)
            rules = (
                r
                for spec in specs
                for r in (*rules_of(spec), *(deviation.unless for deviation in spec.deviations))
            )
            self._naming[key] = any(isinstance(rule, _NAMING) for rule in rules)
        return not self._naming[key]

    def _placed_like(
        self, view: SourceNode, placement: OpsetPlacement | None
    ) -> OpsetPlacement | None:
        if placement is None:
            return None
        if not placement.restated:
            return OpsetPlacement(placement.opset, view, view, placement.spec)
        placed = place_node(view, placement.spec, self._history)
        return placed if isinstance(placed, OpsetPlacement) else None

    def _node_findings(
        self, view: SourceNode, kind: int
    ) -> tuple[list[Finding], OpsetPlacement | None]:
        """The findings of one node by the first list that takes it, and its placement.

        Where none does, they are those of the list that has least against it.
        """
        tried: list[_Judged] = []
        for spec in self._library.candidates(view.op_type, view.domain):
            findings, placement = self._by_spec(view, spec)
            counts = Counter(finding.standing for finding in findings)
            against = tuple(counts[standing] for standing in _AGAINST)
            tried.append(_Judged(against, findings, placement, spec.list_name))
            if not any(against):
                break
        if tried:
            nearest = min(tried, key=lambda judged: judged.against)
            earlier = tried[: tried.index(nearest)]
            is_first = nearest.list_name in {"", *self._library.first_lists}
            if not is_first and not nearest.errors and all(attempt.errors for attempt in earlier):
                self._later.add(kind)
            return nearest.findings, nearest.placement
        if not view.op_type:
            return [], None  # a fault reports it
        return [self._conclude.not_listed(view, self._history, self._library)], None

    def _by_spec(
        self, view: SourceNode, spec: OpSpec
    ) -> tuple[list[Finding], OpsetPlacement | None]:
        placement = place_node(view, spec, self._history)
        if not isinstance(placement, OpsetPlacement):
            finding = self._conclude.not_placed(view, spec, placement)
            settles = any(tensor is not None and tensor.settles for tensor in view.inputs)
            if settles and self._may_change(view):
                finding = reserved(finding, NOT_YET, open_help(view))
            return [finding], None
        findings = [self._conclude.restated(view, spec, placement)] if placement.restated else []
        waits = self._may_change(view)
        at, before = placement.opset, self._before(view)
        fed = self._before.fed(view, spec)
        node = BoundNode(spec, placement.view, at, self._conditions, view.opset, waits, before, fed)
        findings += self._unlisted_parts(node)
        for rule, predicate in self._rules_of(node):
            answer = ask(rule, predicate, node)
            if answer.state is State.FAILS or (
                answer.state is State.UNKNOWN and not is_outweighed(rule, node)
            ):
                findings.append(self._conclude.broken(node, rule, predicate, answer))
        findings += deviation_findings(node, view, str(self._model.path))
        return findings, placement

    def _branch_faults(self, view: SourceNode, findings: Sequence[Finding]) -> list[Finding]:
        """Contradictions at a node of a branch, unless its other errors show them."""
        if not view.scope or any(finding.standing is Standing.ERROR for finding in findings):
            return []
        faults = self._in_branches.get((view.index, view.name), [])
        if view.vanishes and self._may_change(view):
            return [doubted(fault, view.scope, MAY_FOLD, open_help(view)) for fault in faults]
        return [in_branch(fault, view.scope) for fault in faults]

    def _may_change(self, view: SourceNode) -> bool:
        """True if more may become known of a node once dims, or refused nodes, are fixed."""
        return bool(view.open_inputs) or self._consequences.concern(view)

    def _is_listed(self, view: SourceNode) -> bool:
        return self._spec(view) is not None

    def _unlisted_parts(self, node: BoundNode) -> Iterator[Finding]:
        for name, value in node.view.attributes.items():
            if name.startswith(INTERNAL_PREFIX) or node.has_attribute(name):
                continue
            schema = None if node.spec.custom else self._history.at(node.spec.op, node.written)
            # What ONNX itself does not define at the file's opset was reported as a fault.
            if schema is None or name in schema.attributes:
                yield self._conclude.unlisted_attribute(node, name, value)
        if node.surplus_inputs:
            yield self._conclude.surplus_inputs(node)

    def _spec(self, view: SourceNode) -> OpSpec | None:
        key = (view.domain, view.op_type)
        if key not in self._specs:
            self._specs[key] = self._library.find(view.op_type, view.domain)
        return self._specs[key]

    def _rules_of(self, node: BoundNode) -> tuple[tuple[Rule, Predicate], ...]:
        key = (node.spec.path or node.spec.op, node.opset, node.written)
        if key not in self._rules:
            rules = (rule for rule in rules_of(node.spec) if concerns(rule, node))
            self._rules[key] = tuple((rule, predicate_of(type(rule))) for rule in rules)
        return self._rules[key]

    def _common_opsets(self) -> tuple[int, ...]:
        last = {view.op_type: view for view in self._nodes}
        specs = map(self._spec, last.values())
        sets = [set(spec.opsets) for spec in specs if spec and not spec.custom]
        return tuple(sorted(set.intersection(*sets))) if sets else ()

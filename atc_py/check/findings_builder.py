"""From answers to findings: standing, words, hint; changes to a check; models that break rules."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from atc_py.check.bound_node import BoundNode
from atc_py.check.condition_words import filled, joined, rule_subject, when_words
from atc_py.check.conditions import evidence_words, is_outweighed
from atc_py.check.findings import Finding, ModelCheck, NodeCount, NodeRow, Standing, ranked, worst
from atc_py.check.open_dims import open_help
from atc_py.check.predicate import Predicate
from atc_py.check.reading import Answer, State, shown
from atc_py.check.restating import OpsetPlacement, OpsetRefusal
from atc_py.diag import (
    ATTR_NOT_LISTED,
    OPERAND_NOT_LISTED,
    OPERATOR_RESTATED,
    UNKNOWN_OPERATOR,
    UNSUPPORTED_OPSET,
    AtcError,
    Code,
    Diagnostic,
    Place,
    nearest,
)
from atc_py.onnx_graph.source import SchemaHistory, SourceModel, SourceNode
from atc_py.spec import ONNX_DOMAINS, Level, Library, OpSpec, Rule
from atc_py.spec.rewrites import EFFECTS, REWRITES
from atc_py.system.structs import replace
from atc_py.text import SEMICOLON, Text, verbatim

_RUN_TIME = Text(
    "the value is computed at run time; export fixed shapes and constants, or simplify the "
    "model so that they fold"
)
_BOARDS_TAKE = "no action is needed: boards take {evidence}; --strict-list refuses it"
_AICPU = Text("; it runs on the AI CPU, which is slow")
_ACCURACY = Text("; it runs, results may differ")
_MORE_LEVELS = {Level.AICPU: _AICPU, Level.ACCURACY: _ACCURACY}


class Conclusions:
    """Makes the findings of one model."""

    def __init__(self, model: SourceModel, common_opsets: Sequence[int]) -> None:
        self._path = str(model.path)
        self._common = common_opsets

    def broken(self, node: BoundNode, rule: Rule, predicate: Predicate, answer: Answer) -> Finding:
        """The finding for a rule that fails, or that cannot be decided."""
        undecided = answer.state is State.UNKNOWN
        standing = Standing.UNKNOWN if undecided else Standing.of(rule.level)
        if rule.contradicted is not None and is_outweighed(rule, node):
            standing, evidence = Standing.LIST, evidence_words(rule.contradicted)
            help_ = Text(_BOARDS_TAKE, evidence=evidence)
        elif undecided:
            help_ = open_help(node.view) if node.view.open_inputs else _RUN_TIME
        else:
            help_ = _help(predicate, node.spec, rule)
        return Finding(
            code=predicate.code,
            standing=standing,
            rule=_rule_name(node.spec, rule),
            source=node.spec.place_of(rule.line),
            place=self._place(node.view, rule_subject(node.spec, rule)),
            scope=node.view.scope,
            observed=answer.observed,
            allowed=filled(predicate.sentence, node.spec, rule),
            help=help_,
            when=joined([when_words(rule.when) if rule.when else Text(""), answer.when]),
            effect=EFFECTS.get(rule.rewrite or "", Text(""))
            if standing is Standing.REWRITE
            else Text(""),
        )

    def not_listed(self, view: SourceNode, history: SchemaHistory, library: Library) -> Finding:
        from atc_py.check.unlisted import hint_for_unlisted  # most models have none

        name = labelled(view.op_type, view.domain)
        return Finding(
            code=UNKNOWN_OPERATOR,
            standing=Standing.ERROR,
            rule=f"{name}/listed",
            source="",
            place=self._place(view),
            scope=view.scope,
            observed=Text(""),
            allowed=Text("{name} is not on the operator list", name=name),
            help=hint_for_unlisted(view.op_type, view.domain, history, library),
        )

    def not_placed(self, view: SourceNode, spec: OpSpec, refusal: OpsetRefusal) -> Finding:
        newest = max(self._common, default=max(spec.opsets))
        if newest in self._common:
            help_ = Text(
                "export the model at opset {newest}, which lists every operator that it "
                "shares with the list",
                newest=newest,
            )
        else:
            help_ = Text(
                "export the model at opset {newest}, the newest that lists {op}",
                newest=newest,
                op=spec.op,
            )
        return self._of_opset(view, spec, UNSUPPORTED_OPSET, Standing.ERROR, refusal.reason, help_)

    def restated(self, view: SourceNode, spec: OpSpec, placement: OpsetPlacement) -> Finding:
        """Report an operator at an unlisted version that means the same as a listed one."""
        help_ = Text(
            "no action is needed: the node is restated at opset {opset}, where it means the same",
            opset=placement.opset,
        )
        finding = self._of_opset(view, spec, OPERATOR_RESTATED, Standing.REWRITE, Text(""), help_)
        effect = Text("will be restated at opset {opset}", opset=placement.opset)
        return replace(finding, effect=effect)

    def unlisted_attribute(self, node: BoundNode, name: str, value: object) -> Finding:
        names = [row.name for row in node.spec.attributes if node.has_attribute(row.name)]
        near = nearest(name, names, 2)
        known = ", ".join(names)
        if near:
            guess = " or ".join(near)
            help_ = Text("did you mean {guess}?", guess=guess)
        elif names:
            help_ = Text("leave it out; the listed attributes are {known}", known=known)
        else:
            help_ = Text("leave it out; {op} has no attributes on the list", op=node.spec.op)
        return Finding(
            code=ATTR_NOT_LISTED,
            standing=Standing.ERROR,
            rule=f"{node.spec.op}/attr_listed/{name}",
            source=node.spec.place_of(1),
            place=self._place(node.view, f"attribute {name}"),
            scope=node.view.scope,
            observed=verbatim(f"{name} = {shown(value)}"),
            allowed=Text("{op} has no attribute {name} on the list", op=node.spec.op, name=name),
            help=help_,
        )

    def surplus_inputs(self, node: BoundNode) -> Finding:
        count = sum(tensor is not None for tensor in node.view.inputs)
        most = sum(row.exists_at(node.opset) for row in node.spec.inputs)
        return Finding(
            code=OPERAND_NOT_LISTED,
            standing=Standing.ERROR,
            rule=f"{node.spec.op}/operands_listed",
            source=node.spec.place_of(1),
            place=self._place(node.view, Text("input {at}", at=most)),
            scope=node.view.scope,
            observed=verbatim(count),
            allowed=Text("{op} takes at most {most} inputs", op=node.spec.op, most=most),
            help=Text("leave out the inputs after these"),
        )

    def _of_opset(
        self,
        view: SourceNode,
        spec: OpSpec,
        code: Code,
        standing: Standing,
        reason: Text,
        help_: Text,
    ) -> Finding:
        observed = Text(
            "opset {opset} (version {since_version})",
            opset=view.opset,
            since_version=view.since_version,
        )
        if reason:
            observed += SEMICOLON + reason
        return Finding(
            code=code,
            standing=standing,
            rule=f"{spec.op}/opset",
            source=spec.place_of(spec.opsets_line),
            place=self._place(view),
            scope=view.scope,
            observed=observed,
            allowed=Text(
                "{op} is listed for opsets {opset_text}", op=spec.op, opset_text=spec.opset_text
            ),
            help=help_,
        )

    def _place(self, view: SourceNode, field: str | None = None) -> Place:
        return Place(self._path, view.index, view.name, view.op_type, field)


def labelled(op_type: str, domain: str) -> str:
    """An operator with its domain, where that is not ONNX's."""
    return op_type if domain in ONNX_DOMAINS else f"{domain}::{op_type}"


def _help(predicate: Predicate, spec: OpSpec, rule: Rule) -> Text:
    if rule.level is Level.REWRITE and rule.rewrite is not None:
        done = REWRITES[rule.rewrite]
        return Text("no action is needed: {done} ({rewrite})", done=done, rewrite=rule.rewrite)
    help_ = filled(predicate.help, spec, rule)
    return help_ + _MORE_LEVELS.get(rule.level, Text(""))


def _rule_name(spec: OpSpec, rule: Rule) -> str:
    # It is the name across versions of the file, so no line or position is in it.
    arguments = rule.arguments
    subject = arguments.get("attribute") or arguments.get("tensor") or arguments.get("axes")
    dim = arguments.get("dim")
    return "/".join((spec.op, rule.name, f"{subject}.{dim}" if dim else str(subject)))


_Key: TypeAlias = tuple[int | None, str | None, str | None]


def amended(check: ModelCheck, view: SourceModel, further: Sequence[Finding]) -> ModelCheck:
    """`check` of `view` with `further` findings, each once, and the nodes' new standing."""
    known = set(check.findings)
    new = [finding for finding in dict.fromkeys(further) if finding not in known]
    if not new:
        return check
    worse: dict[_Key, Standing] = {}
    for finding in new:
        key = _key(finding)
        worse[key] = worst((finding.standing, worse.get(key, Standing.SUPPORTED)))
    rows = []
    for node, row in zip(view.all_nodes, check.rows, strict=True):
        added = worse.get((node.index, node.name, node.op_type), Standing.SUPPORTED)
        rows.append(replace(row, standing=worst((row.standing, added))))
    return _with_rows(replace(check, findings=(*check.findings, *new)), view, rows)


def without_errors(
    check: ModelCheck,
    view: SourceModel,
    undecided: Mapping[Finding, Finding],
    gone: Collection[Diagnostic],
) -> ModelCheck:
    """`check` of `view` with some errors turned undecided, and without some faults."""
    if not (undecided or gone):
        return check
    findings = tuple(undecided.get(finding, finding) for finding in check.findings)
    faults = tuple(fault for fault in check.faults if fault not in gone)
    faulty = {fault.place.node for fault in faults if fault.place}
    errors = {_key(finding) for finding in findings if finding.standing is Standing.ERROR}
    rows = [
        replace(row, standing=Standing.UNKNOWN)
        if row.standing is Standing.ERROR
        and node.index not in faulty
        and (node.index, node.name, node.op_type) not in errors
        else row
        for node, row in zip(view.all_nodes, check.rows, strict=True)
    ]
    return _with_rows(replace(check, findings=findings, faults=faults), view, rows)


def _key(finding: Finding) -> _Key:
    return finding.place.node, finding.place.node_name, finding.place.op_type


def _with_rows(check: ModelCheck, view: SourceModel, rows: Sequence[NodeRow]) -> ModelCheck:
    counts: dict[str, Counter[Standing]] = {}
    for node, row in zip(view.all_nodes, rows, strict=True):
        label = labelled(node.op_type, node.domain)
        counts.setdefault(label, Counter())[row.standing] += 1
    operators = (NodeCount(row.op, row.listed, dict(counts[row.op])) for row in check.operators)
    return replace(check, rows=tuple(rows), operators=ranked(operators))


def with_kept(check: ModelCheck, specs: Library) -> ModelCheck:
    """`check` with the names of its operators that `specs` keeps; verdicts stay.

    Raises:
        AtcError: BAD_SPEC where the file of an operator has a fault.
    """
    names = sorted(row.op.rpartition("::")[2] for row in check.operators if row.listed)
    listed = ((name, specs.find(name)) for name in dict.fromkeys(names))
    return replace(check, kept=tuple(name for name, spec in listed if spec and spec.kept))


class RulesBrokenError(AtcError):
    """A model that contradicts itself, breaks rules, or needs lowerings that are missing."""

    def __init__(
        self,
        check: ModelCheck,
        missing: Iterable[Diagnostic] = (),
        first: Iterable[Diagnostic] = (),
    ) -> None:
        """Take the findings; `first` are those that end a conversion before any of the check's."""
        self.check = check  # all findings, also those that do not prevent compilation
        self.missing = tuple(missing)  # listed operators that do not compile yet
        errors = [finding for finding in check.findings if finding.standing is Standing.ERROR]
        super().__init__(
            *first, *check.faults, *(problem.diagnostic() for problem in errors), *self.missing
        )
